"""No secret, no derived key, no value of a row and no number of rows in what a run says or leaves behind.

Every job runs in a process of its own with Spark's event log turned on, and is killed when its noise is drawn and its
measurement written but not recorded: then the staging folder, the temporary files and the log are all there to look at.
The retry shows the rest: what a whole run prints, the ledger and the release.
"""

import base64
import hashlib
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dplib.ledger.runs import Run
from dplib.mechanisms.chosen_rows import pseudonym
from dplib.secret.secret import Secret
from dplib.spark.engine.session import QUIET
from dplib.workflow.run_keys import RunKeys
from tests.support.every_job import JOBS, new_place_of
from tests.support.jobs import ROOT, Outcome, Shop, python_process
from tests.support.stream_shop import days, new_customers

pytestmark = pytest.mark.pictures
N_ROWS, N_KEPT = 7919, 283
"""Primes that stand nowhere but for the number of rows read and of rows kept; their difference is looked for too."""
QUANTITY, COORDINATE, STRANGER = "999983", "17.982451653", "CanaryStranger"
"""A quantity within its cap, alone in its cell; a coordinate; a name outside of the domain."""
UNIT = "CanaryUnit"
STREAM = "a stream of customers"
SUNDAY = days(6)[0]
"""A day on which a week closes."""
KEY = hashlib.sha256(b"a key that looks random, so that no table holds its bytes by chance").digest()


def rows_of(job: str) -> list[tuple[Any, ...]]:
    """7919 rows, of which 283 count."""
    kept, others = range(N_KEPT), range(N_ROWS - N_KEPT)
    if job in ("consistent-histograms", STREAM):
        dates = days(0, 1, 2) if job == STREAM else ["2024-01-01", "2024-01-02", "2024-01-03"]
        rows = [(dates[1], "milk", QUANTITY, f"{UNIT}0")]
        rows += [(dates[0], "bread", "1", f"{UNIT}{number}") for number in kept[1:]]
        return rows + [(dates[2], STRANGER, QUANTITY, f"{UNIT}x{number}") for number in others]
    if job == "range-histograms":
        rows = [("3.982451653", "north", f"{UNIT}{number}") for number in kept]
        return rows + [("5", STRANGER, f"{UNIT}x{number}") for number in others]
    if job == "kmeans":
        rows = [(COORDINATE, "30", f"{UNIT}{number}") for number in kept]
        return rows + [(STRANGER, "30", f"{UNIT}x{number}") for number in others]
    if job == "key-selection":
        rows = [("tea", f"{UNIT}{number}") for number in kept]
        return rows + [(f"{STRANGER}{number}", f"{UNIT}x{number}") for number in others]
    pairs = [(number % 7, 1 + number % 7) for number in kept] + [(0, STRANGER)] * len(others)
    return [(*pair, 1) for pair in pairs] if job == "minimum-cuts" else pairs


def place_of(job: str, folder: Path) -> Shop:
    """A place of a job with these rows, Spark's event log on, and all temporary files below it."""
    place = (new_customers(folder) if job == STREAM else new_place_of(job, folder)).rows(rows_of(job))
    (folder / "shop.key").write_text(KEY.hex())
    for name in ("events", "temporary"):
        (folder / name).mkdir()
    if job in ("consistent-histograms", STREAM):
        place.set(privacy__max_quantity=1_000_000)
    if job == STREAM:
        place.set(privacy__budget={"rho": 10}, privacy__max_rows_per_unit=1, privacy__max_rows_per_day=1)
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.local.dir": f"{folder}/temporary",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder}/temporary",
    }
    return place.set(spark={"master": "local[1]", "conf": conf})


def keys_of(run: Run) -> Iterator[bytes]:
    """The secret and all keys that the driver derives from it for a run, but for that of the noise."""
    secret = Secret(KEY)
    keys = RunKeys.derive(secret, run)
    yield from (KEY, keys.bounding, keys.digest, keys.chosen, keys.parent)


def forms(key: bytes) -> Iterator[bytes]:
    """The ways in which a key could be written."""
    plain = bytes.fromhex(key.hex())
    yield from (plain, plain[:16], plain[16:32])
    yield from (plain.hex()[:32].encode(), plain.hex()[:32].upper().encode(), base64.b64encode(plain)[:20])
    yield from (repr(plain)[2:40].encode(), str(list(plain[:8]))[1:-1].encode())


