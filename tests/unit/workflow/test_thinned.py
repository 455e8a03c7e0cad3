"""A thinned design: few names, bins, days, vertices; what settings choose, and every noise, are those of the whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dplib.jobs.consistent_histograms.estimate import layout_of
from dplib.jobs.table import job_named
from dplib.page.drawing import draw
from dplib.page.few_pictures import few_of_a_kind
from dplib.workflow.dry_publication import thinned
from tests.support.every_job import new_place_of

MANY = [f"item {number}" for number in range(400)]
CONSISTENT: dict[str, Any] = {
    "domain__items": ["bread", "milk", "tea", *MANY],
    "domain__first_day": "2000-01-01",
    "domain__last_day": "2019-12-31",
    "tree": {"levels": "calendar"},
    "publish__solver": {"layout": "blocks", "max_rounds": 10_000},
}
RANGES = {
    "histogram__groups": [f"site {number}" for number in range(50)],
    "histogram__edges": {"start": -7, "stop": 99_993, "width": 100},
}
Design = Any


def few(job: str, folder: Path, **changes: Any) -> tuple[Design, Design]:
    """The whole design and the thinned one."""
    place = new_place_of(job, folder, **changes)
    prepared = job_named(job).prepare(place.config)
    return prepared.design, thinned(prepared).design


def consistent(whole: Design, thin: Design) -> None:
    assert len(thin.items) < 12 < len(whole.items)
    assert thin.days.names == whole.days.names
    assert thin.measurements == whole.measurements
    assert (thin.constraints.row_l1, thin.tree.n_leaves) == (whole.constraints.row_l1, 4096)
    assert layout_of(thin) == layout_of(whole) == "blocks"
    assert any(daily.n_constraints for daily in thin.constraints.day_constraints)


def ranges(whole: Design, thin: Design) -> None:
    assert (len(thin.series), thin.bins.n_bins) == (2, 63)  # strides of 16 bins
    assert (thin.bins.edges[0], thin.bins.edges[-1]) == (whole.bins.edges[0], whole.bins.edges[-1])
    assert (thin.config.tree.resolved_method, thin.noise) == (whole.config.tree.resolved_method, whole.noise)


def points(whole: Design, thin: Design) -> None:
    assert (thin.config.clustering.n_clusters, thin.method, thin.budget) == (32, whole.method, whole.budget)
    assert thin.frame == whole.frame


def network(whole: Design, thin: Design) -> None:
    assert (thin.n_vertices, whole.n_vertices) == (64, 10**7)
    assert [each.event for each in thin.measurements] == [each.event for each in whole.measurements]
    assert list(thin.declared.splits) == ["one", "two"]
    assert all(len(groups) == 64 for groups in thin.declared.splits.values())


def cuts(whole: Design, thin: Design) -> None:
    assert (thin.n_vertices, whole.n_vertices) == (26, 2000)
    assert [each.events for each in thin.measurements] == [each.events for each in whole.measurements]


@pytest.mark.parametrize(
    ("job", "changes", "check"),
    [
        ("consistent-histograms", CONSISTENT, consistent),
        ("range-histograms", RANGES, ranges),
        ("kmeans", {"clustering__n_clusters": 4000, "clustering__method": "local_search"}, points),
        (
            "network-statistics",
            {
                "graph__vertices": {"count": 10**7},
                "graph__last_bin": 100_000,
                "graph__statistics": {"degree_histogram": 1, "k_stars": 1, "split": 1},
                "graph__split": {
                    "candidates": {
                        name: {"left": [n], "right": [n + 10**6]} for n, name in enumerate(["one", "two", "z"])
                    }
                },
            },
            network,
        ),
        ("minimum-cuts", {"graph__vertices": {"count": 2000}}, cuts),
    ],
)
def test_what_settings_choose_stays(
    job: str, changes: dict[str, Any], check: Callable[[Design, Design], None], tmp_path: Path
) -> None:
    check(*few(job, tmp_path, **changes))


@pytest.mark.parametrize(
    ("branching", "leaves"), [([2] * 13, 8192), (16, 8192), ([30, 12, 2, 7, 2], 8192)], ids=["deep", "wide", "uneven"]
)
def test_a_tree_that_fewer_days_would_cut_keeps_its_days(branching: Any, leaves: int, tmp_path: Path) -> None:
    days = {
        "domain__first_day": "2000-01-01",
        "domain__last_day": "2022-06-05",
        "domain__items": ["bread", "milk", *MANY],
    }
    whole, thin = few("consistent-histograms", tmp_path, **days, constraints=[], tree={"branching": branching})
    assert whole.tree.n_leaves == leaves
    assert thin.days.names == whole.days.names
    assert len(thin.items) < 12


def test_a_design_without_more_is_tried_whole(tmp_path: Path) -> None:
    for job in ("range-histograms", "kmeans", "minimum-cuts", "network-statistics", "key-selection"):
        whole, thin = few(job, tmp_path / job)
        assert thin is whole


def test_equations_hold_of_the_few_too(tmp_path: Path) -> None:
    """An equation is kept whole: on some of its items it would be another one."""
    items = [f"i{number}" for number in range(300)]
    equation = {"equations": {"sum": {"coefficients": dict.fromkeys(items[50:90], 1), "value": 100}}}
    settings = {
        "domain__items": items,
        "constraints": [equation],
        "privacy": {"unit": "event", "neighbors": "replace_one", "budget": {"epsilon": 1}},
        "input__columns": {"day": "date", "item": "product"},
    }
    place = new_place_of("consistent-histograms", tmp_path, **settings)
    prepared = job_named("consistent-histograms").prepare(place.config)
    thin = thinned(prepared).design
    assert thin.constraints.has_invariants
    assert set(items[50:90]) <= set(thin.items)
    assert len(thin.items) < 60


def test_few_pictures_of_a_kind_are_drawn_where_nobody_looks() -> None:
    drawn: list[int] = []

    def pictures() -> list[str]:
        return [draw(lambda _, number=number: drawn.append(number), 100, 100) for number in range(4)]

    with few_of_a_kind():
        pictures()
    assert drawn == [0, 1]
    assert all("viewBox" in picture for picture in pictures())
    assert drawn == [0, 1, 0, 1, 2, 3]
