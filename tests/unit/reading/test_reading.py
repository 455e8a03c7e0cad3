"""Releases in Python: what earlier versions stored is opened, asked, combined and plotted, without Spark."""

import json
import shutil
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest

import dplib
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.consistent_histograms.query import design_of
from dplib.jobs.range_histograms import quantiles
from dplib.privacy.noise_quantile import DrawLaw, factor95
from dplib.reading.combined import _mean
from dplib.reading.release import Release, open_release
from dplib.release.question import Question
from dplib.release.tables import read_table
from tests.support.dense_histograms import DenseHistograms
from tests.support.every_job import JOBS
from tests.support.stored_releases import STORED

matplotlib.use("agg")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    found = {}
    for job in JOBS:
        folder = tmp_path_factory.mktemp(job)
        shutil.unpack_archive(STORED / f"{job}.zip", folder)
        (path,) = (folder / "releases").iterdir()
        found[job] = open_release(path)
    return found


@pytest.mark.parametrize("job", JOBS)
def test_every_job_is_a_tidy_table_with_its_promise(releases: dict[str, Release], job: str) -> None:
    release = releases[job]
    frame, asked = release.to_pandas(), release.query()
    assert len(frame) >= len(asked) > 0
    assert release.cost == 1
    assert release.guarantee.startswith("epsilon 1")
    assert release.privacy_unit in release.guarantee
    if job not in ("kmeans", "key-selection"):
        stated = frame[frame["low"].notna()]
        assert len(stated)
        assert (stated["low"] < stated["estimate"]).all()
        assert (stated["std_error"] > 0).all()


def test_errors_of_sums_of_items_by_week_are_those_of_dense_least_squares(releases: dict[str, Release]) -> None:
    release = releases["consistent-histograms"]
    design = design_of(release.manifest)
    dense, number = DenseHistograms(design), design.series_number
    for items in (["milk", "bread"], ["milk", "tea"], ["drinks"]):
        found = release.query(items, by="week", start="2024-01-03", sum=True)
        assert len(found) == 2
        series = np.array([number[item] for item in items])
        for row in found.itertuples():
            lo, hi = design.day(row.first_day.date()), design.day(row.last_day.date()) + 1
            assert row.std_error == pytest.approx(dense.sum_error(lo, hi, series), rel=1e-9)


def test_parts_add_up_to_the_whole_and_the_table_says_the_same(releases: dict[str, Release]) -> None:
    release = releases["consistent-histograms"]
    whole, days = release.query(), release.query(by="day")
    for item, rows in days.groupby("item"):
        assert rows["estimate"].sum() == pytest.approx(whole.set_index("item")["estimate"][item])
    table = release.to_pandas()
    table = table[table["level"] == "day"].set_index(["item", "first_day"]).sort_index()
    for name in ("estimate", "std_error", "low", "high", "published"):
        asked = days.set_index(["item", "first_day"]).sort_index()[name]
        assert asked.to_numpy() == pytest.approx(table[name].to_numpy())
    bins = releases["range-histograms"].query("north", by="bin")
    assert bins["published"].sum() == releases["range-histograms"].query("north")["published"][0]


