"""Damage that shows while rows are counted ends with exit code 3 and keeps the reservation; before, there is none."""

import bz2
import gzip
import io
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from dplib.errors import SchemaError
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.job import JOB
from dplib.progress import SILENT
from dplib.spark.rows import input_files
from dplib.spark.rows.counts import count_cells
from dplib.workflow.job import Resources
from tests.support.jobs import HEADER, Shop, new_shop
from tests.support.rows_in_python import count_in_python

pytestmark = pytest.mark.usefixtures("spark")
N_ROWS = 8000
TABLE = pa.table(
    {
        "date": ["2024-01-01"] * N_ROWS,
        "product": ["bread"] * N_ROWS,
        "quantity": ["1"] * N_ROWS,
        "order_id": [f"u{i * 2_654_435_761 % 2**32:x}" for i in range(N_ROWS)],
    }
)
HEAD = 1 << 16
"""Bytes that are looked at before a reservation, in place of two megabytes."""
NOTES = [random.Random(row).randbytes(1250).hex() for row in range(120)]
"""What makes so few rows longer than these."""
LINES = [f"2024-01-01,bread,1,u{unit},{note}\n" for unit, note in enumerate(NOTES)]
TEXT = ",".join([*HEADER, "note\n"]) + "".join(LINES)


def written(kind: str, **options: object) -> bytes:
    """The rows as a Parquet or ORC file."""
    target = io.BytesIO()
    (orc.write_table if kind == "orc" else pq.write_table)(TABLE, target, **options)
    return target.getvalue()


def cut(data: bytes) -> bytes:
    """Without its end."""
    return data[: len(data) * 95 // 100]


def flipped(data: bytes) -> bytes:
    """One bit in the middle is another one."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def with_a_hole(data: bytes) -> bytes:
    """Some bytes in the middle are gone."""
    middle = len(data) // 2
    return data[: middle - 500] + data[middle + 500 :]


ORC = "a.orc"
DAMAGED: dict[str, tuple[Callable[[], bytes], Callable[[bytes], bytes]]] = {
    "a.csv.gz": (lambda: gzip.compress(TEXT.encode()), cut),
    "b.csv.gz": (lambda: gzip.compress(TEXT.encode()), lambda data: data[:-4] + b"\0\0\0\1"),
    "a.csv.bz2": (lambda: bz2.compress(TEXT.encode(), 1), lambda data: data[:-2000] + flipped(data[-2000:])),
    "a.csv.zst": (lambda: pa.compress(TEXT.encode(), "zstd", asbytes=True), cut),
    "checksums.parquet": (lambda: written("parquet", compression="none", write_page_checksum=True), flipped),
    ORC: (lambda: written("orc", compression="zlib"), with_a_hole),
}
SLOW = dict.fromkeys(("b.csv.gz", "a.csv.bz2"), pytest.mark.slow)
"""Another damage to what is packed as another file is, and a third packing: what Spark says of each comes one way."""


COUNTING = "input must hold files and columns that Spark can read, got "
OPENING = "input.path must name "


def place_of(kind: str, folder: Path) -> Shop:
    """A shop whose rows lie in a folder that is empty yet."""
    (folder / "in").mkdir()
    options = {"header": "true"} if kind == "csv" else {}
    return new_shop(folder).set(input__path="in", input__format=kind, input__options=options)


def resources_of(place: Shop) -> closing[Resources[Design]]:
    return closing(Resources(JOB.prepare(place.config), SILENT))


def require_not_opened(place: Shop, sentence: str) -> None:
    """The rows are opened before anything is reserved."""
    with resources_of(place) as resources, pytest.raises(SchemaError) as refused:
        JOB.stages().open_input(resources)
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in DAMAGED if name != ORC])
def test_damage_shows_while_rows_are_counted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "_HEAD", HEAD)
    place, (whole, damage) = place_of(name.split(".")[1], tmp_path), DAMAGED[name]
    (tmp_path / "in" / name).write_bytes(damage(whole()))
    with resources_of(place) as resources:
        rows = JOB.stages().open_input(resources)
        # All texts of a row are read, and nothing is judged: that takes a run longer than to meet the damage.
        read = rows.selectExpr("0 AS day", "0 AS row_type", "length(concat(day, name, quantity, unit)) AS quantity")
        with pytest.raises(SchemaError) as refused:
            count_cells(read, 1, 1)
    assert str(refused.value).startswith(COUNTING)


def test_damage_that_shows_while_counting_keeps_the_reservation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, (whole, damage) = place_of("orc", tmp_path), DAMAGED[ORC]
    (tmp_path / "in" / ORC).write_bytes(damage(whole()))
    outcome = place.run("--yes")
    assert outcome.code == 3, outcome.err
    assert outcome.err.splitlines()[-1].startswith(f"dplib: {COUNTING}")
    assert place.spent() == 1
    # Anyone who puts the file right pays nothing more.
    count_in_python(monkeypatch)
    monkeypatch.setattr("dplib.jobs.consistent_histograms.run.open_rows", lambda *_: [])
    assert place.run("--yes").code == 0
    assert place.spent() == 1


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_files_without_an_end_are_not_opened(kind: str, tmp_path: Path) -> None:
    place = place_of(kind, tmp_path)
    whole = written(kind)
    (tmp_path / "in" / "a").write_bytes(whole)
    for damaged in (b"", cut(whole), *((whole + b"more",) if kind == "parquet" else ())):
        (tmp_path / "in" / "b").write_bytes(damaged)
        require_not_opened(place, f"{OPENING}what Spark can open, got in")


def test_a_text_file_that_is_nothing_but_damage_is_not_opened(tmp_path: Path) -> None:
    place = place_of("csv", tmp_path)
    (tmp_path / "in" / "a.csv").write_text(",".join(HEADER) + "\n")
    for ending in ("gz", "bz2", "zst"):
        damaged = tmp_path / "in" / f"b.csv.{ending}"
        damaged.write_bytes(b"nothing that was ever packed")
        require_not_opened(place, OPENING)
        damaged.unlink()
