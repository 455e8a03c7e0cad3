"""What settings alone decide: where a graph is counted, what noise a budget buys, whether scores fit 64 bits."""

from fractions import Fraction
from math import pi
from typing import Any

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.candidate_scores import split_scores
from dplib.graphs.statistics.ladder_rungs import second_degree_rungs
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.distributed import MAX_BLOCKS, MIN_BLOCKS, TASK_EDGES, block_count, layout_of
from dplib.jobs.network_statistics.measure import DIGEST_BLOCKS
from dplib.jobs.network_statistics.measurements import LADDER, NOISE_FORMAT
from dplib.jobs.network_statistics.noisy_graph_plan import compared_models
from dplib.jobs.network_statistics.parts import MAX_SCORE
from dplib.jobs.network_statistics.plan import make_plan, star_errors, triangle_errors
from dplib.mechanisms.ladder import ladder_mean_error
from dplib.mechanisms.smooth_noise import smooth_cauchy_quantile
from dplib.privacy.calibration import pure_epsilon_from_rho
from tests.support.network_statistics import design_of

HALF = {"rho": "0.5"}

# --- where it is counted ---


def counted(n: int, **counting: Any) -> Design:
    return design_of(["edge_count"], n=n, counting=counting)


@pytest.mark.parametrize(
    ("n", "counting", "layout"),
    [
        (1_000, {}, "driver"),
        (1_000, {"layout": "spark"}, "spark"),
        (1_000_000, {}, "driver"),
        (2_000_000, {}, "spark"),
        (2_000_000, {"layout": "driver"}, "driver"),
        (2_000_000, {"expected_edges": 1_000_000}, "driver"),
        (100_000, {"expected_edges": 50_000_000}, "spark"),
        (5_000, {"expected_edges": 50_000_000}, "driver"),
    ],
)
def test_layout_follows_from_public_settings(n: int, counting: dict[str, Any], layout: str) -> None:
    assert layout_of(counted(n, **counting)) == layout


@pytest.mark.parametrize("edges", [1, 10**6, 10**7, 10**8, 10**10])
def test_blocks_grow_until_tasks_are_small(edges: int) -> None:
    n_blocks = block_count(counted(1 << 20, expected_edges=edges))
    assert DIGEST_BLOCKS % n_blocks == 0
    assert MIN_BLOCKS <= n_blocks <= MAX_BLOCKS
    assert n_blocks == MAX_BLOCKS or 6 * edges <= TASK_EDGES * n_blocks**2
    assert n_blocks == MIN_BLOCKS or 6 * edges > TASK_EDGES * (n_blocks // 2) ** 2


def test_counting_spends_nothing() -> None:
    one, other = counted(50), counted(50, layout="spark", expected_edges=9)
    assert one.config.measured() == other.config.measured()
    assert one.publish_settings == other.publish_settings


# --- noise ---


def test_rho_pays_for_a_ladder_as_for_any_choice_and_for_smooth_sensitivity_as_for_a_pure_mechanism() -> None:
    """One ladder of rho 1/2: epsilon^2 / 8, so epsilon 2 and not 1."""
    (measured,) = design_of(["triangles"], HALF).measurements
    assert (measured.epsilon, measured.event.rho, measured.mechanism) == (2, Fraction(1, 2), LADDER)
    design = design_of(["triangles"], HALF, triangles={"mechanism": "smooth"})
    assert design.measurements[0].epsilon == 1
    assert "noise_format" not in design.formats


@pytest.mark.parametrize(
    ("budget", "statistics", "changed"),
    [
        (HALF, ["triangles"], True),
        ({"epsilon": 1}, ["triangles"], False),
        (HALF, ["edge_count", "degree_histogram"], False),
    ],
)
def test_the_format_is_a_setting_where_the_noise_is_another(
    budget: dict[str, Any], statistics: list[str], changed: bool
) -> None:
    """Settings hash as before wherever the noise is the same."""
    assert design_of(statistics, budget).formats.get("noise_format") == (2 if changed else None)


@pytest.mark.parametrize("mechanism", ["ladder", "smooth"])
def test_the_plan_compares_mechanisms_at_what_one_share_buys_each(mechanism: str) -> None:
    """At rho 1/2 a ladder has epsilon 2, smooth sensitivity 1, noise of the worst graph a sigma of the cap."""
    found = triangle_errors(design_of(["triangles"], HALF, n=50, triangles={"mechanism": mechanism}))[2]
    rungs = second_degree_rungs(16, 48)
    assert found.width == 16
    assert found.ladder == pytest.approx(ladder_mean_error(rungs, Fraction(2)))
    assert found.smooth == pytest.approx(smooth_cauchy_quantile(rungs, Fraction(1), 0.5))
    assert found.global_laplace == pytest.approx(48 * (2 / pi) ** 0.5)


def stars_of(n: int, budget: dict[str, Any], neighbors: str = "edge", **graph: Any) -> Design:
    return design_of(["k_stars"], budget, n=n, privacy={"neighbors": neighbors}, **graph)


PROMISED = {"bounding": "promised", "largest": 20}


@pytest.mark.parametrize(
    ("design", "mechanism"),
    [
        (stars_of(1000, {"epsilon": 1}), LADDER),
        (stars_of(1000, HALF), LADDER),
        (stars_of(1000, {"epsilon": 1}, stars=3), LADDER),
        (stars_of(10, {"epsilon": 1}), "discrete_laplace"),
        (stars_of(1000, {"epsilon": "0.005"}), "discrete_laplace"),
        (stars_of(1000, {"epsilon": 1}, degree_bound=PROMISED), "discrete_laplace"),
        (stars_of(1000, {"epsilon": 1}, degree_bound=PROMISED, star_mechanism="ladder"), LADDER),
        (stars_of(1000, {"epsilon": 1}, star_mechanism="global"), "discrete_laplace"),
        (stars_of(1000, {"epsilon": 100}, "vertex"), "discrete_laplace"),
        (stars_of(1000, {"epsilon": 1}, degree_bound={"bounding": "projected", "largest": 20}), "discrete_laplace"),
    ],
)
def test_settings_decide_where_stars_have_a_ladder(design: Design, mechanism: str) -> None:
    (measured,) = design.measurements
    assert measured.mechanism == mechanism
    assert design.formats.get("noise_format") == (NOISE_FORMAT if mechanism == LADDER else None)
    assert Design.from_public(design.public()).measurements[0].law == measured.law


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.1"}])
def test_the_rule_lowers_the_error_of_a_graph_of_moderate_degrees(budget: dict[str, Any]) -> None:
    errors = star_errors(stars_of(10_000, budget))
    usual = next(each for each in errors if each.width == 64)
    assert usual.ladder < usual.worst_graph / 5
    # At the largest possible degrees it costs about twice the noise of the worst graph.
    assert errors[-1].width == 9998
    assert errors[-1].ladder <= 2.1 * errors[-1].worst_graph


def test_old_releases_open_with_the_noise_that_they_have() -> None:
    design = design_of(["k_stars", "triangles"], HALF, n=1000)
    public = design.public()
    formats = {number: Design.from_public(public | {"noise_format": number}) for number in (1, 2, 3)}
    assert [each.law for each in formats[3].measurements] == [each.law for each in design.measurements]
    # 2: wider rungs of stars, whose error is not promised.
    assert [each.mechanism for each in formats[2].measurements] == [LADDER, LADDER]
    assert not star_errors(formats[2])
    assert star_errors(formats[3])
    # 1: noise of the worst graph for stars; rho paid for a ladder as for any pure mechanism.
    stars, triangles = Design.from_public(
        {name: public[name] for name in public if name != "noise_format"}
    ).measurements
    assert (stars.mechanism, stars.sensitivity.l1) == ("discrete_gaussian", 2 * 998)
    assert triangles.statistic is Statistic.TRIANGLES
    assert triangles.epsilon == pure_epsilon_from_rho(Fraction(1, 4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"neighbors": "vertex"}, "graph.star_mechanism must be auto or global between vertices, got ladder"),
        ({"degree_bound": {"bounding": "projected", "largest": 20}}, "auto or global after a projection, got ladder"),
        ({"stars": 20}, "auto or global where one edge can change more than 2\\^53 stars, got ladder"),
    ],
)
def test_ladders_that_do_not_hold_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        stars_of(1000, {"epsilon": 1}, star_mechanism="ladder", **changes)


