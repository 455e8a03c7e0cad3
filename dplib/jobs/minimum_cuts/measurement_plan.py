"""How each release of a design is measured: its part of the budget, its mechanisms with their parameters, its events.

A part is pure (epsilon), concentrated (rho), or, for the releases that need a delta, (epsilon, delta). Each function
turns the part of one release into its plan; errors name the setting. All sensitivities are for neighbours that differ
in the weight of one pair by at most W.

Notation: n declared vertices, W the weight cap, m = 2^(n - 1) - 1 cuts.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dplib.errors import ConfigError
from dplib.graphs.cuts.exhaustive import MAX_LISTED_VERTICES
from dplib.graphs.cuts.karger import MAX_TRIALS, TrialPlan, plan_trials
from dplib.graphs.cuts.karger_stein import plan_runs
from dplib.graphs.edges import MAX_TOTAL_WEIGHT
from dplib.jobs.minimum_cuts.config import CutReleaseSettings, SampledCutsSettings, SoftCountSettings, TopCutsSettings
from dplib.mechanisms.cuts.cut_sampler_plan import ENUMERABLE, SamplerPlan, plan_cut_sampler
from dplib.mechanisms.cuts.cut_statistics import count_sensitivity, soft_count_sensitivity
from dplib.mechanisms.oneshot_laplace import oneshot_scale
from dplib.mechanisms.top_k import draw_epsilon
from dplib.privacy.budget import ZCDP, ApproxDP, PureDP
from dplib.privacy.calibration import pure_epsilon_from_rho
from dplib.privacy.events import AnyEvent, ApproxEvent, BoundedRangeEvent, PureEvent
from dplib.privacy.noise import Noise, require_useful_noise
from dplib.privacy.rounding import exp_above
from dplib.validate import integer_norms, require

MAX_PAIRED_VERTICES = 2_048
"""Vertices of a synthetic graph at most: two million noisy pairs, whose near-minimum cuts take minutes."""

Part = PureDP | ZCDP | ApproxDP


@dataclass(frozen=True)
class Peeling:
    """How top_cuts chooses k cuts one after the other, each draw with this epsilon."""

    k: int
    draw_epsilon: Fraction


@dataclass(frozen=True)
class Oneshot:
    """How top_cuts chooses k cuts at once, by Laplace noise of this scale."""

    k: int
    scale: Fraction


@dataclass(frozen=True)
class CutMeasurement:
    """How one release is measured.

    Attributes:
        release: its name.
        share: of the budget, relative.
        events: everything it spends, one event a draw.
        noise: on its numbers: the value, the pairs, the chosen cuts' values, the steps of a count; None where none.
        choice: how cuts are chosen, where they are.
        values_share: part of its budget for the values of chosen cuts.
    """

    release: str
    share: Fraction
    events: tuple[AnyEvent, ...]
    noise: Noise | None = None
    choice: Peeling | Oneshot | SamplerPlan | None = None
    values_share: Fraction = Fraction(0)


def plan_release(
    name: str,
    settings: CutReleaseSettings,
    part: Part,
    share: Fraction,
    n: int,
    weight_cap: int,
    enumeration: "Enumeration",
) -> CutMeasurement:
    """Plan one release.

    Args:
        name: of the release.
        settings: its own.
        part: of the budget.
        share: of the budget, relative.
        n: declared vertices, at least 2.
        weight_cap: W.
        enumeration: how cuts are listed for sampled_cuts.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    key = f"cuts.releases.{name}"
    match settings:
        case TopCutsSettings():
            return _top_cuts(key, settings, part, share, n, weight_cap)
        case SampledCutsSettings():
            assert isinstance(part, ApproxDP)
            return _sampled(key, settings, part, share, n, weight_cap, enumeration)
        case SoftCountSettings():
            _require_listed(key, n)
            return _numbers(name, part, share, soft_count_sensitivity(settings.eta, weight_cap))
    if name == "minimum_cut_count":
        return _numbers(name, part, share, count_sensitivity(n))
    if name == "synthetic_graph":
        rule = f"be of at most {MAX_PAIRED_VERTICES} vertices, since every pair gets noise"
        require(n <= MAX_PAIRED_VERTICES, key, rule, n)
    return _numbers(name, part, share, weight_cap)


def _numbers(name: str, part: Part, share: Fraction, step: int) -> CutMeasurement:
    """A number, or many of which a unit moves one; real ones on a grid of steps."""
    noise = _noise(name, part, 1, step)
    return CutMeasurement(name, share, (noise.event(name),), noise)


def _noise(name: str, part: Part, n_numbers: int, step: int) -> Noise:
    """Noise on numbers of which a unit moves each by at most ``step`` (one number of many counts as one)."""
    l1, l2_squared = integer_norms("sensitivity", n_numbers * step, n_numbers * step**2)
    # Of an approximate budget the epsilon: such a part's delta stays with its choice.
    budget = PureDP(part.epsilon) if isinstance(part, ApproxDP) else part
    noise = Noise.within(budget, l1, l2_squared)
    require_useful_noise(f"{noise.law.parameter_name} for {name}", noise.parameter)
    return noise


def _require_listed(key: str, n: int) -> None:
    rule = f"be of 3 to {MAX_LISTED_VERTICES} vertices, whose cuts are all listed"
    require(3 <= n <= MAX_LISTED_VERTICES, key, rule, n)


