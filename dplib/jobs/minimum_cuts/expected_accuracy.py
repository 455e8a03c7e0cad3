"""How good the drawn cuts will be, by the minimum cut value that the graph may have; from public settings alone.

*Excess.* With probability 1 - beta no drawn cut lies more than this above the minimum (sampled_cuts), the smallest cut
not drawn before (top_cuts by peeling: a draw of rate r among m cuts exceeds it by ``ln(m k / beta) / r`` with at most
beta / k), or the k-th smallest cut (oneshot).

*Recall* is for one public example, a ring of the declared vertices whose edges all weigh half of the value v: it has
as many minimum cuts as a graph can have, n (n - 1) / 2, and ``C(n, 2 j)`` cuts of value ``j v``. There a draw of rate r
is a minimum cut with the probability ``C(n, 2) e^(-r v) / sum_j C(n, 2 j) e^(-r j v)``, exactly; `every` is the
probability that all k draws are (different ones, where draws do not repeat).
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.special import gammaln, logsumexp

from dplib.jobs.minimum_cuts.cut_margin import BETA
from dplib.jobs.minimum_cuts.design import Design
from dplib.jobs.minimum_cuts.measurement_plan import Oneshot, Peeling
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.mechanisms.oneshot_laplace import oneshot_error


@dataclass(frozen=True)
class ExpectedCutAccuracy:
    """What to expect of one release if the minimum cut has a certain value.

    Attributes:
        release: which.
        value: assumed minimum cut value.
        accepted: probability that sampled_cuts takes the graph as it is; 1 for top_cuts.
        excess: bound at `BETA`, see the module; None where the graph is too weak to be taken as it is.
        first: probability that the first draw of a ring is a minimum cut; None in the same case and for oneshot.
        every: probability that all draws are; None in the same case.
    """

    release: str
    value: int
    accepted: float
    excess: float | None
    first: float | None
    every: float | None


def expected_accuracies(design: Design) -> tuple[ExpectedCutAccuracy, ...]:
    """The expected accuracy of every release that draws cuts at every assumed value."""
    found = []
    for each in design.measurements:
        for value in design.config.plan.minimum_cut_values:
            if isinstance(each.choice, SamplerPlan):
                found.append(_of_sampler(each.release, each.choice, value))
            elif each.choice is not None:
                found.append(_of_top_cuts(design, each.release, each.choice, value))
    return tuple(found)


def _of_sampler(release: str, plan: SamplerPlan, value: int) -> ExpectedCutAccuracy:
    accepted = laplace_tail(plan.gate - value, float(plan.weight_cap / plan.value_epsilon))
    if value < plan.lowest:
        return ExpectedCutAccuracy(release, value, accepted, None, None, None)
    first = ring_share(plan.n_vertices, value, float(plan.rate), 0)
    return ExpectedCutAccuracy(release, value, accepted, plan.excess(value, BETA), first, first**plan.n_draws)


def _of_top_cuts(design: Design, release: str, choice: Peeling | Oneshot, value: int) -> ExpectedCutAccuracy:
    n = design.n_vertices
    n_cuts = 2 ** (n - 1) - 1
    if isinstance(choice, Oneshot):
        return ExpectedCutAccuracy(release, value, 1.0, oneshot_error(choice.scale, n_cuts, BETA), None, None)
    rate = float(choice.draw_epsilon) / design.weight_cap
    excess = float(np.log(n_cuts * choice.k / BETA)) / rate
    shares = [ring_share(n, value, rate, drawn) for drawn in range(min(choice.k, comb(n, 2)))]
    every = float(np.prod(shares)) if choice.k <= comb(n, 2) else 0.0
    return ExpectedCutAccuracy(release, value, 1.0, excess, shares[0], every)


def laplace_tail(least: int, scale: float) -> float:
    """The probability that discrete Laplace noise is at least ``least``."""
    q = float(np.exp(-1 / scale))
    above = float(np.exp(-abs(least if least > 0 else 1 - least) / scale)) / (1 + q)
    return above if least > 0 else 1 - above


def ring_share(n_vertices: int, value: int, rate: float, drawn: int) -> float:
    """The probability that a draw from the cuts of a ring is a minimum cut, after ``drawn`` of them were taken out."""
    crossings = 2 * np.arange(1, n_vertices // 2 + 1)
    count = gammaln(n_vertices + 1) - gammaln(crossings + 1) - gammaln(n_vertices - crossings + 1)
    mass = count - rate * value * (crossings / 2 - 1)
    mass[0] = np.log(comb(n_vertices, 2) - drawn)
    return float(np.exp(mass[0] - logsumexp(mass)))
