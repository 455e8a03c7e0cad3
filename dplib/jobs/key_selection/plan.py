"""The plan of a selection: how many units must share a key before it appears, from settings alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from dplib.jobs.key_selection.design import Design
from dplib.mechanisms.release_table import units_needed
from dplib.workflow.plan import JobPlan, PlanFrame
from dplib.workflow.shown import Shown, TextTable

HALF, SURE = Fraction(1, 2), Fraction(99, 100)


@dataclass(frozen=True)
class Size:
    """Units that must share a key.

    Attributes:
        keys_per_unit: how many keys each of them has.
        half: units of which a key is released with probability 1/2.
        sure: with probability 0.99.
    """

    keys_per_unit: int
    half: int
    sure: int


@dataclass(frozen=True)
class Plan(JobPlan):
    """The frame, and when a key appears.

    Attributes:
        mechanism: after `auto` is decided.
        rounds: how often keys are selected.
        threshold: of the noisy weight; None where there is none.
        std_error: of a published weight; None where there is none.
        sizes: of units with one key, and with as many as the cap.
    """

    mechanism: str
    rounds: int
    threshold: float | None
    std_error: float | None
    sizes: tuple[Size, ...]

    def stated_errors(self) -> dict[str, float]:
        """Of a weight, where weights are released."""
        return {} if self.std_error is None else {"weight": self.std_error}


def sizes_of(design: Design) -> tuple[Size, ...]:
    """Units that must share a key, by how many keys each of them has."""
    degrees, rules = sorted({1, design.max_keys}), design.selectors
    return tuple(Size(d, units_needed(rules, d, HALF), units_needed(rules, d, SURE)) for d in degrees)


def make_plan(design: Design, settings_hash: str) -> Plan:
    """What the settings alone say of a release."""
    unit, rule = design.config.privacy.unit, design.noisy
    frame = PlanFrame.of(design, {f"keys of one {unit}": design.max_keys}, (), settings_hash)
    threshold, error = (None, None) if rule is None else (rule.threshold / design.scale, design.std_error)
    return Plan(frame, design.mechanism, len(design.selectors), threshold, error, sizes_of(design))


def shown_plan(plan: Plan) -> Iterator[Shown]:
    """When a key appears."""
    rounds = "one round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    noise = ""
    if plan.threshold is not None:
        noise = f", weights of {plan.threshold:.3g} on, each +- {plan.std_error:.3g} (standard error)"
    yield f"Mechanism {plan.mechanism}, {rounds}{noise}."
    yield sizes_table(plan.frame.unit, plan.sizes)


def sizes_table(unit: str, sizes: tuple[Size, ...]) -> TextTable:
    """The sizes as a table."""
    columns = [f"keys of each {unit}", "released with 1/2", "with 0.99"]
    rows = [[f"{size.keys_per_unit}", f"{size.half:,}", f"{size.sure:,}"] for size in sizes]
    return TextTable("How many must share a key", columns, rows, frozenset(columns))
