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
from dplib.privacy.noise import Noise
from dplib.privacy.rounding import exp_above
from dplib.validate import integer_norms, require
from dplib.workflow.design import require_useful_noise

MAX_PAIRED_VERTICES = 2_048
"""Vertices of a synthetic graph at most: two million noisy pairs, whose near-minimum cuts take minutes."""

Part = PureDP | ZCDP | ApproxDP


@dataclass(frozen=True)
class Drawing:
    """How top_cuts chooses.

    Attributes:
        k: number of cuts.
        draw_epsilon: of each draw of peeling; None for oneshot.
        scale: of the one round of Laplace noise; None for peeling.
    """

    k: int
    draw_epsilon: Fraction | None = None
    scale: Fraction | None = None


@dataclass(frozen=True)
class Measurement:
    """How one release is measured.

    Attributes:
        release: its name.
        part: of the budget.
        share: of the budget, relative.
        events: everything it spends, one event a draw.
        noise: on its numbers: the value, the pairs, the chosen cuts' values, the steps of a count; None where none.
        drawing: of top_cuts.
        sampler: of sampled_cuts.
    """

    release: str
    part: Part
    share: Fraction
    events: tuple[AnyEvent, ...]
    noise: Noise | None = None
    drawing: Drawing | None = None
    sampler: SamplerPlan | None = None

    @property
    def values_budget(self) -> PureDP | ZCDP:
        """Of the chosen cuts' values, all together."""
        assert self.noise is not None
        epsilon_or_rho = self.noise.event(self.release)
        return PureDP(epsilon_or_rho.epsilon) if epsilon_or_rho.epsilon is not None else ZCDP(epsilon_or_rho.rho)


def plan_release(
    name: str,
    settings: CutReleaseSettings,
    part: Part,
    share: Fraction,
    n: int,
    weight_cap: int,
    enumeration: "Enumeration",
) -> Measurement:
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
            return _steps(name, soft_count_sensitivity(settings.eta, weight_cap), part, share)
    if name == "minimum_cut_count":
        return _steps(name, count_sensitivity(n), part, share)
    if name == "synthetic_graph":
        rule = f"be of at most {MAX_PAIRED_VERTICES} vertices, since every pair gets noise"
        require(n <= MAX_PAIRED_VERTICES, key, rule, n)
    noise = _noise(part, 1, weight_cap)
    _require_useful(name, noise)
    return Measurement(name, part, share, (noise.event(name),), noise)


def _noise(part: Part, n_numbers: int, step: int) -> Noise:
    """Noise on numbers of which a unit moves each by at most ``step`` (one number of many counts as one)."""
    l1, l2_squared = integer_norms("sensitivity", n_numbers * step, n_numbers * step**2)
    # Of an approximate budget the epsilon: such a part's delta stays with its choice.
    budget = PureDP(part.epsilon) if isinstance(part, ApproxDP) else part
    return Noise.within(budget, l1, l2_squared)


def _require_useful(name: str, noise: Noise) -> None:
    require_useful_noise(f"{noise.law.parameter_name} for {name}", noise.parameter)


def _steps(name: str, steps: int, part: Part, share: Fraction) -> Measurement:
    """A real number on a grid of steps; Laplace noise, whose mechanism rounds the sensitivity up to whole steps."""
    noise = _noise(part, 1, steps)
    _require_useful(name, noise)
    return Measurement(name, part, share, (noise.event(name),), noise)


def _require_listed(key: str, n: int) -> None:
    rule = f"be of 3 to {MAX_LISTED_VERTICES} vertices, whose cuts are all listed"
    require(3 <= n <= MAX_LISTED_VERTICES, key, rule, n)


def _top_cuts(key: str, settings: TopCutsSettings, part: Part, share: Fraction, n: int, weight_cap: int) -> Measurement:
    _require_listed(key, n)
    n_cuts = 2 ** (n - 1) - 1
    require(settings.k < n_cuts, f"{key}.k", f"be below the number of all cuts, {n_cuts}", settings.k)
    name = key.rpartition(".")[2]
    values = _values_part(part, settings.values_share)
    draws = _left_of(part, settings.values_share)
    drawing, events = _drawing(key, settings, draws, n_cuts, weight_cap)
    noise = None
    if values is not None:
        noise = _noise(values, settings.k, weight_cap)
        _require_useful(name, noise)
        events = (*events, noise.event(f"{name} values"))
    return Measurement(name, part, share, events, noise, drawing)


def _drawing(
    key: str, settings: TopCutsSettings, draws: Part, n_cuts: int, weight_cap: int
) -> tuple[Drawing, tuple[AnyEvent, ...]]:
    name = key.rpartition(".")[2]
    if settings.method == "peeling":
        epsilon = draw_epsilon(draws, settings.k)
        return Drawing(settings.k, draw_epsilon=epsilon), (BoundedRangeEvent(name, epsilon),) * settings.k
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
        return Drawing(settings.k, scale=scale), (ApproxEvent(name, budget.epsilon, budget.delta, mechanism),)
    return Drawing(settings.k, scale=scale), (PureEvent(name, budget.epsilon, mechanism),)


def _values_part(part: Part, share: Fraction) -> PureDP | ZCDP | None:
    """The budget of the chosen cuts' values; all delta stays with the choice."""
    if not share:
        return None
    return PureDP(part.epsilon * share) if isinstance(part, ApproxDP) else part.scaled(share)


def _left_of(part: Part, share: Fraction) -> Part:
    return ApproxDP(part.epsilon * (1 - share), part.delta) if isinstance(part, ApproxDP) else part.scaled(1 - share)


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
        """The random trials that keep the failure for every graph; None where deterministic.

        Args:
            n: vertices.

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
) -> Measurement:
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
    noise = None
    if plan.values_budget is not None:
        noise = _noise(plan.values_budget, settings.k, weight_cap)
        _require_useful(name, noise)
    return Measurement(name, part, share, (_sampler_event(name, plan, enumeration),), noise, None, plan)


@lru_cache(maxsize=8)
def _sampler_event(name: str, plan: SamplerPlan, enumeration: Enumeration) -> ApproxEvent:
    """The whole guarantee, a refusal included; what the enumeration may miss is one more distance to the ideal law."""
    epsilon, delta = plan.guarantee.epsilon, plan.guarantee.delta
    return ApproxEvent(name, epsilon, delta + (1 + exp_above(epsilon)) * enumeration.failure, "sampled_cuts")
