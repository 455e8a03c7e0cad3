"""The local model in the job kmeans, without Spark: reports keyed per user, merged, stored and clustered."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.clustering.source import Blocks, Keyed, Summary
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.kmeans.collection import Collection
from dplib.jobs.kmeans.estimate import estimate_centers
from dplib.jobs.kmeans.local import NoisyPoints, RoundReports, UserKeys, digest_of_users, question_sizes
from dplib.jobs.kmeans.measure import measure_users
from dplib.jobs.kmeans.page import _centers
from dplib.jobs.kmeans.report_text import STREAMS, ReportReader, report_of, report_texts
from dplib.jobs.kmeans.tables import Tables
from dplib.mechanisms.local.choose_oracle import OracleName
from dplib.randomness.user_streams import UserStreams, number_users
from tests.support.clustering import mixture
from tests.support.kmeans import LOCAL, design_of, keys_of, local_settings_of


def users_of(points: np.ndarray, first: int = 0) -> np.ndarray:
    """Rows as `dplib.spark.points.points.block_users` makes them."""
    names = number_users(np.arange(first, first + len(points))).view("<i4").astype(np.int64)
    return np.concatenate([names, points], axis=1)


@pytest.mark.parametrize(("method", "d"), [*((method, 2) for method in LOCAL), ("ldp_tree", 7)])
def test_stored_reports_are_enough_and_do_not_depend_on_blocks(method: str, d: int, tmp_path: Path) -> None:
    design = design_of(local_settings_of(method, k=3, d=d))
    for n in (0, 1, 60):
        points = design.frame.to_units(mixture(max(n, 1), d, 4, 1))[:n]
        rows = users_of(points)
        found = []
        for name, blocks in (("one", [rows]), ("many", [rows[n // 3 :], rows[: n // 3]])):
            folder = tmp_path / f"{name} {n}"
            measure_users(design, Blocks(*blocks), keys_of(design), folder)
            found.append(Tables(folder, design).read_records() if n or method != "noisy_coordinates" else [])
            centers = estimate_centers(design, found[-1])
            assert centers.centers.shape == (3, d)
            # The noise of cubes says little of the points that are nearest to a center: no error is stated.
            assert np.isnan(centers.weight_errors).all()
            assert np.isnan(centers.std_errors).all()
            assert centers.weight_errors.shape == (3,)
            assert (np.abs(centers.centers) <= 1 + 1e-9).all()
        for (name, merged), (other, same) in zip(*found, strict=True):
            assert name == other
            assert np.array_equal(merged, same)
    section = str(_centers(design, centers))
    assert "No error" in section
    assert "Centers without an error" not in section


@pytest.mark.parametrize(("method", "d"), [*((method, 2) for method in LOCAL), ("ldp_tree", 7)])
def test_data_that_differ_in_one_row_share_no_noise(method: str, d: int, tmp_path: Path) -> None:
    """A row that is changed between an attempt that broke off and its retry must not stand out from equal reports."""
    design = design_of(local_settings_of(method, k=3, d=d))
    points = design.frame.to_units(mixture(300, d, 4, 1))
    changed = points.copy()
    changed[17] = -changed[17]
    found, keys = {}, {}
    for name, given in {"one": points, "again": points, "other": changed}.items():
        keys[name] = measure_users(design, Blocks(users_of(given)), keys_of(design), tmp_path / name)
        found[name] = Tables(tmp_path / name, design).read_records()
    assert keys["one"] == keys["again"] != keys["other"]
    assert keys["one"].measurement_key != keys["other"].measurement_key
    # Bits that everyone sent: the one user answers a single question, so of equal noise all other sums would be equal.
    for (_, one), (_, again), (_, other) in zip(*found.values(), strict=True):
        assert np.array_equal(one, again)
        if method == "noisy_coordinates":
            assert not {*map(tuple, one.tolist())} & {*map(tuple, other.tolist())}
        else:
            assert not np.array_equal(one, other)


def test_the_digest_of_users_tells_who_has_which_point_and_nothing_of_the_layout() -> None:
    rows = users_of(np.array([[1, 2], [3, 4], [5, 6]]))
    swapped, twice = rows.copy(), np.concatenate([rows, rows[:1]])
    swapped[[0, 1], 3:] = swapped[[1, 0], 3:]
    found = digest_of_users(Blocks(rows), bytes(32))
    assert found == digest_of_users(Blocks(rows[2:], rows[:2][::-1]), bytes(32))
    others = [digest_of_users(Blocks(each), bytes(32)) for each in (swapped, twice, rows[:2], rows[:0])]
    others.append(digest_of_users(Blocks(rows), bytes(31) + b"1"))
    assert len({found, *others}) == 6


def test_users_who_change_while_they_are_read_are_refused(tmp_path: Path) -> None:
    design = design_of(local_settings_of("ldp_tree", k=3))
    users = users_of(design.frame.to_units(mixture(50, 2, 4, 1)))

    class Changing(Blocks):
        """Users of whom one more is there at every pass."""

        passes = 0

        def total(self, summary: Summary) -> Keyed:
            self.passes += 1
            return Blocks(users[: 40 + self.passes]).total(summary)

    with pytest.raises(IntegrityError, match="must not change"):
        measure_users(design, Changing(), keys_of(design), tmp_path)


def test_a_user_sends_one_report_whose_level_follows_from_the_name(tmp_path: Path) -> None:
    design = design_of(local_settings_of("ldp_tree", users=100_000))
    rounds = design.collection.rounds
    assert len(rounds.question_names(0)) > 2
    asked = []
    for seed in (1, 2):
        points = design.frame.to_units(mixture(500, 2, 4, seed))
        measure_users(design, Blocks(users_of(points)), keys_of(design), tmp_path / str(seed))
        records = Tables(tmp_path / str(seed), design).read_records()
        assert [len(merged) for _, merged in records] == question_sizes(rounds, 0, rounds.places_after([]))
        asked.append([int(merged[0]) for _, merged in records])
    # The first integer of each question is the number of its reports: the same users, whatever their points are.
    assert asked[0] == asked[1]
    assert sum(asked[0]) == 500


def test_reports_of_another_design_are_refused(tmp_path: Path) -> None:
    design = design_of(local_settings_of("ldp_tree"))
    measure_users(design, Blocks(users_of(np.zeros((50, 2), dtype=np.int64))), keys_of(design), tmp_path)
    with pytest.raises(IntegrityError, match="stored measurement must hold"):
        estimate_centers(design_of(local_settings_of("ldp_hash_rounds")), Tables(tmp_path, design).read_records())


TEXTS = [("ldp_tree", oracle) for oracle in OracleName] + [("noisy_coordinates", OracleName.AUTO)]


def _collection(method: str, oracle: str = "auto", epsilon: str = "1", **clustering: Any) -> Collection:
    local = {"expected_users": 20_000, "oracle": str(oracle)}
    settings = local_settings_of(method, epsilon, **clustering)
    settings["clustering"]["local"] = local
    return design_of(settings).collection


@pytest.mark.parametrize(("method", "oracle"), TEXTS)
def test_reports_travel_as_texts_and_add_up_to_what_a_simulation_does(method: str, oracle: str) -> None:
    collection = _collection(method, oracle)
    points = collection.frame.to_units(mixture(200, 2, 4, 1))
    streams = UserStreams(bytes(32), number_users(np.arange(200)), STREAMS)
    texts, reader = report_texts(collection, streams, points), ReportReader(collection)
    asked, payloads = reader.read(texts)
    assert (asked >= 0).all()
    if method == "noisy_coordinates":
        expected = NoisyPoints(collection.noisy_points, UserKeys())(users_of(points))
    else:
        rounds = collection.rounds
        expected = RoundReports(rounds, UserKeys(), 0, rounds.places_after([]))(users_of(points))
    for found, wanted in zip(reader.merge(asked, payloads), expected, strict=True):
        assert np.array_equal(found, wanted)
    assert reader.width == expected[1].shape[1]


@pytest.mark.parametrize(("method", "oracle"), TEXTS)
def test_broken_texts_and_those_for_other_settings_are_no_reports(method: str, oracle: str) -> None:
    collection, other = _collection(method, oracle), _collection(method, oracle, "2")
    reader, text = ReportReader(collection), report_of(collection, bytes(32), [0.3, 0.1])
    version, fingerprint, question, digits = text.split(":")
    assert (version, fingerprint) == ("1", collection.fingerprint)
    head = f"{version}:{fingerprint}"
    broken = [None, "", "x", text[:-2], f"{text}00", f"{head}:{question}:", f"{head}:{question}:zz{digits[2:]}"]
    broken += [f"{head}:{wrong}:{digits}" for wrong in ("0", "99", "-1", "", "²", "1" * 5000)]
    broken += [
        f"2:{fingerprint}:{question}:{digits}",
        f"{version}:{'0' * 16}:{question}:{digits}",
        f"{question}:{digits}",
    ]
    # No oracle gives the largest integer; unary encoding leaves the bits after its last cube 0.
    broken += [f"{head}:{question}:{'ff' * 7 + '7f' + digits[16:]}"] if oracle != "unary_encoding" else []
    broken += [report_of(other, bytes(32), [0.3, 0.1])]
    assert (reader.read(broken)[0] == -1).all()
    assert (reader.read([text, f" {text}\n"])[0] == int(question) - 1).all()


def test_a_device_repeats_its_report_and_draws_anew_for_another_point_or_budget() -> None:
    def questions(epsilon: str, point: list[float]) -> list[str]:
        collection = _collection("ldp_tree", epsilon=epsilon)
        return [report_of(collection, bytes([number]) * 32, point).split(":")[2] for number in range(16)]

    collection = _collection("ldp_tree")
    texts = [report_of(collection, bytes([number]) * 32, [0.5, float("nan")]) for number in (1, 1, 2, 3, 4, 5)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 2
    first = questions("1", [0.5, 0.25])
    assert len(set(first)) > 1
    # From the same random bits every device would be asked the same question again, and lie about it in the same way.
    assert questions("1", [0.5, 0.75]) != first
    assert questions("2", [0.5, 0.25]) != first


def test_a_collection_is_a_document_and_its_fingerprint_that_of_all_settings() -> None:
    collection = _collection("ldp_tree")
    again = Collection.from_json(collection.to_json())
    assert again == collection
    assert report_of(again, bytes(32), [0.1, 0.2]) == report_of(collection, bytes(32), [0.1, 0.2])
    others = [_collection("ldp_tree", epsilon="2"), _collection("noisy_coordinates"), _collection("ldp_tree", k=5)]
    others += [_collection("ldp_tree", bounds=[[-1, 1], [-1, 2]]), _collection("ldp_tree", "hadamard_response")]
    assert len({each.fingerprint for each in (collection, again, *others)}) == 6
    newer = collection.to_json().replace('"version":1', '"version":2')
    with pytest.raises(ConfigError, match="version of the collection must be 1, got 2"):
        Collection.from_json(newer)
    for wrong in ("", "[]", "{}", "3", collection.to_json().replace('"seed"', '"seeds"')):
        with pytest.raises(ConfigError, match="the collection must"):
            Collection.from_json(wrong)
    with pytest.raises(ConfigError, match="point must have 2 coordinates, got 3"):
        report_of(collection, bytes(32), [0.1, 0.2, 0.3])
    with pytest.raises(ConfigError, match="key must"):
        report_of(collection, b"short", [0.1, 0.2])


@pytest.mark.parametrize(("method", "d", "rounds"), [("ldp_hash_rounds", 2, 4), ("ldp_tree", 7, 2)])
def test_methods_with_rounds_have_no_texts(method: str, d: int, rounds: int) -> None:
    collection = _collection(method, d=d)
    assert not collection.in_one_round
    with pytest.raises(ConfigError, match=f"method must ask in one round .* has {rounds} rounds"):
        report_of(collection, bytes(32), [0.0] * d)


def test_a_device_needs_numpy_kernels_only() -> None:
    """Numba neither, which takes longer to load than a report takes."""
    code = """
import sys
for name in ("pyspark", "pandas", "pyarrow", "pydantic", "sqlalchemy", "networkx", "matplotlib", "numba"):
    sys.modules[name] = None
from dplib.jobs.kmeans.collection import Collection
from dplib.jobs.kmeans.report_text import report_of
print(report_of(Collection.from_json(sys.argv[1]), bytes(32), [0.25, -0.5]))
shared = {"arrays", "compiled", "errors", "hashing", "jobs", "validate", "version"}
kernels = {"clustering", "mechanisms", "privacy", "randomness", "trees"}
loaded = {name.split(".")[1] for name in sys.modules if name.startswith("dplib.")}
assert loaded <= kernels | shared, loaded
"""
    collection = _collection("ldp_tree")
    done = subprocess.run(
        [sys.executable, "-c", code, collection.to_json()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == report_of(collection, bytes(32), [0.25, -0.5])
