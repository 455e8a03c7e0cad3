"""The section `publish.solver` of the job ``consistent-histograms``: it shapes a release and never spends."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dplib.config.sections import Section

Method = Literal[
    "auto",
    "general",
    "boosting",
    "lblue",
    "alternating",
    "tree_blue",
    "commuting",
    "tree_smoother",
    "matrix_free",
]
Acceleration = Literal["conjugate_gradients", "none"]


class Solver(Section):
    """How the estimates are computed from the stored measurement."""

    method: Method = "auto"
    """auto: the cheapest exact solver for these settings."""
    acceleration: Acceleration | None = Field(default=None, exclude_if=lambda given: given is None)
    """alternating only: conjugate gradients on its projections, or none: the plain rounds of the paper."""
    split: Annotated[list[str | list[str]], Field(min_length=2)] | None = Field(
        default=None, exclude_if=lambda split: split is None
    )
    """alternating only: the groups of constraints that a round projects on in turn; trees and days where absent."""
    tol: Annotated[float, Field(gt=0, lt=1)] = 1e-9
    """Iterative solvers stop when the mean absolute change of a round falls below this."""
    max_rounds: Annotated[int, Field(ge=1, le=1_000_000)] = 500
    accept_unconverged: bool = Field(default=False, exclude_if=lambda accepted: not accepted)
    """Whether rounds that end before the threshold are published, without errors; they are refused otherwise."""
    layout: Literal["auto", "driver", "blocks", "reference"] = "auto"
    """Where it runs: one process, Spark without a shuffle a round, or Spark grouped by item and by day in turn."""
    block_days: Annotated[int, Field(ge=1)] | None = Field(default=None, exclude_if=lambda days: days is None)
    """Days that a block of the estimates has at most; as many as stay small where absent. Changes no number."""

    @property
    def by_rounds(self) -> bool:
        """Whether the estimates are computed by rounds of projections."""
        return self.method == "alternating"

    @model_validator(mode="before")
    @classmethod
    def _accelerated(cls, given: object) -> object:
        """Rounds are accelerated unless the settings say otherwise; versions before made plain ones of the same."""
        if isinstance(given, dict) and given.get("method") == "alternating":
            return {"acceleration": "conjugate_gradients"} | given
        return given

    @model_validator(mode="after")
    def _alternates(self) -> Self:
        if self.acceleration is not None and not self.by_rounds:
            raise ValueError(f"acceleration must be given only with method alternating, got {self.method}")
        if self.split is not None and not self.by_rounds:
            raise ValueError(f"split must be given only with method alternating, got {self.method}")
        if self.acceleration == "none" and "sums" in (self.split or ()) and self.layout not in ("auto", "driver"):
            raise ValueError(f"layout must be driver where plain rounds go through sums one by one, got {self.layout}")
        return self
