"""Faults of the reader and of input that people have: rows that fail others, files that differ, numbers and dates."""

import gzip
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from dplib.config.sections import SparkSettings
from dplib.spark.engine.session import start_session
from scripts.accept.claims import Check, Result
from tests.support.jobs import ITEMS, Outcome, Shop, new_shop, noisy_days

LINE = "2024-01-01,bread,1,u{}"
HEADER = "date,product,quantity,order_id"
BAD_PATTERNS = ("yyyy-MM-DD", "YYYY-MM-dd", "yyyy-mm-dd", "yyyy-MM-dd HH:MM", "dd/MM/yyyy hh:mm")
WRONG_HEADERS = {
    "capitals": ("Date,product,quantity,order_id", "Capitals count"),
    "blanks": (" date,product,quantity,order_id", "with the blanks"),
    "twice": ("date,product,quantity,order_id,date", "stands 2 times"),
    "semicolons": (HEADER.replace(",", ";"), 'set input.options.sep to ";"'),
    "missing": ("when,product,quantity,order_id", "its columns are when, product"),
    "UTF-16": (HEADER.encode("utf-16"), "UTF-16"),
    "Parquet": (b"PAR1\x15\x04,x", "the file is Parquet"),
}


@lru_cache(maxsize=1)
def session() -> SparkSession:
    """One session for all checks."""
    return start_session("faults of the reader", SparkSettings(master="local[2]"))


def shop(folder: str, files: dict[str, str | bytes], **changes: object) -> Shop:
    """A shop that counts nearly exactly, with these files in its folder ``in``."""
    session()
    place = new_shop(Path(folder) / "shop", budget="900")
    for name, data in files.items():
        target = place.folder / "in" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data if isinstance(data, bytes) else data.encode())
    return place.set(input__path="in", privacy__budget={"epsilon": 900}, **changes)


def text(*lines: str, header: str = HEADER) -> str:
    """A CSV file."""
    return "\n".join((header, *lines, ""))


def counted(place: Shop) -> tuple[int, str]:
    """What a run counts in all, and how it ended."""
    found = place.run("--yes")
    if found.code:
        return -1, f"exit {found.code}: {found.err.strip().splitlines()[-1]}"
    total = int(noisy_days(found.release, ITEMS).sum())
    return total, f"{total} rows"


def refused(claim: str, place: Shop, code: int, said: str, *, kept: bool = False) -> Result:
    """A run that must end with a code and a sentence, and with nothing reserved unless the reservation is kept."""
    found: Outcome = place.run("--yes")
    last = (found.err.strip().splitlines() or [""])[-1]
    held = place.spent()
    ok = found.code == code and said in last and (held > 0) == kept
    rule = f"exit {code}, {'reservation kept' if kept else 'nothing reserved'}"
    return Result(claim, rule, f"exit {found.code}, {held} held: {last[:150]}", ok)


def no_row_fails_others() -> Iterator[Result]:
    """Rows that ended a run or deleted other rows."""
    odd = ["," * 1_100_000, "x" * 1_500_000, '2024-01-01,"bread', "\0" * 10]
    with tempfile.TemporaryDirectory() as folder:
        lines = [LINE.format(0), *odd, *(LINE.format(i) for i in range(1, 50))]
        total, seen = counted(shop(folder, {"a.csv": text(*lines)}))
        yield Result("CSV: 1.1 million fields, 1.5 MB, an open quote, NULs among 50 rows", "50 rows", seen, total == 50)
    record = '{{"date":"2024-01-01","product":"bread","quantity":1,"order_id":"u{}"}}'
    with tempfile.TemporaryDirectory() as folder:
        lines = [record.format(i) for i in range(50)]
        lines[7:7] = ['{"date":"2024', "[" + record.format("x") + ",{broken", '{"date":' + "[" * 2_000]
        place = shop(folder, {"a.json": "\n".join(lines)}, input__format="json", input__options={})
        total, seen = counted(place)
        yield Result("JSON: damaged and nested lines, half an array among 50 rows", "50 rows", seen, total == 50)


def no_timestamp_fails_a_run() -> Iterator[Result]:
    """Timestamps that no clock shows, of every unit; those of ORC, which cannot be read one by one."""
    noon = 1_704_110_400
    for unit, ticks in (("ms", 10**3), ("ns", 10**9)):
        days = [noon * ticks] * 50 + [9_223_372_036_854_776, 2**63 - 1, -(2**63)]
        with tempfile.TemporaryDirectory() as folder:
            place = shop(folder, {}, input__format="parquet", input__options={})
            (place.folder / "in").mkdir()
            pq.write_table(_orders(pa.array(days, pa.timestamp(unit))), place.folder / "in" / "a.parquet")
            total, seen = counted(place)
            yield Result(f"Parquet: 50 timestamps in {unit} beside extreme ones", "50 rows", seen, total == 50)
    with tempfile.TemporaryDirectory() as folder:
        place = shop(folder, {}, input__format="orc", input__options={})
        (place.folder / "in").mkdir()
        orc.write_table(_orders(pa.array([-1], pa.timestamp("ns"))), place.folder / "in" / "a.orc")
        yield refused("ORC: a timestamp of -1 ns", place, 3, "dates or texts in ORC files")


