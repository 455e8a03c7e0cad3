"""Releases keep the noise they were made with; settings hash as before wherever the noise is the same."""

from fractions import Fraction
from math import pi
from pathlib import Path
from typing import Any

import pytest

from dplib.config.load import check
from dplib.graphs.statistics.ladder_rungs import second_degree_rungs
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.plan import triangle_errors
from dplib.mechanisms.ladder import ladder_mean_error
from dplib.mechanisms.smooth_noise import smooth_cauchy_quantile
from dplib.privacy.calibration import pure_epsilon_from_rho


def design_of(budget: dict[str, Any], statistics: list[str], **graph: Any) -> Design:
    settings = {
        "config_version": 1,
        "job": "network-statistics",
        "dataset": "test",
        "input": {"path": "none", "columns": {"source": "one", "target": "other"}},
        "privacy": {"unit": "friendship", "budget": budget},
        "graph": {"vertices": {"count": 50}, "statistics": dict.fromkeys(statistics, 1)} | graph,
    }
    return Design.resolve(check(NetworkStatisticsConfig, settings), Path())


def test_rho_pays_for_a_ladder_as_for_any_choice() -> None:
    """One ladder of rho 1/2: epsilon^2 / 8, so epsilon 2 and not 1."""
    measured = design_of({"rho": "0.5"}, ["triangles"]).measurements[0]
    assert measured.epsilon == 2
    assert measured.event.rho == Fraction(1, 2)
    assert measured.event.to_dict()["mechanism"] == "ladder"


def test_rho_pays_for_smooth_sensitivity_as_for_a_pure_mechanism() -> None:
    design = design_of({"rho": "0.5"}, ["triangles"], triangles={"mechanism": "smooth"})
    assert design.measurements[0].epsilon == 1
    assert "noise_format" not in design.formats


@pytest.mark.parametrize(
    ("budget", "statistics", "changed"),
    [
        ({"rho": "0.5"}, ["triangles"], True),
        ({"epsilon": 1}, ["triangles"], False),
        ({"rho": "0.5"}, ["edge_count", "degree_histogram"], False),
    ],
)
def test_the_format_is_a_setting_where_the_noise_is_another(
    budget: dict[str, Any], statistics: list[str], changed: bool
) -> None:
    assert design_of(budget, statistics).formats.get("noise_format") == (2 if changed else None)


def test_an_old_release_opens_with_the_noise_that_it_has() -> None:
    design = design_of({"rho": "0.5"}, ["edge_count", "triangles"])
    public = design.public()
    assert [each.noise for each in Design.from_public(public).measurements] == [
        each.noise for each in design.measurements
    ]
    del public["noise_format"]
    old = Design.from_public(public).find(Statistic.TRIANGLES)
    assert old is not None
    assert old.epsilon == pure_epsilon_from_rho(Fraction(1, 4))


@pytest.mark.parametrize("mechanism", ["ladder", "smooth"])
def test_the_plan_compares_mechanisms_at_what_one_share_buys_each(mechanism: str) -> None:
    """At rho 1/2 a ladder has epsilon 2, smooth sensitivity 1, noise of the worst graph a sigma of the cap."""
    design = design_of({"rho": "0.5"}, ["triangles"], triangles={"mechanism": mechanism})
    found = triangle_errors(design)[2]
    rungs = second_degree_rungs(16, 48)
    assert found.width == 16
    assert found.ladder == pytest.approx(ladder_mean_error(rungs, Fraction(2)))
    assert found.smooth == pytest.approx(smooth_cauchy_quantile(rungs, Fraction(1), 0.5))
    assert found.global_laplace == pytest.approx(48 * (2 / pi) ** 0.5)
