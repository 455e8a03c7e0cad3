"""Bins under their public names, and the laws of queries that a configuration states."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.jobs.range_histograms.bins import Bins
from dplib.jobs.range_histograms.config import WorkloadSettings
from dplib.jobs.range_histograms.histogram_config import HistogramSettings
from dplib.jobs.range_histograms.workload import workload_of
from dplib.trees.coverage import ExplicitRanges, FixedLengthRanges, PrefixRanges, ProductRanges, UniformRanges


def bins_of(**settings: Any) -> Bins:
    return Bins.resolve(HistogramSettings.model_validate(settings), Path())


def test_even_edges_are_exact() -> None:
    found = bins_of(edges={"start": "0", "stop": "1", "width": "0.1"})
    assert found.edges.tolist() == [k / 10 for k in range(11)]
    assert found.range_of("0.3", "0.7") == (3, 7)
    assert found.shown(3, 7) == "[0.3, 0.7)"
    assert found.shown(3, 10) == "[0.3, 1]"


@pytest.mark.parametrize(("start", "end"), [("0.35", None), ("x", None), ("0.5", "0.5"), ("0.6", "0.5"), (None, "2")])
def test_ends_that_are_no_edges_are_refused(start: str | None, end: str | None) -> None:
    with pytest.raises(ConfigError, match=r"--from|--to"):
        bins_of(edges={"start": "0", "stop": "1", "width": "0.1"}).range_of(start, end)


def test_days_end_inside_their_bins() -> None:
    found = bins_of(days={"first": "2024-01-01", "last": "2024-01-10", "days_per_bin": 4})
    assert found.n_bins == 3
    first, last = found.ends(np.arange(3), np.arange(1, 4))
    assert [str(day) for day in first] == ["2024-01-01", "2024-01-05", "2024-01-09"]
    assert [str(day) for day in last] == ["2024-01-04", "2024-01-08", "2024-01-10"]
    assert found.range_of("2024-01-05", "2024-01-10") == (1, 3)
    assert found.range_of(None, "2024-01-04") == (0, 1)
    for start, end in (("2024-01-02", None), (None, "2024-01-05"), ("2023-12-31", None), ("soon", None)):
        with pytest.raises(ConfigError):
            found.range_of(start, end)


def test_categories_end_inside_their_ranges() -> None:
    found = bins_of(categories=["mild", "moderate", "severe"])
    assert found.range_of("moderate", "severe") == (1, 3)
    assert found.shown(0, 1) == "mild"
    assert found.shown(1, 3) == "moderate to severe"


@pytest.mark.parametrize(
    ("setting", "law"),
    [
        ("uniform", UniformRanges),
        ("prefix", PrefixRanges),
        (WorkloadSettings(length=2), FixedLengthRanges),
        (WorkloadSettings(ranges=[(0, 2), (1, 4)]), ExplicitRanges),
        (WorkloadSettings(starts=[1, 0, 0, 0], ends=[1, 1, 1, 1]), ProductRanges),
    ],
)
def test_every_law_has_a_setting(setting: Any, law: type) -> None:
    assert isinstance(workload_of(setting, 4), law)