def _orders(days: pa.Array) -> pa.Table:
    n = len(days)
    return pa.table(
        {"date": days, "product": ["bread"] * n, "quantity": [1] * n, "order_id": [f"u{i}" for i in range(n)]}
    )


def readers_that_are_not_safe_are_refused() -> Iterator[Result]:
    """Formats and options under which one record deletes or fails others."""
    settings: Sequence[tuple[str, dict[str, str]]] = (
        ("xml", {"rowTag": "row"}),
        ("avro", {}),
        ("json", {"multiLine": "true"}),
        ("csv", {"header": "true", "multiLine": "true"}),
        ("csv", {"header": "true", "maxColumns": "3"}),
        ("csv", {"header": "true", "MAXCHARSPERCOLUMN": "10"}),
        ("csv", {"header": "true", "mode": "FAILFAST"}),
    )
    for name, options in settings:
        with tempfile.TemporaryDirectory() as folder:
            place = shop(folder, {"a": text()}, input__format=name, input__options=options)
            yield refused(f"{name} with {options or 'no options'}", place, 2, "input.")


def files_are_looked_at_before_a_reservation() -> Iterator[Result]:
    """Files that differ, that would be left out, that are not there; damage that shows later."""
    good, other = text(LINE.format(1)), text("u2,1,bread,2024-01-01", header=",".join(reversed(HEADER.split(","))))
    many = gzip.compress(text(*(f"2024-01-01,bread,1,u{i * 7919}" for i in range(400_000))).encode())
    cases: Sequence[tuple[str, dict[str, str | bytes], str, bool]] = (
        ("header lines in another order", {"a.csv": good, "b.csv": other}, "the same columns in the same order", False),
        ("a file deeper than the folder", {"a.csv": good, "sub/b.csv": good}, "1 of 2 files lie elsewhere", False),
        ("a file beside partition folders", {"a.csv": good, "x=1/b.csv": good}, "lie elsewhere", False),
        ("empty files", {"a.csv": "", "b.csv": ""}, "empty files only", False),
        ("a gzip file cut off behind its start", {"a.csv.gz": many[: len(many) - 99], "b.csv": good}, "input", True),
    )
    for claim, files, said, kept in cases:
        with tempfile.TemporaryDirectory() as folder:
            yield refused(claim, shop(folder, files), 3, said, kept=kept)
    with tempfile.TemporaryDirectory() as folder:
        yield refused("a path that is not there", shop(folder, {}), 3, "name a file or folder that is there")
    with tempfile.TemporaryDirectory() as folder:
        place = shop(f"{folder}/report [2024]", {"a.csv": good})
        total, seen = counted(place)
        yield Result("brackets in the configuration's folder", "1 row", seen, total == 1)


def partition_folders_are_text() -> Iterator[Result]:
    """``day=20240101`` with a pattern, and an order 01 beside an order 1, each with the cap of a unit."""
    lines = "\n".join(("product,quantity", *["bread,1"] * 5, ""))
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, str | bytes] = {
            "date=20240101/order_id=01/a.csv": lines,
            "date=20240101/order_id=1/a.csv": lines,
        }
        total, seen = counted(shop(folder, files, input__date_format="yyyyMMdd"))
        yield Result("partition folders 01 and 1, 5 rows each, 3 a unit", "6 rows", seen, total == 6)


def texts_are_numbers_and_dates_by_a_grammar() -> Iterator[Result]:
    """Suffixes of Java are no numbers; patterns that lose days are refused."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = ("1", "1f", "1D", "0x1", "1L", "1d", "1F", "NaN", "1,0", "1e0")
        lines = [f'2024-01-01,bread,"{number}",u{i}' for i, number in enumerate(numbers)]
        total, seen = counted(shop(folder, {"a.csv": text(*lines)}))
        yield Result(f"quantities {' '.join(numbers)}", "2 rows", seen, total == 2)
    for pattern in BAD_PATTERNS:
        with tempfile.TemporaryDirectory() as folder:
            place = shop(folder, {"a.csv": text()}, input__date_format=pattern)
            yield refused(f"date_format {pattern}", place, 2, "did you mean")


def a_wrong_header_is_told_from_others() -> Iterator[Result]:
    """Each kind of wrong header has its own sentence."""
    for name, (header, said) in WRONG_HEADERS.items():
        with tempfile.TemporaryDirectory() as folder:
            data = header if isinstance(header, bytes) else header + "\n"
            yield refused(f"header: {name}", shop(folder, {"a.csv": data}), 3, said)


CHECKS: tuple[Check, ...] = (
    no_row_fails_others,
    no_timestamp_fails_a_run,
    readers_that_are_not_safe_are_refused,
    files_are_looked_at_before_a_reservation,
    partition_folders_are_text,
    texts_are_numbers_and_dates_by_a_grammar,
    a_wrong_header_is_told_from_others,
)
