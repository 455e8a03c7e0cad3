"""What a page has no room for is drawn at coarser levels alone."""

from pathlib import Path

import numpy as np
import pytest

from dplib.jobs.consistent_histograms.content import page_content
from dplib.jobs.consistent_histograms.publish import results_on_driver
from dplib.jobs.consistent_histograms.query import design_of
from dplib.page import chooser
from tests.support.stored_releases import stored_release


def test_series_without_room_stand_at_coarser_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = stored_release("consistent-histograms", tmp_path)
    design = design_of(release.manifest)
    results = results_on_driver(design, release.path)
    whole = page_content(design, results).charts
    assert [[points.level for points in chart.levels] for chart in whole] == [["day", "7 days"]] * 4
    table = release.to_pandas()
    for room, levels in ((25, [["day", "7 days"]] + [["7 days"]] * 3), (6, [["7 days"]] * 3)):
        monkeypatch.setattr(chooser, "MAX_NUMBERS", room)
        charts = page_content(design, results).charts
        assert [[points.level for points in chart.levels] for chart in charts] == levels
        for chart in charts:
            own = table[(table["item"] == chart.name) & (table["level"] == "7 days")]
            np.testing.assert_allclose(chart.levels[-1].estimate, own["estimate"])
            np.testing.assert_allclose(chart.levels[-1].half_width, (own["high"] - own["low"]) / 2)
