"""Bad values in rows: the run succeeds, they count by the public rule, and no message or file holds any of them."""

import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from dplib.arrays import IntArray
from tests.support.every_job import OWN_SPARK
from tests.support.jobs import ITEMS, JOB, ROOT, Outcome, Shop, content, dplib, new_shop, noisy_days, python_process

CANARY = "Canary"
"""Stands in every value that must not be seen again."""
NUMBER = "9182736455463728"
"""A quantity that must not be seen again."""
HEADER = b"date,product,quantity,order_id,note\n"
GOOD = b"""\
2024-01-01,bread,2,a,CanaryNote
2024-01-01,milk,1,a,
2024-01-02, tea ,1.9,b,
2024-01-03,bread,9182736455463728,c,
2024-01-03,bread,-9182736455463728,c2,
2024-01-04,milk,1e400,d,
2024-01-05,"tea",3,"CanaryUnit, quoted",
"""
COUNTED = [(0, "bread", 2), (0, "milk", 1), (1, "tea", 1), (2, "bread", 5), (3, "milk", 5), (4, "tea", 3)]
"""What these rows count as: day, item, quantity within its cap, rounded down."""
BAD = b"""\
CanaryDay,bread,1,e,
2024-02-31,bread,1,e,
,bread,1,e,
2023-12-31,bread,1,e,
2024-01-15,bread,1,e,
2024-01-06,CanaryItem,1,e,
2024-01-06,BREAD,1,e,
2024-01-06,,1,e,
2024-01-06,bread,CanaryQuantity,e,
2024-01-06,bread,NaN,e,
2024-01-06,bread,,e,
2024-01-06,bread,-3,e,
2024-01-06,bread,0.5,e,
2024-01-06,bread,1,,
2024-01-06,bread,1,   ,
2024-01-06
2024-01-06,bread,"Canary unclosed,e,
"""
LATIN = b"2024-01-07,caf\xe9,1,CanaryLatin\xff,\n2024-01-07,milk,1,caf\xe9,\n"
TRUNCATED = b"2024-01-08,bread,4,CanaryOrd"


def counted(rows: list[tuple[int, str, int]]) -> IntArray:
    counts = np.zeros((14, len(ITEMS)), dtype=np.int64)
    for day, item, quantity in rows:
        counts[day, ITEMS.index(item)] += quantity
    return counts


def nearly_exact(shop: Shop, data: bytes) -> Shop:
    """Rows, and a budget so large that a count gets noise once in millions."""
    (shop.folder / "orders.csv").write_bytes(data)
    return shop.set(privacy__budget={"epsilon": 900}, privacy__max_rows_per_unit=3)


def seen(found: Outcome, release: Path) -> str:
    """All text that a reader can get at: the screen, the paths, and every file of the release."""
    texts = [found.out, found.err, *map(str, content(release))]
    for path in sorted(path for path in release.rglob("*") if path.is_file()):
        texts.append(path.read_bytes().decode("utf-8", errors="replace"))
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            texts += [str(table.to_pydict()), str(table.schema.metadata)]
    return "\n".join(texts)


EVERY_KIND = b"\xef\xbb\xbf" + (HEADER + BAD + GOOD + b"2024-01-0").replace(b"\n", b"\r\n")
CASES = {
    "every kind of bad value behind a byte-order mark, Windows line ends and a truncated date": (EVERY_KIND, COUNTED),
    "no rows": (HEADER, []),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_values_follow_the_rule(
    name: str, tmp_path: Path, spark: object, capfd: pytest.CaptureFixture[str]
) -> None:
    data, rows = CASES[name]
    shop = nearly_exact(new_shop(tmp_path, budget="900"), data)
    found = shop.run()
    release = found.release
    assert np.array_equal(noisy_days(release, ITEMS), counted(rows))
    spark_said = "".join(capfd.readouterr())
    text = seen(found, release) + spark_said
    assert CANARY not in text
    assert NUMBER not in text
    assert shop.spent() == 900


def test_the_job_file_in_a_process_of_its_own_shows_no_value(tmp_path: Path) -> None:
    shop = nearly_exact(new_shop(tmp_path, budget="900"), HEADER + BAD + GOOD + LATIN + TRUNCATED)
    shop.set(spark=OWN_SPARK)
    config = os.path.relpath(shop.config, tmp_path)
    found = python_process(str(ROOT / "jobs" / "consistent_histograms.py"), "--config", config, cwd=tmp_path)
    text = seen(found, found.release)
    assert CANARY not in text
    assert NUMBER not in text
    assert "WARN " not in found.err
    assert np.array_equal(noisy_days(found.release, ITEMS), counted([*COUNTED, (6, "milk", 1), (7, "bread", 4)]))


def test_inspect_counts_and_names_them_for_the_owner_only(tmp_path: Path, spark: object) -> None:
    shop = nearly_exact(new_shop(tmp_path), HEADER + BAD + GOOD)
    before = content(tmp_path)
    found = shop.command("inspect")
    assert found.code == 0, found.err
    assert "NOT PRIVATE" in found.out
    # The owner sees what is dropped, on the screen and nowhere else.
    assert CANARY in found.out
    assert CANARY not in found.err
    shown = {" ".join(words[:-2]): words[-2:] for words in map(str.split, found.out.splitlines()) if len(words) > 3}
    # 17 bad rows and 7 good ones, in the order of the rules.
    assert shown["unit is given"] == ["20", "4"]
    assert shown["day can be read"] == ["17", "3"]
    assert shown["day is in the domain"] == ["15", "2"]
    assert shown["name is in the domain"] == ["12", "3"]
    assert shown["quantity is a number"] == ["9", "3"]
    assert shown["rows are within the cap a unit"] == ["6", "0"]
    assert content(tmp_path) == before


@pytest.mark.usefixtures("rows_in_python")
def test_an_unexpected_error_is_named_by_class_and_place_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = new_shop(tmp_path)

    def break_down(*_: object) -> None:
        raise ValueError(f"could not convert {CANARY}")

    with monkeypatch.context() as broken:
        broken.setattr("dplib.jobs.consistent_histograms.run.measure_on_driver", break_down)
        found = shop.run()
    assert found.code == 1
    assert found.err.splitlines()[-1].startswith("dplib: unexpected ValueError at test_bad_rows.py:")
    assert CANARY not in found.out + found.err
    assert "Traceback" not in found.err
    # A retry measures it for nothing more.
    assert shop.entries() == ["account", "reserve"]
    assert shop.spent() == 1


def test_the_traceback_is_there_for_who_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPLIB_DEBUG", "1")
    found = dplib("run", JOB, "--config", str(tmp_path / "absent.yaml"))
    assert found.code == 2
    assert "Traceback" in found.err
