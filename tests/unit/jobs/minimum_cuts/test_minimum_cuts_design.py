"""Designs of minimum-cuts: how a budget is split among releases, what each costs, what is refused and why."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dplib.errors import ConfigError
from dplib.graphs.edges import MAX_TOTAL_WEIGHT, canonical
from dplib.jobs.minimum_cuts.design import Design
from dplib.jobs.minimum_cuts.measurement_plan import Peeling
from dplib.jobs.minimum_cuts.padded_graph import PaddedGraph
from dplib.jobs.minimum_cuts.plan import make_plan
from dplib.jobs.minimum_cuts.publish import assumption, invariants
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.mechanisms.cuts.rejected_releases import REJECTED_RELEASES
from dplib.privacy.accountant import totals
from dplib.privacy.budget import Currency
from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.events import ApproxEvent
from dplib.privacy.noise import Law
from dplib.workflow.design import cost_of, natural_terms
from dplib.workflow.settings import measurement_settings
from tests.support.minimum_cuts import config_of, design_of

ALL_PURE: dict[str, Any] = {
    "minimum_cut_value": {"share": 1},
    "synthetic_graph": {"share": 2},
    "top_cuts": {"share": 3, "k": 4, "values_share": "0.25"},
    "minimum_cut_count": {"share": 1},
    "soft_cut_count": {"share": 1, "eta": "0.5"},
}
SAMPLED: dict[str, Any] = {"share": 2, "k": 3, "when_small": "pad"}
APPROX = {"epsilon": 2, "delta": "0.000001"}


def sampler_of(design: Design) -> SamplerPlan:
    assert design.sampler is not None
    return design.sampler


@pytest.mark.parametrize("method", ["peeling", "oneshot"])
def test_a_pure_budget_is_spent_whole(method: str) -> None:
    releases = ALL_PURE | {"top_cuts": ALL_PURE["top_cuts"] | {"method": method}}
    design = design_of(releases, {"epsilon": "3/2"})
    assert cost_of(design, Currency.PURE) == Fraction(3, 2)
    assert sum(each.share for each in design.measurements) == 1
    by_release = {
        each.release: sum(
            (event.epsilon or 0 for event in each.events if not isinstance(event, ApproxEvent)), Fraction()
        )
        for each in design.measurements
    }
    assert by_release["top_cuts"] == 3 * by_release["soft_cut_count"] == Fraction(3, 2) * Fraction(3, 8)
    assert natural_terms(design).currency is Currency.PURE


def test_a_concentrated_budget_is_kept_and_draws_cost_a_quarter() -> None:
    design = design_of(ALL_PURE, {"rho": "1/10"})
    assert 0 <= Fraction(1, 10) - cost_of(design, Currency.ZCDP) < Fraction(1, 10**12)
    (choice,) = (each.choice for each in design.measurements if each.choice is not None)
    assert isinstance(choice, Peeling)
    draws = Fraction(1, 10) * Fraction(3, 8) * Fraction(3, 4)
    assert float(4 * choice.draw_epsilon**2 / 8) == pytest.approx(float(draws), rel=1e-12)
    assert design.noises["minimum_cut_value"].law is Law.GAUSSIAN


def test_delta_without_a_release_that_needs_it_buys_gaussian_noise() -> None:
    design = design_of(ALL_PURE, APPROX)
    rho = cost_of(design, Currency.ZCDP)
    assert epsilon_from_rho(rho, Fraction(1, 10**6)) <= 2
    assert float(epsilon_from_rho(rho, Fraction(1, 10**6))) == pytest.approx(2, rel=1e-9)


@pytest.mark.parametrize("method", ["auto", "karger-stein"])
@pytest.mark.parametrize("when", ["refuse", "pad"])
def test_sampled_cuts_keep_epsilon_and_delta_together(when: str, method: str) -> None:
    releases = {"minimum_cut_value": {"share": 1}, "sampled_cuts": SAMPLED | {"when_small": when}}
    design = design_of(releases, APPROX, n=40, method=method)
    (basic,) = totals(design.events, Fraction(1, 10**6))
    assert basic.epsilon <= 2
    assert basic.epsilon == pytest.approx(2, rel=1e-9)
    assert 0 < basic.delta <= 1.0000001e-6
    assert natural_terms(design).currency is Currency.APPROX
    if method == "karger-stein":
        # What the enumeration may miss is in the delta, beside what the sampler itself leaves out.
        event = design.measurements[-1].events[0]
        assert isinstance(event, ApproxEvent)
        assert sampler_of(design).guarantee.delta < event.delta <= Fraction(1, 10**6)


def test_oneshot_stays_inside_its_theorem() -> None:
    top = {"top_cuts": {"k": 2, "method": "oneshot"}}
    design = design_of(top, {"epsilon": "1/5", "delta": "0.000001"})
    (draw, values) = design.events
    assert isinstance(draw, ApproxEvent)
    assert (draw.epsilon_at_delta, draw.delta) == (Fraction(1, 10), Fraction(1, 10**6))
    assert not isinstance(values, ApproxEvent)
    assert values.epsilon == Fraction(1, 10)
    with pytest.raises(ConfigError, match=r"^cuts.releases.top_cuts.method must be peeling where .*at most 0.2"):
        design_of(top, {"epsilon": 1, "delta": "0.000001"})


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "1/10"}])
def test_all_noise_grows_with_the_weight_cap(budget: dict[str, Any]) -> None:
    one, three = (design_of(ALL_PURE, budget, weight_cap=cap) for cap in (1, 3))
    factor = 9 if "rho" in budget else 3
    for name, small in one.noises.items():
        ratio = three.noises[name].parameter / small.parameter
        if name == "minimum_cut_count":
            assert ratio == 1, "the number of minimum cuts changes as much for any weight"
        elif name == "soft_cut_count":
            assert ratio == pytest.approx(factor, rel=0.02), "rounded up to the grid, and one step"
        else:
            assert ratio == factor
    sampled = {"sampled_cuts": SAMPLED}
    plans = [sampler_of(design_of(sampled, APPROX, n=40, weight_cap=cap)) for cap in (1, 3)]
    assert plans[0].rate == 3 * plans[1].rate
    assert plans[1].lowest == pytest.approx(3 * plans[0].lowest, abs=3)


def test_the_whole_padding_leaves_the_kernels_room() -> None:
    """The public cycle is padded whole before anything is drawn: settings decide that it fits, not the graph."""
    releases, budget = {"sampled_cuts": SAMPLED | {"values_share": 0}}, {"epsilon": "0.0125", "delta": "0.000001"}
    plan = sampler_of(design_of(releases, budget, n=10_000, weight_cap=10**9))
    n = 10_000
    padded = PaddedGraph(canonical(n, [0], [1], [MAX_TOTAL_WEIGHT // 2])).padded(n * plan.target // 2)
    assert padded.total_weight < MAX_TOTAL_WEIGHT
    with pytest.raises(ConfigError, match=r"^privacy\.budget must leave sampled_cuts a padding"):
        design_of(releases, budget, n=100_000, weight_cap=10**9)


@pytest.mark.parametrize("name", REJECTED_RELEASES)
def test_what_is_not_private_is_refused_by_name_with_the_reason(name: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        design_of({"minimum_cut_value": {}, name: {"share": 1}})
    assert str(refusal.value) == f"cuts.releases.{name} must be private, got {name}: {REJECTED_RELEASES[name]}"


@pytest.mark.parametrize("when", ["refuse", "pad"])
def test_sampled_cuts_have_a_plan_for_any_number_of_vertices(when: str) -> None:
    """What they need of the minimum cut grows with the logarithm alone."""
    lowest = []
    for n in (1_414, 1_415, 100_000, 10_000_000):
        plan = sampler_of(design_of({"sampled_cuts": SAMPLED | {"when_small": when}}, APPROX, n=n))
        assert plan.guarantee.epsilon <= Fraction(str(APPROX["epsilon"]))
        lowest.append(plan.lowest)
    assert lowest[0] <= lowest[1] <= lowest[0] + 1
    assert lowest[1] < lowest[2] < lowest[3] < 2 * lowest[1]


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("cuts.releases", {"releases": {}}),
    ("cuts.releases.beauty", {"releases": {"beauty": {}}}),
    ("cuts.releases.top_cuts", {"releases": {"top_cuts": {"k": 1}}, "n": 25}),
    ("cuts.releases.top_cuts", {"releases": {"top_cuts": {"k": 1}}, "n": 2}),
    ("cuts.releases.top_cuts.k", {"releases": {"top_cuts": {"k": 7}}, "n": 4}),
    ("cuts.releases.soft_cut_count", {"releases": {"soft_cut_count": {}}, "n": 25}),
    ("cuts.releases.minimum_cut_count", {"releases": {"minimum_cut_count": {}}, "n": 2}),
    ("cuts.releases.synthetic_graph", {"releases": {"synthetic_graph": {}}, "n": 5_000}),
    ("cuts.releases.sampled_cuts", {"releases": {"sampled_cuts": SAMPLED}, "budget": APPROX, "n": 2}),
    ("graph.vertices", {"releases": {"minimum_cut_value": {}}, "n": 1}),
    ("graph.vertices", {"releases": {"minimum_cut_value": {}}, "n": 0}),
    ("privacy.budget", {"releases": {"sampled_cuts": SAMPLED}}),
    ("privacy.budget", {"releases": {"sampled_cuts": SAMPLED}, "budget": {"rho": 1}}),
    ("privacy.budget", {"releases": {"minimum_cut_value": {}}, "budget": {"epsilon": 100}}),
    ("cuts.method", {"releases": {"sampled_cuts": SAMPLED}, "budget": APPROX, "n": 400, "method": "karger"}),
    (
        "cuts.failure",
        {"releases": {"sampled_cuts": SAMPLED}, "budget": APPROX, "method": "karger", "failure": "0.0000001"},
    ),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_a_wrong_setting_is_named(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"^{name} must .*, got "):
        design_of(**wrong)


def test_a_release_tells_its_design() -> None:
    releases = ALL_PURE | {"sampled_cuts": SAMPLED}
    design = design_of(releases, APPROX, n=20)
    again = Design.from_public(design.public())
    assert again.measurements == design.measurements
    assert again.vertices == design.vertices


WEIGHTED = {"weight": "w"}


@pytest.mark.parametrize(
    ("weights", "columns", "row_cap", "pair_cap", "kept"),
    [
        ({}, {}, 3, None, True),
        ({"largest": 3}, WEIGHTED, 3, None, True),
        ({}, WEIGHTED, 3, None, False),
        ({"capped": "promised"}, WEIGHTED, 10**9, None, True),
        ({"capped": "pair"}, WEIGHTED, 10**9, 3, False),
        ({"capped": "pair"}, {}, 10**9, 3, False),
        ({"capped": "pair", "repeats": "once"}, {}, 10**9, 3, True),
    ],
)
def test_what_is_read_is_cut_to_the_cap_unless_it_is_promised(
    weights: dict[str, Any], columns: dict[str, str], row_cap: int, pair_cap: int | None, kept: bool
) -> None:
    """Settings under which nothing is cut hash as they did before there was a cap, so their releases stay found."""
    config = config_of({"minimum_cut_value": {}}, weight_cap=3, weights=weights, columns=columns)
    design = Design.resolve(config, Path())
    assert (design.config.row_cap, design.config.pair_cap) == (row_cap, pair_cap)
    assert ("capped" not in measurement_settings(config, design)["graph"]["weights"]) == kept
    promised = weights.get("capped") == "promised"
    assert any("promised" in fact for fact in invariants(design)) == promised
    assert any(assumption(design) == note for note in make_plan(design, "hash").frame.notes)
    assert assumption(Design.from_public(design.public())) == assumption(design)


def test_a_release_from_before_the_cap_was_a_promise() -> None:
    public = design_of({"minimum_cut_value": {}}, columns=WEIGHTED).public()
    del public["graph"]["weights"]["capped"]
    assert "promised" in assumption(Design.from_public(public))
