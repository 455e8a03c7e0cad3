"""Bad values in rows: the owner sees what becomes of them, and no message of an error holds any of them.

That they count by the public rule, in a run that shows none of them: `tests.spark.test_session`.
"""

from pathlib import Path

import pytest

from tests.support.bad_rows import BAD, CANARY, GOOD, HEADER, nearly_exact
from tests.support.jobs import JOB, content, dplib, new_shop


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
    # 18 bad rows and 7 good ones, in the order of the rules.
    assert shown["unit is given"] == ["20", "5"]
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
