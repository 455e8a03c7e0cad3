"""Runs of the main job from the command line: what they print and spend, and what comes again at no privacy cost.

One run counts on Spark, as users' do, in blocks of its tree and with ``file://`` URLs in place of all paths; what is
kept and paid does not depend on it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dplib.config.sections import SparkSettings
from dplib.jobs.consistent_histograms import design
from tests.support.jobs import (
    ITEMS,
    Outcome,
    Shop,
    content,
    dplib,
    named,
    new_shop,
    require_refused,
    visible,
)

ONE_RUN = ["account", "reserve", "measure", "publish"]


@pytest.fixture
def shop(tmp_path: Path, rows_in_python: None) -> Shop:
    return new_shop(tmp_path / "shop")


def forbid_rows(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a run that reads rows, starts Spark or loads the secret fails."""

    def refuse(*_: object) -> None:
        raise AssertionError("a stored measurement must be enough")

    monkeypatch.setattr("dplib.spark.engine.session.open_session", refuse)
    monkeypatch.setattr("dplib.workflow.run.load_secret", refuse)
    (shop.folder / "orders.csv").unlink()
    (shop.folder / "shop.key").unlink()


def cut_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the small tree at its level of weeks, as a tree of millions of days would be."""
    monkeypatch.setattr(design, "MAX_BLOCK_CELLS", 32)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory, spark: object) -> tuple[Shop, Outcome]:
    """A shop whose rows Spark has counted, and how that run ended."""
    shop = new_shop(tmp_path_factory.mktemp("a b"))
    (shop.folder / "items.txt").write_text("\n".join(ITEMS), encoding="utf-8")
    here = f"file://{shop.folder}"
    shop.set(input__path=f"{here}/orders.csv", domain__items={"file": f"{here}/items.txt"})
    shop.set(publish__output__path=f"{here}/elsewhere", publish__solver={"layout": "blocks"})
    with pytest.MonkeyPatch.context() as patch:
        cut_in_blocks(patch)
        return shop, shop.run()


def test_file_urls_name_input_lists_and_releases(counted: tuple[Shop, Outcome]) -> None:
    shop, found = counted
    assert found.release == shop.folder / "elsewhere" / "shop-consistent-histograms-undated-000002"
    assert visible(found.release.parent) == [found.release.name]
    assert shop.spent() == 1


def test_the_same_entry_and_secret_give_the_same_bytes_in_every_layout(
    counted: tuple[Shop, Outcome], shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver's release is of the same rows and settings, counted in this process."""
    cut_in_blocks(monkeypatch)
    other, found = counted
    shop.set(input__path=other.settings["input"]["path"], publish__solver={"layout": "driver"})
    tables = [
        {name: digest for name, digest in content(release).items() if name.endswith(".parquet")}
        for release in (found.release, shop.run().release)
    ]
    assert tables[0] == tables[1]
    assert len(tables[0]) == 9  # three tables, each of a top and two blocks