# --- plans ---


@pytest.mark.parametrize(("epsilon", "n"), [("1/1000000", 1 << 28), ("30", 2), ("500", 3), ("600", 3)])
def test_extreme_settings_have_a_plan(epsilon: str, n: int) -> None:
    statistic = "adjacency" if Fraction(epsilon) > 31 else "edge_count"
    made = make_plan(design_of([statistic], {"epsilon": epsilon}, n=n), "")
    assert all(np.isfinite([each.central, each.local]).all() for each in made.models)
    assert all(np.isfinite(each.std_error) for each in made.graphs)


def test_central_and_local_errors_stand_side_by_side() -> None:
    found = {(each.number, each.how): each for each in compared_models(design_of(["edge_count"], n=36_692))}
    degrees = found["edge count", "noisy degrees, one end"]
    # The note's numbers for Email-Enron at epsilon 1: near sqrt(2 n), and 24.8 thousand edges from bits.
    assert degrees.local == pytest.approx((2 * 36_692) ** 0.5, rel=0.05)
    assert found["edge count", "randomized bits"].local == pytest.approx(24_870, rel=0.01)
    assert all(each.central <= each.local for each in found.values())


# --- scores ---

N = 60
MOST = MAX_SCORE // (N * (N - 1) // 2)
CANDIDATES = {"halves": {"one": list(range(30)), "other": list(range(30, N))}, "all": {"all": list(range(N))}}


def split_of(resolution: str) -> Design:
    return design_of(["split"], n=N, split={"candidates": CANDIDATES, "resolution": resolution})


@pytest.mark.parametrize("resolution", [f"1/{MOST}", str(MOST), f"{MOST - 1}/{MOST}", "0"])
def test_scores_of_any_graph_fit_up_to_the_bound(resolution: str) -> None:
    assert split_of(resolution).measurements
    source, target = np.triu_indices(N, 1)
    groups = [np.zeros(N, dtype=np.int64), np.arange(N) // 30]
    for edges in (slice(0, 0), slice(None)):
        scores = split_scores(SimpleGraph(N, source[edges], target[edges]), groups, Fraction(resolution))
        exact = [
            Fraction(resolution).denominator * int((each[source[edges]] == each[target[edges]]).sum())
            - Fraction(resolution).numerator * int(sum(size * (size - 1) // 2 for size in np.bincount(each).tolist()))
            for each in groups
        ]
        assert scores.tolist() == exact


RULE = f"graph.split.resolution must be a fraction of whole numbers up to {MOST}, .*got"


@pytest.mark.parametrize(
    ("resolution", "message"),
    [
        ("-1/2", "graph.split.resolution must be at least 0, got -1/2"),
        (f"1/{MOST + 1}", f"{RULE} 1/{MOST + 1}"),
        ("1e40", RULE),
        ("1e-400", "got a longer one"),
    ],
)
def test_other_resolutions_are_refused_before_a_run(resolution: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        split_of(resolution)