def _top_cuts(
    key: str, settings: TopCutsSettings, part: Part, share: Fraction, n: int, weight_cap: int
) -> CutMeasurement:
    _require_listed(key, n)
    n_cuts = 2 ** (n - 1) - 1
    require(settings.k < n_cuts, f"{key}.k", f"be below the number of all cuts, {n_cuts}", settings.k)
    name, values = key.rpartition(".")[2], settings.values_share
    # All delta stays with the choice.
    draws: Part = part.scaled(1 - values)
    if isinstance(part, ApproxDP):
        draws = replace(part, epsilon=part.epsilon * (1 - values))
    choice, events = _choice(key, settings, draws, n_cuts, weight_cap)
    noise = None
    if values:
        noise = _noise(name, part.scaled(values), settings.k, weight_cap)
        events = (*events, noise.event(f"{name} values"))
    return CutMeasurement(name, share, events, noise, choice, values)


def _choice(
    key: str, settings: TopCutsSettings, draws: Part, n_cuts: int, weight_cap: int
) -> tuple[Peeling | Oneshot, tuple[AnyEvent, ...]]:
    name = key.rpartition(".")[2]
    if settings.method == "peeling":
        epsilon = draw_epsilon(draws, settings.k)
        return Peeling(settings.k, epsilon), (BoundedRangeEvent(name, epsilon),) * settings.k
    budget = PureDP(pure_epsilon_from_rho(draws.rho)) if isinstance(draws, ZCDP) else draws
    try:
        scale = oneshot_scale(budget, settings.k, n_cuts, Fraction(weight_cap))
    except ConfigError as error:
        raise ConfigError(
            f"{key}.method", f"be peeling where oneshot's {error.name} must {error.rule}", error.got
        ) from None
    require_useful_noise("scale for top_cuts", scale)
    mechanism = "oneshot_laplace"
    if isinstance(budget, ApproxDP):
        return Oneshot(settings.k, scale), (ApproxEvent(name, budget.epsilon, budget.delta, mechanism),)
    return Oneshot(settings.k, scale), (PureEvent(name, budget.epsilon, mechanism),)


@dataclass(frozen=True)
class Enumeration:
    """How sampled_cuts lists the cuts up to a bound.

    Attributes:
        method: auto or packing (both deterministic), karger or karger-stein.
        failure: eta3, the probability that a cut is missing; 0 where deterministic.
    """

    method: str = "auto"
    failure: Fraction = Fraction(0)

    def trials(self, n: int) -> TrialPlan | None:
        """The random trials that keep the failure for every graph of n vertices; None where deterministic.

        Raises:
            ConfigError: if they are too many to run.
        """
        if not self.failure:
            return None
        plan = plan_trials if self.method == "karger" else plan_runs
        needed = plan(n, ENUMERABLE, float(self.failure))
        n_trials = needed.n_trials
        rule = f"be auto or packing for {n} vertices: {self.method} needs {n_trials:,} trials, above {MAX_TRIALS:,}"
        require(n_trials <= MAX_TRIALS, "cuts.method", rule, self.method)
        return needed


def _sampled(
    key: str,
    settings: SampledCutsSettings,
    part: ApproxDP,
    share: Fraction,
    n: int,
    weight_cap: int,
    enumeration: Enumeration,
) -> CutMeasurement:
    require(n >= 3, key, "be of 3 vertices or more, since two have one cut", n)
    name = key.rpartition(".")[2]
    lost = (1 + exp_above(part.epsilon)) * enumeration.failure
    rule = f"cost at most half of the delta of {name}, (1 + e^epsilon) failure"
    require(lost <= part.delta / 2, "cuts.failure", rule, enumeration.failure)
    budget = replace(part, delta=part.delta - lost)
    try:
        plan = plan_cut_sampler(n, settings.k, budget, weight_cap, settings.when_small, settings.values_share)
    except ConfigError as error:
        raise error.of("privacy.budget" if error.name == "epsilon" else key) from None
    # A graph's weights add up to 2^59 at most (`dplib.spark.graphs.weighted_edges`), and with all the padding to below
    # 2^60.
    rule = "leave sampled_cuts a padding of fewer than 2^59 edges, with this weight cap and this many vertices"
    require(n * plan.target // 2 < MAX_TOTAL_WEIGHT // 2, "privacy.budget", rule, f"{n * plan.target // 2:.3g}")
    enumeration.trials(n)
    require_useful_noise(f"scale for {name}", weight_cap / plan.value_epsilon)
    noise = plan.values_noise
    if noise is not None:
        require_useful_noise(f"{noise.law.parameter_name} for {name}", noise.parameter)
    return CutMeasurement(name, share, (_sampler_event(name, plan, enumeration),), noise, plan, settings.values_share)


@lru_cache(maxsize=8)
def _sampler_event(name: str, plan: SamplerPlan, enumeration: Enumeration) -> ApproxEvent:
    """The whole guarantee, a refusal included; what the enumeration may miss is one more distance to the ideal law."""
    epsilon, delta = plan.guarantee.epsilon, plan.guarantee.delta
    return ApproxEvent(name, epsilon, delta + (1 + exp_above(epsilon)) * enumeration.failure, "sampled_cuts")