def test_a_second_run_reads_and_spends_nothing(counted: tuple[Shop, Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    cut_in_blocks(monkeypatch)
    shop, found = counted
    shop.rows([("2024-01-02", "bread", "5", "z")] * 9)
    before = content(found.release.parent)
    changed_data = shop.run()
    forbid_rows(shop, monkeypatch)
    without_data = shop.run()
    assert changed_data.release == without_data.release == found.release
    assert content(found.release.parent) == before
    assert shop.entries() == ONE_RUN


@pytest.mark.parametrize("path", ["file:///none/orders.csv", "s3a://bucket/orders.csv"])
def test_input_that_spark_cannot_open_is_one_sentence(spark: object, tmp_path: Path, path: str) -> None:
    """It opens what has the scheme of another system itself: there is no such file, or no such system."""
    refused = require_refused(new_shop(tmp_path).set(input__path=path), 3)
    assert "Traceback" not in refused.err
    last = refused.err.splitlines()[-1]
    assert last.startswith("dplib: input.path must name ")
    assert f"got {path}" in last


def test_again_and_changed_measurements_spend(shop: Shop) -> None:
    runs = [shop.run(), shop.run("--again"), shop.run("--set", "privacy.max_quantity=4")]
    runs.append(shop.run("--date", "2024-01-14"))
    releases = [run.release for run in runs]
    # What is new is told where it spends unasked: by the names of settings, once.
    told = ["a new release, which is paid for" in run.err for run in runs]
    assert told == [False, False, True, False]
    assert f"paid for: privacy.max_quantity differs from {releases[1].name}\n" in runs[2].err
    assert len(set(releases)) == 4
    assert shop.spent() == 4
    noisy = [(release / "measurement").joinpath("block-000000.parquet").read_bytes() for release in releases]
    assert len(set(noisy)) == 4
    # The newest measurement of the same settings and date is the one that comes again.
    assert shop.run().release == releases[1]
    assert shop.spent() == 4


def test_days_of_one_call_share_a_session_and_nothing_else(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    @contextmanager
    def watched(name: str, settings: SparkSettings) -> Iterator[object]:
        seen.append("spark")
        yield "session"
        seen.append("end")

    monkeypatch.setattr("dplib.spark.engine.session.open_session", watched)
    monkeypatch.setattr("dplib.terminal.run.print", lambda line: seen.append(Path(line).name), raising=False)
    other = shop.folder / "other.yaml"
    other.write_text(json.dumps(shop.settings | {"queries": ["total"]}), encoding="utf-8")
    shop.run("--date", "2024-01-03")
    (first,) = visible(shop.output)
    assert seen == ["spark", "end", first]
    seen.clear()
    done = shop.run("--config", str(other), "--dates", "2024-01-02..2024-01-04")
    releases = visible(shop.output)
    # Publish settings make no run; the day that was there is returned.
    assert (done.code, len(releases), shop.entries().count("measure")) == (0, 3, 3)
    assert [name for name in seen if name not in ("spark", "end")] == [name for name in releases for _ in range(2)]
    assert first == releases[1]
    assert seen[-3:] == [releases[2], "end", "end"]
    alone = new_shop(shop.folder / "alone")
    alone.run("--date", "2024-01-03")
    alone.run("--date", "2024-01-02")
    for folder in ("measurement", "estimates"):
        assert content(alone.output / releases[0] / folder) == content(shop.output / releases[0] / folder)


@pytest.mark.parametrize("dates", ["2024-01-02", "2024-01-03..2024-01-02", "2024-01-02..", "a..b", "1..2..3"])
def test_dates_that_are_no_days(shop: Shop, dates: str) -> None:
    refused = shop.run("--dates", dates)
    assert (refused.code, named(refused), shop.entries()) == (2, "--dates", ["account"])


def test_configurations_of_one_call_have_one_section_of_spark(shop: Shop) -> None:
    other = shop.folder / "other.yaml"
    other.write_text(json.dumps(shop.settings | {"spark": {"master": "local[1]", "conf": {"spark.ui.port": "4050"}}}))
    refused = shop.run("--config", str(other))
    assert (refused.code, named(refused), shop.entries()) == (2, "spark", ["account"])


def test_changed_publication_settings_never_spend(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: list[dict[str, Any]] = [
        {"publish__solver": {"method": "alternating", "tol": 1e-12}},
        {"publish__output__csv": True},
        {"publish__output__path": "elsewhere"},
        {"queries": ["total"]},
    ]
    release = shop.run().release
    before = content(release)
    forbid_rows(shop, monkeypatch)
    for number, change in enumerate(changes, 1):
        name, release = release.name, shop.set(**change).run().release
        after = content(release)
        assert all(after[name] == digest for name, digest in before.items() if name.startswith("measurement"))
        assert (release.name, after["manifest.json"] == before["manifest.json"]) == (name, False)
        assert shop.entries() == [*ONE_RUN, *["publish"] * number]
        before = after
    assert shop.run().release == release
    assert shop.entries() == [*ONE_RUN, *["publish"] * len(changes)]
    assert shop.spent() == 1
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{shop.folder}/ledger.db").code == 0


def test_the_stages_one_after_the_other(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = shop.run("--stage", "publish")
    assert (nothing.code, nothing.out) == (1, "")
    assert "--stage publish must find a stored measurement, got none" in nothing.err
    measured = shop.run("--stage", "measure")
    assert (measured.code, measured.out) == (0, "shop-consistent-histograms-undated-000002\n")
    assert visible(shop.output / measured.last) == [".reservation", "measurement"]
    assert shop.run("--stage", "measure").last == measured.last
    forbid_rows(shop, monkeypatch)
    published = shop.run("--stage", "publish").release
    assert published.name == measured.last
    assert shop.run("--stage", "publish", "--release", measured.last).release == published
    assert shop.run().release == published
    assert shop.entries() == ONE_RUN


def test_publication_of_another_configuration_is_refused(shop: Shop) -> None:
    measured = shop.run("--stage", "measure").last
    refused = shop.run("--set", "privacy.budget.epsilon=2", "--stage", "publish", "--release", measured)
    assert refused.code == 2
    assert refused.err.startswith("dplib: --release must name a run of this configuration's measurement settings")


def test_other_queries_do_not_change_the_tree_of_a_measurement(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.set(tree="auto", queries=["day"])
    first = shop.run().release
    levels = json.loads((first / "manifest.json").read_text())["domain"]["levels"]
    forbid_rows(shop, monkeypatch)
    second = shop.set(queries=["total"]).run().release
    assert json.loads((second / "manifest.json").read_text())["domain"]["levels"] == levels
    assert shop.entries() == [*ONE_RUN, "publish"]
    assert dplib("verify", str(second)).code == 0
    assert dplib("query", str(second), "--json").code == 0