@pytest.mark.parametrize(
    ("job", "names", "asked"),
    [
        ("consistent-histograms", ["tea"], {"start": "2024-01-02", "by": "day"}),
        ("consistent-histograms", ["milk", "tea"], {"end": "2024-01-03", "sum": True}),
        ("range-histograms", ["north"], {"by": "bin"}),
    ],
)
def test_answers_are_the_same_of_a_table_read_whole_and_of_its_rows_alone(
    job: str, names: list[str], asked: dict[str, Any], releases: dict[str, Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, rows = f"dplib.jobs.{job.replace('-', '_')}.query", list[int]()

    def read(*given: Any, **more: Any) -> Any:
        table = read_table(*given, **more)
        rows.append(table.num_rows)
        return table

    monkeypatch.setattr(f"{module}.read_table", read)
    whole = releases[job].query(names, **asked)
    monkeypatch.setattr(f"{module}.FEW_ROWS", 0)
    pd.testing.assert_frame_equal(releases[job].query(names, **asked), whole)
    assert sum(rows[: len(rows) // 2]) > sum(rows[len(rows) // 2 :]) > 0


def _on_counts(release: Release, truth: np.ndarray, noise: np.ndarray, patch: pytest.MonkeyPatch) -> Release:
    """The release as if these were its bins' estimates."""
    counts = np.maximum(np.rint(truth + noise), 0).astype(np.int64)
    patch.setattr(quantiles, "bin_counts", lambda _, design, __: iter([(design.series[0], truth + noise, counts)]))
    return release


def test_intervals_of_shapes_hold_the_truth(releases: dict[str, Release], monkeypatch: pytest.MonkeyPatch) -> None:
    release, rng = releases["range-histograms"], np.random.default_rng(3)
    design: Any = quantiles.design_of(release.path, release.manifest)
    monkeypatch.setattr(quantiles, "design_of", lambda *_: design)  # read once, not for each of three hundred answers
    tree, n = design.strategy.tree, design.bins.n_bins
    inside = (tree.lo[:, None] <= np.arange(n)) & (np.arange(n) < tree.hi[:, None])
    known = np.isfinite(design.variance)
    weighted = inside[known] / design.variance[known, None]
    covariance = np.linalg.inv(weighted.T @ inside[known])
    truth = np.maximum(rng.normal(60 * np.exp(-np.arange(n) / 4), 3), 0)
    at, middle = design.bins.edges, (design.bins.edges[:-1] + design.bins.edges[1:]) / 2
    median = int(np.searchsorted(np.cumsum(truth), truth.sum() / 2))
    held = {"quantile": 0, "mean": 0, "share": 0}
    for noise in rng.multivariate_normal(np.zeros(n), covariance, 100):
        opened = _on_counts(release, truth, noise, monkeypatch)
        for name, shape, low, high in (
            ("quantile", opened.quantile(0.5), at[median], at[median + 1]),
            ("mean", opened.mean(), *2 * [float(truth @ middle / truth.sum())]),
            ("share", opened.share(0, 4), *2 * [float(truth[:4].sum() / truth.sum())]),
        ):
            held[name] += bool(shape["low"][0] <= low and high <= shape["high"][0])
            assert shape["low"][0] <= shape["estimate"][0] <= shape["high"][0]
    assert min(held.values()) >= 90  # intervals of 80 % would hold 80, give or take 4
    assert held["share"] < 100
    ratio = opened.share(0, 4).iloc[0]
    weights = (np.arange(n) < 4) - ratio["estimate"]
    assert ratio["std_error"] == pytest.approx((weights @ covariance @ weights) ** 0.5 / (truth + noise).sum())


def test_combined_answers_weigh_by_precision(releases: dict[str, Release]) -> None:
    numbers = [{"item": "a", "estimate": 10.0, "std_error": 1.0}, {"item": "a", "estimate": 20.0, "std_error": 2.0}]
    found = _mean(numbers, 2.0)
    assert found == pytest.approx(
        {"item": "a", "estimate": 12.0, "std_error": 0.8**0.5, "low": 12 - 2 * 0.8**0.5, "high": 12 + 2 * 0.8**0.5}
    )
    release = releases["consistent-histograms"]
    again = _anew(release)
    both, one = dplib.combine([release, again]).query("milk", by="week"), release.query("milk", by="week")
    assert both["estimate"].to_numpy() == pytest.approx(one["estimate"].to_numpy())
    assert both["std_error"].to_numpy() == pytest.approx(one["std_error"].to_numpy() / 2**0.5)
    # Of scale 2: whole numbers make intervals of any sum wider than those of continuous noise.
    narrow = releases["range-histograms"]
    one = dplib.combine([narrow, _anew(narrow)]).query("north").iloc[0]
    assert one["high"] - one["estimate"] == pytest.approx(
        factor95([DrawLaw("discrete_laplace", 2.0)]) * one["std_error"]
    )


def _anew(release: Release, **privacy: Any) -> Release:
    """As if it had been measured once more, with other caps."""
    manifest = release.manifest
    files = [entry.model_copy(update={"sha256": entry.sha256[::-1]}) for entry in manifest.files]
    settings = json.loads(json.dumps(release.settings))
    settings["privacy"] |= privacy
    update = {"release_id": "anew", "reservation": "", "files": files, "details": {"design": settings}}
    return Release(release.path, manifest.model_copy(update=update))


def test_what_is_not_the_same_number_is_not_combined(
    releases: dict[str, Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = releases["consistent-histograms"]
    for others, words in (
        ([], "at least two"),
        ([release], "measurements of their own"),
        ([_anew(release, max_quantity=4)], "max_quantity"),
        ([releases["range-histograms"]], "same job"),
    ):
        with pytest.raises(ConfigError, match=words):
            dplib.combine([release, *others])
    both = dplib.combine([release, _anew(release, budget={"epsilon": "2"})])
    assert both.cost == 2
    # As of two streams, each of which answers for its newest days.
    later, first = release.answers(Question(["milk"], "2024-01-02")), release.answers(Question(["milk"]))
    monkeypatch.setattr(Release, "answers", lambda each, _: first if each is release else later)
    with pytest.raises(ConfigError, match="releases must answer for the same items and days"):
        both.query("milk")


def test_wrong_arguments_are_named_as_they_are_written(releases: dict[str, Release]) -> None:
    release = releases["consistent-histograms"]
    for asked, name in (
        ({"items": "mlik"}, "items must"),
        ({"start": "2023-01-01"}, "start and end must"),
        ({"by": "fortnight"}, "by must"),
        ({"where": {"region": "north"}}, "where must"),
    ):
        with pytest.raises(ConfigError, match=f"^{name}"):
            release.query(**asked)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean milk"):
        release.query("mlik")
    with pytest.raises(ConfigError, match=r"^mean must"):
        release.mean()


def test_a_release_whose_files_are_not_whole_is_not_opened(releases: dict[str, Release], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(releases["kmeans"].path, damaged)
    (damaged / releases["kmeans"].manifest.files[0].path).write_bytes(b"")
    with pytest.raises(IntegrityError, match="files as they were written"):
        open_release(damaged)


def test_plots_show_every_period_and_hollow_ones_apart(
    releases: dict[str, Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = releases["consistent-histograms"].plot(["milk", "bread"], by="week", start="2024-01-03")
    whole, partial = axes.lines[0], axes.lines[1]
    assert (len(whole.get_xdata()), len(partial.get_xdata())) == (1, 1)
    assert partial.get_markerfacecolor() == "none"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2024-01-03", "2024-01-08"]
    assert len(releases["range-histograms"].plot().containers) == 2
    with pytest.raises(ConfigError, match="plot must"):
        releases["kmeans"].plot()
    # Where no errors are stated, skewed counts are drawn as well.
    bare = pd.DataFrame({"group": "a", "range": list("wxyz"), "estimate": [-1.0, 2.0, 3.0, 40_000.0]})
    many = [bare.assign(group=str(size), estimate=bare["estimate"] * size) for size in range(1, 11)]
    monkeypatch.setattr(Release, "query", lambda *_, **__: pd.concat(many).assign(low=np.nan, high=np.nan))
    axes = releases["range-histograms"].plot()
    assert axes.get_ylim() == (-15, 600_000)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [str(size) for size in range(10, 2, -1)]
    assert axes.get_title(loc="left") == "the 8 largest of 10"
    assert axes.get_ylabel() == "count of a bin, logarithmic"
    assert [text.get_text() for text in axes.texts] == ["epsilon 1 for one order"]


def test_the_notebook_runs(releases: dict[str, Release], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(releases["consistent-histograms"].path.parents[1])
    space: dict[str, Any] = {}
    for cell in json.loads((ROOT / "notebooks" / "reading.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)  # noqa: S102 - the notebook is the code under test
    assert space["naive"] != pytest.approx(space["whole"]["std_error"][0], rel=0.05)
    assert space["axes"].lines
