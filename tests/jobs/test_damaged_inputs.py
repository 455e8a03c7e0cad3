"""Damage that shows while rows are counted ends with exit code 3 and keeps the reservation; before, there is none."""

import bz2
import gzip
import io
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from tests.support.jobs import HEADER, new_shop

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
NOTES = [random.Random(row).randbytes(1250).hex() for row in range(1000)]
"""What makes so few rows longer than what is looked at before a reservation: two megabytes."""
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


DAMAGED: dict[str, tuple[Callable[[], bytes], Callable[[bytes], bytes]]] = {
    "a.csv.gz": (lambda: gzip.compress(TEXT.encode()), cut),
    "b.csv.gz": (lambda: gzip.compress(TEXT.encode()), lambda data: data[:-4] + b"\0\0\0\1"),
    "a.csv.bz2": (lambda: bz2.compress(TEXT.encode(), 1), lambda data: data[:-2000] + flipped(data[-2000:])),
    "a.csv.zst": (lambda: pa.compress(TEXT.encode(), "zstd", asbytes=True), cut),
    "checksums.parquet": (lambda: written("parquet", compression="none", write_page_checksum=True), flipped),
    "a.orc": (lambda: written("orc", compression="zlib"), with_a_hole),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_that_shows_while_counting_keeps_the_reservation(name: str, tmp_path: Path) -> None:
    kind = name.split(".")[1]
    options = {"header": "true"} if kind == "csv" else {}
    place = new_shop(tmp_path).set(input__path="in", input__format=kind, input__options=options)
    whole, damage = DAMAGED[name]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(damage(whole()))
    outcome = place.run("--yes")
    assert outcome.code == 3, outcome.err
    assert outcome.err.splitlines()[-1].startswith("dplib: input must hold files and columns that Spark can read, got ")
    assert place.spent() == 1
    if kind == "orc":
        # Anyone who puts the file right pays nothing more; of which format it is plays no part then.
        (tmp_path / "in" / name).write_bytes(whole())
        assert place.run("--yes").code == 0
        assert place.spent() == 1


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_files_without_an_end_are_refused_before_a_reservation(kind: str, tmp_path: Path) -> None:
    place = new_shop(tmp_path).set(input__path="in", input__format=kind, input__options={})
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(written(kind))
    for damaged in (b"", b"PAR1 no footer", cut(written(kind)), written(kind) + b"more"):
        (tmp_path / "in" / "b").write_bytes(damaged)
        outcome = place.run("--yes")
        assert outcome.code == 3, outcome.err
        assert outcome.err.splitlines()[-1].startswith("dplib: input.path must name what Spark can open, got in")
        assert place.spent() == 0


def test_a_text_file_that_is_nothing_but_damage_is_refused_before_a_reservation(tmp_path: Path) -> None:
    place = new_shop(tmp_path).set(input__path="in")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(",".join(HEADER) + "\n")
    for ending in ("gz", "bz2", "zst"):
        (tmp_path / "in" / "b.csv").unlink(missing_ok=True)
        (tmp_path / "in" / f"b.csv.{ending}").write_bytes(b"nothing that was ever packed")
        outcome = place.run("--yes")
        assert outcome.code == 3, outcome.err
        assert outcome.err.splitlines()[-1].startswith("dplib: input.path must name ")
        assert place.spent() == 0
        (tmp_path / "in" / f"b.csv.{ending}").unlink()
