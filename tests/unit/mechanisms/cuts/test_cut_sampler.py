"""The cut sampler: plans within their budget, refusal, padding, order of enumeration, weak graphs."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.mechanisms.cuts.cut_draws import sorted_cuts
from dplib.mechanisms.cuts.cut_sampler import cycle_edges, cycle_weight, draw_padding, sample_cuts
from dplib.mechanisms.cuts.cut_sampler_plan import ENUMERABLE, plan_cut_sampler
from dplib.mechanisms.exponential import exponential_probability, exponential_rate
from dplib.privacy.budget import ApproxDP
from dplib.randomness.keyed import KeyedStream, derive_key
from tests.support.cut_mechanism_laws import all_cuts, all_sides
from tests.support.cut_padded_graph import DensePaddedGraph

KEY = bytes(range(32))
BUDGET = ApproxDP(Fraction(4), Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("n", "k", "delta", "lowest"), [(20, 1, "1e-6", 91), (100, 1, "1e-6", 109), (1000, 1, "1e-9", 159)]
)
def test_smallest_minimum_cut_for_one_draw_is_that_of_the_design(n: int, k: int, delta: str, lowest: int) -> None:
    """Values of the design notes for shares .1, .3, .6 at epsilon 1, rounded to the nearest there, up here."""
    plan = plan_cut_sampler(n, k, ApproxDP(Fraction(1), Fraction(delta)), when_small="pad")
    assert lowest <= plan.lowest <= lowest + 1


@pytest.mark.parametrize(("k", "lowest"), [(20, 1487), (200, 5030)])
def test_many_draws_need_less_than_the_notes_by_the_tighter_conversion(k: int, lowest: int) -> None:
    plan = plan_cut_sampler(100, k, ApproxDP(Fraction(1), Fraction(1, 10**6)), when_small="pad")
    assert 0.75 * lowest < plan.lowest < lowest


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 200_000),
    k=st.integers(1, 300),
    epsilon=st.fractions(Fraction(1, 20), 8, max_denominator=40),
    exponent=st.integers(3, 12),
    cap=st.integers(1, 50),
    pad=st.booleans(),
    values=st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(9, 10)]),
)
def test_plans_keep_the_budget_and_their_own_conditions(
    n: int, k: int, epsilon: Fraction, exponent: int, cap: int, pad: bool, values: Fraction
) -> None:
    budget = ApproxDP(epsilon, Fraction(1, 10**exponent))
    plan = plan_cut_sampler(n, k, budget, cap, "pad" if pad else "refuse", values)
    assert plan.guarantee.epsilon <= epsilon
    assert plan.guarantee.delta <= budget.delta
    assert (plan.values_budget is None) == (values == 0)
    assert plan.bound(plan.lowest) <= ENUMERABLE * plan.lowest
    below = plan.exact_bound(plan.lowest - 1)
    assert below is None or below > ENUMERABLE * (plan.lowest - 1)
    # The bound by its definition, in floating point, and what it leaves out.
    for value in (plan.lowest, 3 * plan.lowest):
        rate = float(plan.draw_epsilon) / cap
        room = 1 - 2 * np.log(n) / (rate * value)
        bound = plan.exact_bound(value)
        assert bound is not None
        left_out = k * np.exp(-rate * room * float(bound) + rate * value) / room
        assert left_out == pytest.approx(float(plan.bound_failure), rel=1e-6)
    # A weak graph passes the gate at most with its probability.
    steps = plan.gate - (plan.lowest - 1)
    assert np.exp(-float(plan.value_epsilon) / cap * steps) <= float(plan.gate_failure)
    if pad:
        reach = plan.target - plan.lowest
        paddings = n * plan.target // 2 + 1
        missed = paddings * np.exp(-float(plan.padding_epsilon) / (2 * cap) * reach)
        assert plan.target % 2 == 0
        assert missed <= float(plan.padding_failure) * (1 + 1e-9)
    else:
        assert plan.padding_epsilon == plan.padding_failure == plan.target == 0


def test_truncation_leaves_out_less_than_planned() -> None:
    """Exact tails of random graphs against eta_B: all cuts above the bound."""
    rng = np.random.default_rng(5)
    plan = plan_cut_sampler(6, 4, ApproxDP(Fraction(8), Fraction(1, 100)))
    worst = 0.0
    for weights in rng.integers(2, 12, (300, 15)):
        cuts = all_cuts(6, weights).astype(np.float64)
        if cuts.min() >= plan.lowest:
            law = np.exp(-float(plan.rate) * (cuts - cuts.min()))
            worst = max(worst, 4 * law[cuts > plan.bound(int(cuts.min()))].sum() / law.sum())
    assert 0 < worst <= float(plan.bound_failure)


STRONG = 25 + np.array([0, 3, 1, 0, 2, 1, 0, 1, 2, 0])


def test_the_order_of_enumerated_cuts_does_not_matter() -> None:
    plan = plan_cut_sampler(5, 6, BUDGET, values_share=Fraction(1, 2))
    releases = []
    for order in (None, np.arange(15)[::-1], np.random.default_rng(0).permutation(15)):
        graph = DensePaddedGraph(5, 40 * STRONG, order)
        releases.append(sample_cuts(graph, plan, KEY, "cuts"))
        assert graph.bounds == [plan.bound(graph.minimum_cut(0))]
    for release in releases:
        assert not release.refused
        assert release.padding == 0
        assert np.array_equal(release.sides, releases[0].sides)
        assert not release.sides[:, 0].any()
        assert release.noisy_weights is not None
        assert np.array_equal(release.noisy_weights, releases[0].noisy_weights)
    assert len(np.unique(releases[0].sides, axis=0)) == len(releases[0].sides) <= 6


def test_a_weak_graph_is_refused_and_never_enumerated() -> None:
    plan = plan_cut_sampler(4, 3, BUDGET, values_share=Fraction(1, 2))
    graph = DensePaddedGraph(4, np.zeros(6, dtype=np.int64))
    release = sample_cuts(graph, plan, KEY, "cuts")
    assert release.refused
    assert release.sides.shape == (0, 4)
    assert release.noisy_weights is None
    assert not graph.bounds


def test_a_weak_graph_is_padded_and_the_padding_subtracted() -> None:
    """The graph without edges: the cut's weight comes back near 0 though the padded one is far above."""
    plan = plan_cut_sampler(4, 1, ApproxDP(Fraction(8), Fraction(1, 100)), 1, "pad", Fraction(1, 2))
    graph = DensePaddedGraph(4, np.zeros(6, dtype=np.int64))
    seen = []
    for run in range(30):
        release = sample_cuts(graph, plan, derive_key(KEY, run), "cuts")
        assert not release.refused
        assert release.padding > 0
        assert release.noisy_weights is not None
        seen.append(int(release.noisy_weights[0]))
        assert graph.weight(release.padding, release.sides[0]) == cycle_weight(release.sides, release.padding)[0]
    assert abs(np.median(seen)) <= 2 < plan.lowest


