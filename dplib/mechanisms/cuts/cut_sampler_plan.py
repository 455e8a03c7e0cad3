"""The plan of the cut sampler: budgets, failure probabilities, the smallest minimum cut it needs, error bounds.

Everything here follows from public settings. `dplib.mechanisms.cuts.cut_sampler` states what is released and proves the
guarantee; this module computes its numbers, all rounded towards more noise or a larger claim.

Notation: n vertices, W the weight cap of one privacy unit, k draws of rate ``r = eps0 / W``, Phi the minimum cut value
of the graph G^ that is drawn from, ``lambda = 2 ln n / (r Phi)``. By Karger at most ``n^(2 alpha)`` cuts have a weight
of at most ``alpha Phi``, hence the cuts above B hold

    sum_(w > B) e^(-r w) <= integral_B^oo r e^(-r x) n^(2 x / Phi) dx = e^(-r (1 - lambda) B) / (1 - lambda)

while the minimum cut alone holds e^(-r Phi). So k draws leave the cuts up to

    B = (Phi + ln(k / ((1 - lambda) eta_B)) / r) / (1 - lambda)

with probability at most eta_B (`SamplerPlan.bound`). All cuts up to ``1.45 Phi`` can be enumerated by trees that a cut
crosses twice; ``lowest`` is the smallest Phi with ``B <= a Phi``. It holds for every larger one, as B / Phi falls.

The ratio is the same for every n: no list of the cuts is made (`dplib.mechanisms.cuts.cut_draws`), so there may be as
many as a graph can have, C(n, 2) minimum cuts in a ring. Below 3/2 trees can be packed that certify the enumeration for
every graph (Nash-Williams; `dplib.graphs.cuts.tree_packing`); the room up to 3/2 keeps the packings small.

References:
    Karger: Minimum cuts in near-linear time. JACM 47(1), 2000 (the number of near-minimum cuts).
    Gupta, Ligett, McSherry, Roth, Talwar: Differentially private combinatorial optimization. SODA 2010 (padding, then
    the exponential mechanism; the accounting here is our own).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Literal

import numpy as np

from dplib.mechanisms.top_k import draw_epsilon
from dplib.privacy.budget import ZCDP, ApproxDP, PureDP
from dplib.privacy.calibration import epsilon_from_rho, rho_from_approx, split
from dplib.privacy.noise import Noise
from dplib.privacy.rounding import exp_above, log_above
from dplib.validate import at_least, between, one_of, require

ENUMERABLE = Fraction(29, 20)
"""Cuts are enumerated up to this multiple of the minimum cut value."""

WhenWeak = Literal["refuse", "pad"]
_MAX_VALUE = 1 << 60


@dataclass(frozen=True)
class SamplerPlan:
    """What the cut sampler does and promises, from public settings only; made by `plan_cut_sampler`.

    Attributes:
        n_vertices: n, at least 2.
        n_draws: k; equal draws are published once.
        weight_cap: W, the most one privacy unit changes one pair's weight.
        when_small: what follows a noisy minimum cut value below `gate`: ``refuse`` or ``pad``.
        value_epsilon: of the noisy minimum cut value.
        padding_epsilon: of the padding; 0 when refusing.
        draw_epsilon: eps0, of each draw.
        values_budget: of the noisy weights of the drawn cuts; None where they are not published.
        draws_delta: delta_s of the zCDP conversion; 0 where the draws are charged as pure.
        gate_failure: probability that a weak graph passes the gate.
        padding_failure: probability that a padded graph stays below `lowest`; 0 when refusing.
        bound_failure: eta_B, probability that one of the k draws lies above the bound.
        lowest: the smallest minimum cut value with a bound that can be enumerated.
    """

    n_vertices: int
    n_draws: int
    weight_cap: int
    when_small: WhenWeak
    value_epsilon: Fraction
    padding_epsilon: Fraction
    draw_epsilon: Fraction
    values_budget: PureDP | ZCDP | None
    draws_delta: Fraction
    gate_failure: Fraction
    padding_failure: Fraction
    bound_failure: Fraction
    lowest: int = 0

    @property
    def rate(self) -> Fraction:
        """r, the rate of the draws."""
        return self.draw_epsilon / self.weight_cap

    @cached_property
    def gate(self) -> int:
        """The noisy minimum cut value from which the graph is taken as it is."""
        return ceil(self.lowest + self.weight_cap * log_above(1 / self.gate_failure) / self.value_epsilon)

    @cached_property
    def target(self) -> int:
        """T, the minimum cut value that padding aims at: even, and far enough above `lowest`; 0 when refusing.

        The exponential mechanism over ``|H| + 1 = n T / 2 + 1`` paddings misses T by more than ``2 W (ln(|H| + 1) +
        ln(1 / failure)) / epsilon`` with at most the failure probability, because some padding hits T exactly or the
        unpadded graph lies above it.
        """
        if self.when_small == "refuse":
            return 0
        target = self.lowest
        while (need := self._needed_target(target)) > target:
            target = need
        return target

    def _needed_target(self, target: int) -> int:
        spread = log_above(Fraction(self.n_vertices * target // 2 + 1)) + log_above(1 / self.padding_failure)
        return 2 * ceil((self.lowest + 2 * self.weight_cap * spread / self.padding_epsilon) / 2)

    @property
    def values_noise(self) -> Noise | None:
        """On the weights of the drawn cuts, k at most, which a unit moves by W at most; None in the same case."""
        if self.values_budget is None:
            return None
        return Noise.within(self.values_budget, self.n_draws * self.weight_cap, self.n_draws * self.weight_cap**2)

    @cached_property
    def draws_epsilon(self) -> Fraction:
        """Epsilon of all draws and of the noisy weights together, at `draws_delta`."""
        draws, values = self.n_draws * self.draw_epsilon, self.values_budget
        if not self.draws_delta:
            return draws + (values.epsilon if isinstance(values, PureDP) else 0)
        rho = self.n_draws * self.draw_epsilon**2 / 8 + (values.rho if isinstance(values, ZCDP) else 0)
        return epsilon_from_rho(rho, self.draws_delta)

    @property
    def failure(self) -> Fraction:
        """Distance in total variation of what is done from the ideal sampler over all cuts, for every graph."""
        return self.gate_failure + self.padding_failure + self.bound_failure

    @cached_property
    def guarantee(self) -> ApproxDP:
        """Epsilon and delta of the whole release; a refusal has spent all of it."""
        epsilon = self.value_epsilon + self.padding_epsilon + self.draws_epsilon
        return ApproxDP(epsilon, self.draws_delta + (1 + exp_above(epsilon)) * self.failure)

    def exact_bound(self, value: int) -> Fraction | None:
        """B for a graph of minimum cut value ``value``, rounded up; None where lambda is not below 1."""
        if value <= 0:
            return None
        room = 1 - 2 * log_above(Fraction(self.n_vertices)) / (self.rate * value)
        if room <= 0:
            return None
        return (value + log_above(self.n_draws / (room * self.bound_failure)) / self.rate) / room

    def bound(self, value: int) -> int:
        """The largest weight up to B for a graph of minimum cut value ``value``, which is at least `lowest`."""
        exact = self.exact_bound(at_least("value", value, self.lowest))
        assert exact is not None
        return floor(exact)

    def excess(self, value: int, beta: float) -> float:
        """How far above the minimum cut value ``value`` of G^ no drawn cut lies, with probability 1 - beta."""
        between("beta", beta, 0.0, 1.0)
        log_n, rate = float(np.log(self.n_vertices)), float(self.rate)
        room = 1 - 2 * log_n / (rate * value)
        require(room > 0, "value", "be above 2 ln n / rate", value)
        return (2 * log_n + float(np.log(self.n_draws / (room * beta)))) / (room * rate)


def plan_cut_sampler(
    n_vertices: int,
    n_draws: int,
    budget: ApproxDP,
    weight_cap: int = 1,
    when_small: WhenWeak = "refuse",
    values_share: Fraction = Fraction(0),
    shares: Sequence[Fraction] = (Fraction(1, 10), Fraction(3, 10), Fraction(6, 10)),
) -> SamplerPlan:
    """Divide a budget and find the smallest minimum cut value the sampler can work with.

    Args:
        n_vertices: n, at least 2.
        n_draws: k, at least 1.
        budget: of the whole release.
        weight_cap: W, at least 1.
        when_small: refuse, or pad the graph with a public cycle.
        values_share: part of the draws' budget for the noisy weights of the drawn cuts, below 1; 0 for none.
        shares: of the noisy minimum cut value, the padding and the draws; the padding's goes to the draws on refusal.

    Returns:
        The plan with the smaller `lowest` of the two ways to charge the draws, pure and zCDP; its guarantee is at most
        ``budget``.

    Raises:
        ConfigError: for settings out of range.
    """
    at_least("n_vertices", n_vertices, 2)
    at_least("n_draws", n_draws, 1)
    at_least("weight_cap", weight_cap, 1)
    one_of("when_small", when_small, ("refuse", "pad"))
    require(0 <= values_share < 1, "values_share", "be at least 0 and below 1", values_share)
    parts = split(budget.epsilon, shares)
    require(len(parts) == 3 and all(part > 0 for part in parts), "shares", "be three numbers above 0", list(shares))
    value, padding, draws = parts
    if when_small == "refuse":
        padding, draws = Fraction(0), draws + padding
    plans = [
        _plan(n_vertices, n_draws, weight_cap, when_small, (value, padding), charge, values_share, budget)
        for charge in (PureDP(draws), ApproxDP(draws, budget.delta / 2))
    ]
    return min(plans, key=lambda plan: plan.lowest)


def _plan(
    n_vertices: int,
    n_draws: int,
    weight_cap: int,
    when_small: WhenWeak,
    before: tuple[Fraction, Fraction],
    charge: PureDP | ApproxDP,
    values_share: Fraction,
    budget: ApproxDP,
) -> SamplerPlan:
    """One way to charge the draws; what delta is left pays for failures, half of it for the bound."""
    draws_delta = charge.delta if isinstance(charge, ApproxDP) else Fraction(0)
    failure = (budget.delta - draws_delta) / (1 + exp_above(budget.epsilon))
    whole = ZCDP(rho_from_approx(charge.epsilon, charge.delta)) if isinstance(charge, ApproxDP) else charge
    pads = when_small == "pad"
    plan = SamplerPlan(
        n_vertices=n_vertices,
        n_draws=n_draws,
        weight_cap=weight_cap,
        when_small=when_small,
        value_epsilon=before[0],
        padding_epsilon=before[1],
        draw_epsilon=draw_epsilon(whole.scaled(1 - values_share), n_draws),
        values_budget=whole.scaled(values_share) if values_share else None,
        draws_delta=draws_delta,
        gate_failure=failure / 4 if pads else failure / 2,
        padding_failure=failure / 4 if pads else Fraction(0),
        bound_failure=failure / 2,
    )
    return replace(plan, lowest=_lowest(plan))


def _lowest(plan: SamplerPlan) -> int:
    """The smallest minimum cut value whose bound can be enumerated, by bisection: bound over value falls."""
    high = 1
    while not _enumerable(plan, high):
        high *= 2
        require(high < _MAX_VALUE, "epsilon", "leave the draws a minimum cut below 2^60 to work with", "too little")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _enumerable(plan, middle) else (middle, high)
    return high


def _enumerable(plan: SamplerPlan, value: int) -> bool:
    bound = plan.exact_bound(value)
    return bound is not None and bound <= ENUMERABLE * value
