"""What a run will cost and how accurate it will be, from settings alone: reads no rows, spends nothing."""

from dataclasses import dataclass
from math import comb

import numpy as np

from dplib.jobs.minimum_cuts.cut_margin import all_cuts_margin
from dplib.jobs.minimum_cuts.design import COUNT, SAMPLED, SYNTHETIC, TOP, Design
from dplib.jobs.minimum_cuts.expected_accuracy import ExpectedCutAccuracy, expected_accuracies
from dplib.jobs.minimum_cuts.measurement_plan import CutMeasurement, Oneshot, Peeling
from dplib.jobs.minimum_cuts.publish import assumption, invariants, relation
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.mechanisms.cuts.cut_statistics import COUNT_WARNING, GRID
from dplib.mechanisms.cuts.pair_weights import EXACT_CUTS
from dplib.privacy.rounding import fraction_text
from dplib.workflow.plan import JobPlan, PlanFrame


@dataclass(frozen=True)
class PlannedRelease:
    """How one release is measured, and how far off its numbers will be.

    Attributes:
        release: which.
        share: of the budget, exactly.
        draws: cuts that are chosen; 0 where none are.
        choice: mechanism that chooses; empty where none does.
        draw_epsilon: of one draw; None where it is not drawn by draw.
        numbers: noisy numbers.
        mechanism: of their noise; empty where there are none.
        parameter: scale b or sigma^2; None in the same case.
        std_error: of one number (of a count: of its logarithm); None in the same case.
    """

    release: str
    share: str
    draws: int
    choice: str
    draw_epsilon: str | None
    numbers: int
    mechanism: str
    parameter: str | None
    std_error: float | None


@dataclass(frozen=True)
class SyntheticError:
    """Errors of the cuts of a synthetic graph with this many vertices on one side.

    Attributes:
        side_size: vertices on the smaller side.
        std_error: of one cut that is fixed beforehand.
        all_cuts: bound for all cuts together, but for the probability `dplib.jobs.minimum_cuts.cut_margin.BETA`.
    """

    side_size: int
    std_error: float
    all_cuts: float


@dataclass(frozen=True)
class SamplerTerms:
    """The public numbers of sampled_cuts.

    Attributes:
        lowest: the smallest minimum cut value that it can work with.
        gate: the noisy value from which it takes the graph as it is.
        target: the value that padding aims at; 0 when refusing.
        epsilon: of all of it.
        delta: of all of it, what the truncated list costs included.
        failure: distance from the ideal law over all cuts, in total variation.
    """

    lowest: int
    gate: int
    target: int
    epsilon: float
    delta: float
    failure: float


@dataclass(frozen=True)
class Plan(JobPlan):
    """Everything that can be said before a row is read."""

    n_vertices: int
    relation: str
    releases: tuple[PlannedRelease, ...]
    sampler: SamplerTerms | None
    synthetic: tuple[SyntheticError, ...]
    expected_accuracy: tuple[ExpectedCutAccuracy, ...]

    def stated_errors(self) -> dict[str, float]:
        """Of each release with numbers, and of cuts of the synthetic graph."""
        numbers = {each.release: each.std_error for each in self.releases if each.std_error is not None}
        return numbers | {f"cut with {each.side_size} on a side": each.std_error for each in self.synthetic}


def make_plan(design: Design, settings_hash: str) -> Plan:
    """Make the plan of a design."""
    caps = {f"change of one pair's weight by one {design.config.privacy.unit}": design.weight_cap}
    return Plan(
        frame=PlanFrame.of(design, caps, plan_notes(design), settings_hash, relation(design)),
        n_vertices=design.n_vertices,
        relation=relation(design),
        releases=tuple(planned(design, each) for each in design.measurements),
        sampler=sampler_terms(design),
        synthetic=synthetic_errors(design),
        expected_accuracy=expected_accuracies(design),
    )