def test_a_weak_graph_that_passes_the_gate_gives_a_fixed_cut() -> None:
    """An event of probability below eta, forced by a key whose noise is large: no error, a valid cut."""

    class Lying(DensePaddedGraph):
        calls = 0

        def minimum_cut(self, padding: int, /) -> int:
            self.calls += 1
            return 10**6 if self.calls == 1 else super().minimum_cut(padding)

    plan = plan_cut_sampler(4, 3, BUDGET, values_share=Fraction(1, 2))
    graph = Lying(4, np.array([1, 0, 0, 0, 0, 2]))
    release = sample_cuts(graph, plan, KEY, "cuts")
    assert release.sides.tolist() == [[False, False, False, True]]
    assert release.noisy_weights is not None
    assert not graph.bounds


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_paddings_are_drawn_by_their_losses_though_few_are_looked_at(data: st.DataObject) -> None:
    """Any staircase of values, also one that starts above the target or jumps; against all losses."""
    plan = plan_cut_sampler(4, 1, ApproxDP(Fraction(8), Fraction(1, 100)), when_small="pad")
    n_edges = 2 * plan.target
    rises = data.draw(st.lists(st.tuples(st.integers(0, n_edges), st.integers(1, 60)), max_size=8))
    stairs = np.full(n_edges + 1, data.draw(st.integers(0, plan.target + 30)))
    for place, rise in rises:
        stairs[place:] += rise
    losses = np.abs(stairs - plan.target)
    law = exponential_probability(losses, exponential_rate(plan.padding_epsilon, Fraction(1), monotone=False))
    stream = KeyedStream(KEY, "padding", data.draw(st.integers(0, 10**6)))
    drawn = np.array([draw_padding(stream, lambda padding: int(stairs[padding]), plan) for _ in range(150)])
    # Kolmogorov's distance: P(sqrt(n) D > 2.5) < 2 e^(-2 2.5^2) < 1e-5.
    found = np.bincount(drawn, minlength=n_edges + 1).cumsum() / 150
    assert np.abs(found - law.cumsum()).max() < 2.5 / np.sqrt(150)


