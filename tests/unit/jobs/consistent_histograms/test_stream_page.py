"""The page of a stream's version shows its numbers at every level, what may still change, and what has."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dplib
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.query import design_of
from dplib.jobs.consistent_histograms.stream_page import stream_content
from dplib.jobs.consistent_histograms.stream_parts import stream_errors, stream_state
from dplib.privacy.noise_quantile import DrawLaw, factor95
from tests.support.stream_shop import days, new_stream

KNOWN = [*range(4), *range(5, 17), 4]
"""Days in the order in which they are measured; the version before knows the first eleven."""


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two versions of a stream, one after the other."""
    shop = new_stream(tmp_path_factory.mktemp("stream"))
    return shop.versions(shop.drawn(*days(*KNOWN)), 11, len(KNOWN))


def test_a_page_shows_its_version_and_what_changed_since_the_one_before(versions: list[Path]) -> None:
    before, release = versions[0], dplib.open_release(versions[1])
    state = stream_state(design_of(release.manifest), days(*KNOWN))
    content = stream_content(state, release.path, before)
    table = release.to_pandas()
    for chart in content.charts:
        assert [points.level for points in chart.levels] == ["day", "week"]
        for points in chart.levels:
            own = table[(table["item"] == chart.name) & (table["level"] == points.level)].sort_values("first_day")
            assert [day.isoformat() for day in points.dates] == own["first_day"].dt.strftime("%Y-%m-%d").tolist()
            np.testing.assert_array_equal(points.estimate, own["estimate"])
            np.testing.assert_allclose(points.half_width, (own["high"] - own["low"]) / 2)
            np.testing.assert_array_equal(points.published, own["published"])
            assert points.marked is not None
            assert points.mark == "preliminary"
            assert points.marked.tolist() == (own["status"] == "preliminary").tolist()
    assert {points.marked.any() for points in content.charts[0].levels if points.marked is not None} == {True, False}
    both = pd.merge(table, dplib.open_release(before).to_pandas(), on=["item", "level", "first_day"])
    changed = both[(both["level"] == "day") & (both["estimate_x"] != both["estimate_y"])]["first_day"].dt.date
    said = f"the numbers of {changed.nunique()} days, {changed.min()} to {changed.max()}."
    assert content.state[-1] == f"Revised since the version before: {said}"
    assert not any("Revised" in each for each in stream_content(state, release.path).state)


def test_days_that_are_missing_are_not_counted(versions: list[Path]) -> None:
    release = dplib.open_release(versions[0])
    content = stream_content(stream_state(design_of(release.manifest), days(*KNOWN[:11])), release.path)
    assert content.n_days == 11
    assert content.state[-1].startswith("All numbers are preliminary")


def test_sums_whose_law_is_too_much_work_take_the_factor_of_any_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = stream_state(new_stream(tmp_path).prepared().design, days(*range(8)))
    errors, series = stream_errors(state), np.array([0])
    monkeypatch.setattr(Errors, "sum_draws", lambda *_: None)
    factor = factor95([DrawLaw("discrete_gaussian", 50.0)])
    assert errors.sum_half_width(0, 8, series) == pytest.approx(factor * errors.sum_std_error(0, 8, series))
