"""What every plan says, whatever the job: budget, neighbours, caps, totals, notes; from settings alone."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from dplib.privacy.accountant import Total, totals
from dplib.workflow.design import AnyDesign, JobDesign, delta_of, neighbors_of
from dplib.workflow.quality import quality_notes
from dplib.workflow.shown import Shown

PLAN_VERSION = 1
"""Of the JSON form; raised when a key goes or changes its meaning, not when one is added."""


@dataclass(frozen=True)
class PlanFrame:
    """The part of a plan that all jobs share.

    Attributes:
        dataset: the ledger's account.
        job: its name.
        budget: in plain words.
        unit: the privacy unit.
        neighbors: what neighbouring inputs are, in plain words.
        caps: what one unit contributes at most, by name.
        totals: the release by each accountant.
        notes: sentences about what the settings mean.
        settings_hash: of the measurement settings.
    """

    dataset: str
    job: str
    budget: str
    unit: str
    neighbors: str
    caps: dict[str, int]
    totals: tuple[Total, ...]
    notes: tuple[str, ...]
    settings_hash: str

    @classmethod
    def of(
        cls, design: JobDesign, caps: dict[str, int], notes: tuple[str, ...], settings_hash: str, relation: str = ""
    ) -> "PlanFrame":
        """The frame of a design; ``relation`` says what neighbours are where the name of their kind does not."""
        config = design.config
        return cls(
            dataset=config.dataset,
            job=config.job,
            budget=config.privacy.budget.budget().describe(),
            unit=config.privacy.unit,
            neighbors=relation or neighbors_of(design).describe(config.privacy.unit),
            caps=caps,
            totals=totals(design.events, delta_of(design)),
            notes=(*quality_notes(config), *notes),
            settings_hash=settings_hash,
        )


@dataclass(frozen=True)
class JobPlan:
    """A plan: the frame, and in a job's own plan what it adds."""

    frame: PlanFrame

    def stated_errors(self) -> dict[str, float]:
        """Standard errors that the settings decide, by what they are of; none unless a job's own plan states some."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values, the frame's among the others."""
        fields = asdict(self)
        frame: dict[str, Any] = fields.pop("frame")
        return (
            {"plan_version": PLAN_VERSION}
            | frame
            | {"totals": [total.to_dict() for total in self.frame.totals]}
            | fields
        )


AnyPlan = TypeVar("AnyPlan", bound=JobPlan)


def planned(
    make: Callable[[AnyDesign, str], AnyPlan], show: Callable[[AnyPlan], Iterable[Shown]]
) -> Callable[[AnyDesign, str], tuple[JobPlan, Iterable[Shown]]]:
    """From a design and the hash of its settings to its plan and what is shown of it, whatever the type of the plan."""

    def plan(design: AnyDesign, settings_hash: str) -> tuple[JobPlan, Iterable[Shown]]:
        made = make(design, settings_hash)
        return made, show(made)

    return plan