def test_a_padding_asks_for_few_minimum_cuts() -> None:
    plan = plan_cut_sampler(1000, 1, ApproxDP(Fraction(2), Fraction(1, 10**6)), when_small="pad")
    for slope in (1, 2, 40, 1000):  # the value rises by one every few edges, then stays
        looked: set[int] = set()

        def minimum_cut(padding: int, looked: set[int] = looked, slope: int = slope) -> int:
            looked.add(padding)
            return min(padding // slope, 3 * plan.target)

        draw_padding(KeyedStream(KEY, "few", slope), minimum_cut, plan)
        assert len(looked) < 120


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_cycle_grows_edge_by_edge(n: int) -> None:
    sides = all_sides(n)
    graph = DensePaddedGraph(n, np.zeros(n * (n - 1) // 2, dtype=np.int64))
    values = []
    for padding in range(4 * n + 1):
        assert cycle_edges(n, padding)[2].sum() == padding
        weights = cycle_weight(sides, padding)
        assert weights.tolist() == [graph.weight(padding, side) for side in sides]
        values.append(int(weights.min()))
    assert set(np.diff(values)) <= {0, 1}
    assert values[-1] == 8  # n T / 2 edges reach T


def test_cuts_are_sorted_by_their_words() -> None:
    packed = np.array([[6, 0], [2, 1], [4, 0]], dtype=np.uint64)
    weights, ordered = sorted_cuts(np.array([5, 6, 7]), packed)
    assert ordered.tolist() == [[4, 0], [6, 0], [2, 1]]
    assert weights.tolist() == [7, 5, 6]


Array = IntArray


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"n_vertices": 1}, "n_vertices"),
        ({"n_draws": 0}, "n_draws"),
        ({"weight_cap": 0}, "weight_cap"),
        ({"when_small": "skip"}, "when_small"),
        ({"values_share": Fraction(1)}, "values_share"),
        ({"shares": (Fraction(1), Fraction(0), Fraction(1))}, "shares"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, object], named: str) -> None:
    settings_given: dict[str, object] = {"n_vertices": 5, "n_draws": 2, "budget": BUDGET} | changes
    with pytest.raises(ConfigError, match=f"^{named} must"):
        plan_cut_sampler(**settings_given)  # type: ignore[arg-type]


def test_an_enumeration_that_misses_everything_gives_a_fixed_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random one may; a failure would be an output too."""
    plan = plan_cut_sampler(5, 6, BUDGET)
    graph = DensePaddedGraph(5, 40 * STRONG)
    monkeypatch.setattr(graph, "cuts_up_to", lambda *_: None)
    release = sample_cuts(graph, plan, KEY, "cuts")
    assert not release.refused
    assert release.sides.tolist() == [[False, False, False, False, True]]


def test_the_excess_is_a_bound_that_holds() -> None:
    """Exact probability that some of k draws lies above the bound at beta, for a graph with all its cuts."""
    plan = plan_cut_sampler(5, 3, BUDGET)
    cuts = all_cuts(5, 40 * STRONG).astype(np.float64)
    law = np.exp(-float(plan.rate) * (cuts - cuts.min()))
    law /= law.sum()
    for beta in (0.5, 0.1, 0.01):
        above = law[cuts > cuts.min() + plan.excess(int(cuts.min()), beta)].sum()
        assert 1 - (1 - above) ** 3 <= beta