def planned(design: Design, each: CutMeasurement) -> PlannedRelease:
    """What the plan says of one release."""
    match each.choice:
        case None:
            draws, choice, epsilon = 0, "", None
        case Oneshot():
            draws, choice, epsilon = each.choice.k, "oneshot_laplace", None
        case Peeling():
            draws, choice, epsilon = each.choice.k, "exponential", each.choice.draw_epsilon
        case SamplerPlan():
            draws, choice, epsilon = each.choice.n_draws, "exponential", each.choice.draw_epsilon
    numbers = {SYNTHETIC: comb(design.n_vertices, 2)}.get(each.release, max(draws, 1) if each.noise else 0)
    grid = GRID if each.release in ("minimum_cut_count", "soft_cut_count") else 1
    return PlannedRelease(
        release=each.release,
        share=fraction_text(each.share),
        draws=draws,
        choice=choice,
        draw_epsilon=None if epsilon is None else fraction_text(epsilon),
        numbers=numbers,
        mechanism=each.noise.law if each.noise else "",
        parameter=fraction_text(each.noise.parameter) if each.noise else None,
        std_error=float(np.sqrt(each.noise.variance)) / grid if each.noise else None,
    )


def sampler_terms(design: Design) -> SamplerTerms | None:
    """The public numbers of sampled_cuts; None without it."""
    plan = design.sampler
    if plan is None:
        return None
    lost = plan.failure + design.enumeration.failure
    (event,) = next(each.events for each in design.measurements if each.choice is plan)
    delta, epsilon = float(getattr(event, "delta", 0)), float(getattr(event, "epsilon_at_delta", 0))
    return SamplerTerms(plan.lowest, plan.gate, plan.target, epsilon, delta, float(lost))


def synthetic_errors(design: Design) -> tuple[SyntheticError, ...]:
    """Errors by the size of the smaller side; none without a synthetic graph."""
    n = design.n_vertices
    if not design.asks(SYNTHETIC):
        return ()
    sizes = sorted({1, min(2, n // 2), max(1, n // 4), n // 2})
    single = np.sqrt(design.variance_of(SYNTHETIC) * np.array([size * (n - size) for size in sizes]))
    return tuple(map(SyntheticError, sizes, single.tolist(), all_cuts_margin(design, sizes).tolist()))


def plan_notes(design: Design) -> tuple[str, ...]:
    """Sentences about what the settings mean."""
    notes = [*invariants(design)]
    if assumption(design) not in notes:
        notes.append(assumption(design))
    notes += design.reading_notes
    if design.asks(COUNT):
        notes.append(COUNT_WARNING)
        notes.append("The standard error of minimum_cut_count is that of log2(count + 3 n).")
    if design.asks(SYNTHETIC) and design.n_vertices > EXACT_CUTS:
        notes.append(
            f"Above {EXACT_CUTS} vertices cuts of the synthetic graph are searched for by its signed weights, and some "
            "can be missed. Its cactus is that of the graph without negative weights."
        )
    if design.sampler is not None:
        notes.append(_sampler_note(design.sampler))
    if design.asks(TOP, SAMPLED):
        notes.append(
            "Recall is for a ring of the declared vertices, which has as many minimum cuts as a graph can have; other "
            "graphs do better where few cuts are near the minimum."
        )
    return tuple(notes)


def _sampler_note(plan: SamplerPlan) -> str:
    if plan.when_small == "refuse":
        after = "refuses, and the whole budget is spent all the same"
    else:
        after = f"adds edges of a public cycle until the minimum cut value is about {plan.target}"
    return (
        f"sampled_cuts works on graphs whose minimum cut value is at least {plan.lowest}; where the noisy value is "
        f"below {plan.gate} it {after}. Its delta pays for the cuts that are too large to be looked at. How long it "
        "takes depends on the graph and is no output: seconds for 100,000 vertices with few edges each, minutes for a "
        "thousand with edges between most pairs."
    )
