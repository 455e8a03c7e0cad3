"""Counts of the page of range histograms: every histogram, at every level of its tree, with quantiles and means."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.jobs.range_histograms import charts
from dplib.jobs.range_histograms.charts import counts_section
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors
from dplib.jobs.range_histograms.publish import Summary
from dplib.jobs.range_histograms.quantiles import means_of, quantiles_of
from dplib.jobs.table import job_named
from dplib.page.blocks import Chooser, DataTable, Faint
from tests.support.every_job import new_place_of

SITES = [f"site {number}" for number in range(5)]


@pytest.fixture
def design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Design:
    monkeypatch.setattr(charts, "CHARTS", 0)
    histogram = {"edges": {"start": 0, "stop": 1000, "width": 5}, "groups": SITES}
    place = new_place_of("range-histograms", tmp_path, histogram=histogram)
    found: Any = job_named("range-histograms").prepare(place.config, (), "").design
    return found


def _summary(design: Design, sizes: list[float]) -> Summary:
    """Histograms of these sizes that fall off, with some noise."""
    n_bins = design.bins.n_bins
    noise = np.random.default_rng(2).normal(0, 1, (len(sizes), n_bins))
    estimate = np.array(sizes)[:, None] * np.exp(-np.arange(n_bins) / 20) + noise
    counts = np.maximum(np.rint(estimate), 0).astype(np.int64)
    shown = {group: (estimate[group], counts[group]) for group in range(len(sizes))}
    return Summary(estimate.sum(axis=1), counts.sum(axis=1), shown)


def test_every_histogram_stands_in_the_page_at_every_level(design: Design) -> None:
    summary = _summary(design, [10.0, 9000.0, 300.0, 0.0, 40.0])
    section = counts_section(design, summary)
    (choice,) = (block for block in section.blocks if isinstance(block, Chooser))
    data = json.loads(choice.data)
    order = np.argsort(-summary.totals)
    assert data["names"] == [SITES[group] for group in order]
    assert len(data["levels"]) == design.strategy.tree.n_levels - 1
    errors, tree = Errors(design), design.strategy.tree
    for number, level in enumerate(data["levels"]):
        own = tree.level_slice(tree.n_levels - 1 - number)
        lo, hi = tree.lo[own], tree.hi[own]
        assert level["labels"][0] == design.bins.shown(int(lo[0]), int(hi[0]))
        for row, group in enumerate(order.tolist()):
            estimate, counts = summary.shown[group]
            assert level["estimate"][row] == pytest.approx(np.add.reduceat(estimate, lo), abs=0.6)
            assert level["published"][row] == np.add.reduceat(counts, lo).tolist()
            half = np.broadcast_to(level["half"][level["halfOf"][row]], len(lo))
            assert half == pytest.approx(errors.half_widths(lo, hi, group), abs=0.6)


def test_very_many_bins_are_joined(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "MAX_BINS", 100)
    monkeypatch.setattr(charts, "MAX_POINTS", 30)
    section = counts_section(design, _summary(design, [10.0, 9000.0, 300.0, 0.0, 40.0]))
    (choice,) = (block for block in section.blocks if isinstance(block, Chooser))
    levels = json.loads(choice.data)["levels"]
    assert [len(level["labels"]) for level in levels] == [29, 14]
    assert levels[0]["name"] == "4 to 7 bins"


def test_quantiles_and_means_stand_with_their_intervals_or_back(design: Design) -> None:
    summary = _summary(design, [10.0, 9000.0, 300.0, 0.0, 40.0])
    tables = [block for block in counts_section(design, summary).blocks if isinstance(block, DataTable)]
    totals, shapes = tables
    assert [row[0] for row in totals.rows[:2]] == ["site 1", "site 2"]
    empty = totals.rows[-1]
    assert all(isinstance(cell, tuple) and isinstance(cell[0], Faint) for cell in empty)
    cells = [("site 1", *summary.shown[1])]
    wanted = (*quantiles_of(design, cells, (0.25, 0.5, 0.75)), *means_of(design, cells))
    for row, shape in zip(shapes.rows[:4], wanted, strict=True):
        assert row[0] == "site 1"
        numbers = [float(str(cell).replace(",", "")) for cell in row[2:]]
        assert numbers == pytest.approx([shape.estimate, shape.low, shape.high], abs=0.06)
    # Of nothing no quantile is known.
    assert all(isinstance(row[0], tuple) for row in shapes.rows[-4:])
