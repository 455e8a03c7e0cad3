"""The local model in the job kmeans, without Spark: reports keyed per user, merged, stored and clustered."""

from pathlib import Path

import numpy as np
import pytest

from dplib.clustering.source import Blocks
from dplib.errors import IntegrityError
from dplib.kmeans.estimate import estimate_centers
from dplib.kmeans.local import COLLECTION, local_tree, question_names, question_sizes
from dplib.kmeans.measure import measure_users
from dplib.kmeans.publish import write_tables
from dplib.kmeans.report_text import ReportReader, report_of, report_texts
from dplib.kmeans.tables import read_centers, read_records
from dplib.randomness.user_streams import UserStreams, number_users
from tests.clustering_support import loss, mixture
from tests.kmeans_support import LOCAL, design_of, keys_of, local_settings_of


def users_of(points: np.ndarray, first: int = 0) -> np.ndarray:
    """Rows as `dplib.spark.points.block_users` makes them."""
    names = number_users(np.arange(first, first + len(points))).view("<i4").astype(np.int64)
    return np.concatenate([names, points], axis=1)


@pytest.mark.parametrize("method", LOCAL)
def test_stored_reports_are_enough_and_do_not_depend_on_blocks(method: str, tmp_path: Path) -> None:
    design = design_of(local_settings_of(method, k=3))
    for n in (0, 1, 400):
        points = design.frame.to_units(mixture(max(n, 1), 2, 4, 1))[:n]
        rows = users_of(points)
        found = []
        for name, blocks in (("one", [rows]), ("many", [rows[n // 3 :], rows[: n // 3]])):
            folder = tmp_path / f"{name} {n}"
            measure_users(design, Blocks(*blocks), keys_of(design), folder)
            found.append(read_records(folder) if n or method != "noisy_coordinates" else [])
            centers = estimate_centers(design, found[-1])
            assert centers.centers.shape == (3, 2)
            assert (np.abs(centers.centers) <= 1 + 1e-9).all()
        for (name, merged), (other, same) in zip(*found, strict=True):
            assert name == other
            assert np.array_equal(merged, same)


def test_a_user_sends_one_report_whose_level_follows_from_the_name(tmp_path: Path) -> None:
    design = design_of(local_settings_of("ldp_tree", users=100_000))
    tree = local_tree(design)
    assert len(question_names(tree)) > 2
    asked = []
    for seed in (1, 2):
        points = design.frame.to_units(mixture(500, 2, 4, seed))
        measure_users(design, Blocks(users_of(points)), keys_of(design), tmp_path / str(seed))
        records = read_records(tmp_path / str(seed))
        assert [len(merged) for _, merged in records] == question_sizes(tree)
        asked.append([int(merged[0]) for _, merged in records])
    # The first integer of each question is the number of its reports: the same users, whatever their points are.
    assert asked[0] == asked[1]
    assert sum(asked[0]) == 500


def test_the_tree_finds_clusters_and_noisy_points_do_not(tmp_path: Path) -> None:
    rows = mixture(60_000, 2, 4, 5)
    losses = {}
    for method in ("ldp_tree", "noisy_coordinates"):
        design = design_of(local_settings_of(method, epsilon="4", users=60_000))
        users = Blocks(users_of(design.frame.to_units(rows)))
        measure_users(design, users, keys_of(design), tmp_path / method)
        write_tables(design, tmp_path / method)
        losses[method] = loss(rows[:5000], read_centers(tmp_path / method, design.coordinates)[0])
    assert losses["ldp_tree"] < losses["noisy_coordinates"] / 2


def test_reports_of_another_design_are_refused(tmp_path: Path) -> None:
    design = design_of(local_settings_of("ldp_tree"))
    measure_users(design, Blocks(users_of(np.zeros((50, 2), dtype=np.int64))), keys_of(design), tmp_path)
    with pytest.raises(IntegrityError, match="stored measurement must hold"):
        estimate_centers(design_of(local_settings_of("ldp_hash_rounds")), read_records(tmp_path))


@pytest.mark.parametrize(
    "oracle", ["auto", "generalized_response", "unary_encoding", "hadamard_response", "local_hashing"]
)
def test_reports_travel_as_texts_and_broken_ones_are_left_out(oracle: str) -> None:
    settings = local_settings_of("ldp_tree", users=20_000)
    settings["clustering"]["local"]["oracle"] = oracle
    design = design_of(settings)
    tree, points = local_tree(design), design.frame.to_units(mixture(200, 2, 4, 1))
    streams = UserStreams(bytes(32), number_users(np.arange(200)), COLLECTION)
    texts, reader = report_texts(tree, streams, points), ReportReader(tree)
    asked, payloads = reader.read(texts)
    assert (asked >= 0).all()
    keys, merged = reader.merge(asked, payloads)
    expected = np.concatenate(tree.aggregate(tree.encode(streams, points)))
    assert np.array_equal(merged[:, 0], expected)
    assert np.array_equal(keys, np.arange(len(expected)))
    level, digits = texts[0].split(":")
    broken = [None, "", "x", "1:", f"99:{digits}", f"0:{digits}", f"{level}:{digits}00", f"{level}:zz", f"-1:{digits}"]
    broken += (
        []
        if "unary" in type(tree.questions.questions[int(level) - 1].oracle).__name__.lower()
        else [f"{level}:{'ff' * (len(digits) // 2)}"]
    )
    assert (reader.read(broken)[0] == -1).all()


def test_a_device_repeats_its_report() -> None:
    design = design_of(local_settings_of("ldp_tree"))
    reader = ReportReader(local_tree(design))
    texts = [report_of(design, bytes([number]) * 32, [0.5, float("nan")]) for number in (1, 1, 2, 3, 4, 5)]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 2
    assert (reader.read(texts)[0] >= 0).all()


def test_a_device_draws_anew_for_another_point_or_budget() -> None:
    def asked(epsilon: str, point: list[float]) -> list[str]:
        design = design_of(local_settings_of("ldp_tree", epsilon=epsilon))
        return [report_of(design, bytes([number]) * 32, point).partition(":")[0] for number in range(40)]

    first = asked("1", [0.5, 0.25])
    assert len(set(first)) > 1
    # From the same random bits every device would be asked the same question again, and lie about it likewise.
    assert asked("1", [0.5, 0.75]) != first
    assert asked("2", [0.5, 0.25]) != first


@pytest.mark.parametrize("method", ["ldp_tree", "ldp_hash_rounds", "noisy_coordinates"])
def test_nobody_reports_and_there_is_a_release(method: str, tmp_path: Path) -> None:
    design = design_of(local_settings_of(method))
    measure_users(design, Blocks(users_of(np.zeros((0, 2), dtype=np.int64))), keys_of(design), tmp_path)
    assert list((tmp_path / "measurement").iterdir())
    assert np.isfinite(write_tables(design, tmp_path).centers).all()