def readable(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a folder, and the text of tables."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            text = str(pq.read_table(path).to_pydict()).encode() if path.suffix == ".parquet" else b""
            found[str(path)] = path.read_bytes() + text
    return found


def stands_in(number: str, text: bytes) -> bool:
    """Whether a number stands in a text by itself."""
    return re.search(rb"(?<![\d.])" + re.escape(number.encode()) + rb"(?![\d.]\d)(?!\d)", text) is not None


def killed_run(place: Shop, words: list[str]) -> Outcome:
    found = python_process(
        "-m",
        "tests.support.fault_points",
        "before the measurement is recorded",
        *("run", place.job, "--config", str(place.config), *words),
        TMPDIR=f"{place.folder}/temporary",
        DPLIB_LOG="json",
    )
    assert found.code == -signal.SIGKILL, found.err
    assert '"event"' in found.err
    return found


def values() -> list[str]:
    return [QUANTITY, COORDINATE, COORDINATE[3:], "3.982451653", STRANGER, UNIT]


def check_values(texts: dict[str, bytes]) -> None:
    for name, text in texts.items():
        for value in values():
            shown = stands_in(value, text) if value[0].isdigit() else value.encode() in text
            assert not shown, (name, value)


def check_table(texts: dict[str, bytes], key: bytes) -> None:
    """What stands for a customer is in the private table of chosen rows alone."""
    name = pseudonym(f"{UNIT}0".encode(), key)
    is_private = {path: "/chosen/" in path or "/.chosen-" in path for path in texts}
    assert any(repr(name).encode() in text for path, text in texts.items() if is_private[path])
    for path, text in texts.items():
        found = any(form in text for form in (name, name.hex().encode(), repr(name).encode()))
        assert is_private[path] or not found, path


def check_keys(texts: dict[str, bytes], keys: list[bytes]) -> None:
    for name, text in texts.items():
        for number, key in enumerate(keys):
            assert not any(form in text for form in forms(key)), (name, number)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("job", [*JOBS, STREAM])
def test_nothing_private_is_said_or_left_behind(job: str, tmp_path: Path) -> None:
    place, words = place_of(job, tmp_path), ["--date", SUNDAY] if job == STREAM else []
    killed = killed_run(place, words)
    (run,) = place.ledger.runs(place.settings["dataset"])
    keys = list(keys_of(run))
    # Java notices that its driver is gone and removes its temporary files.
    end = time.monotonic() + 60
    while any((tmp_path / "temporary").iterdir()) and time.monotonic() < end:
        time.sleep(0.2)
    texts = {name: readable(tmp_path / name) for name in ("events", "temporary", "releases")}
    assert any(b"SparkListenerTaskEnd" in text for text in texts["events"].values())
    assert any(".staging-" in name for name in texts["releases"])
    left = {name: text for folder in texts.values() for name, text in folder.items()}
    left |= {"stdout": killed.out.encode(), "stderr": killed.err.encode()}
    left["ledger"] = (tmp_path / "ledger.db").read_bytes()
    check_keys(left, keys)
    check_values(left)
    if job == STREAM:
        check_table(left, keys[3])
    # The release, whole, by a process without the log.
    whole = place.run(*words)
    (run,) = place.ledger.runs(place.settings["dataset"])
    (measurement,) = run.stored
    noise_key = RunKeys.derive(Secret(KEY), run).measurement(bytes.fromhex(measurement.data_digest))
    said = {"stdout": whole.out.encode(), "stderr": whole.err.encode() + killed.err.encode()}
    said |= readable(whole.release) | {"ledger": (tmp_path / "ledger.db").read_bytes()}
    check_keys(said | left, [*keys, noise_key])
    check_values(said)
    if job == STREAM:
        check_table(said | readable(place.output), keys[3])
    for name, text in said.items():
        # Digits of a digest are no number of rows.
        text = re.sub(rb"[0-9a-f]{32,}", b"", text)
        # A noisy count may be any number near the rows kept, so that one is looked for in what is said only.
        for number in (N_ROWS, N_ROWS - N_KEPT, *((N_KEPT,) if name in ("stderr", "ledger") else ())):
            assert not stands_in(str(number), text), (name, number)
    # The digest of the counts and the key's hash are the ledger's own.
    digest = measurement.data_digest.encode()
    assert all(digest not in text for name, text in (said | left).items() if name != "ledger")


def test_the_search_finds_what_it_looks_for() -> None:
    key = bytes(range(100, 132))
    for text in (key, key.hex().encode(), b"x" + base64.b64encode(key), repr(key).encode(), str([*key]).encode()):
        with pytest.raises(AssertionError):
            check_keys({"planted": b"before " + text + b" after"}, [key])
    for text in (b"quantity=999983,", b'"name":"CanaryStranger7"', b"17.982451653"):
        with pytest.raises(AssertionError):
            check_values({"planted": text})
    check_values({"others": b"9999834 1999983 1.999983"})
    assert stands_in("7919", b"rows: 7919.")
    assert not stands_in("7919", b"17919 79190 3.7919")


def test_no_settings_of_ours_turn_the_event_log_on() -> None:
    confs = sorted((ROOT / "conf" / "spark").glob("*.conf"))
    assert confs
    for conf in confs:
        settings = dict(
            line.split(None, 1) for line in conf.read_text().splitlines() if line.strip() and line.strip()[0] != "#"
        )
        assert settings["spark.eventLog.enabled"].strip() == "false", conf.name
        assert settings["spark.ui.enabled"].strip() == "false", conf.name
    assert QUIET["spark.eventLog.enabled"] == QUIET["spark.ui.enabled"] == "false"
