"""Settings of how the budget is divided among single series and their totals, and of what is asked for."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from dplib.config.sections import Exact, Section


class Measure(Section):
    """How the budget is divided among the items and their totals; each level of the tree divides its share so."""

    shares: list[Exact]
    """The items' (groups') share, then that of each entry of `constraints` with totals in their order, then of each
    grouping, in any unit; 0 is not measured."""

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if not all(share >= 0 for share in self.shares) or not sum(self.shares[:1]) > 0:
            raise ValueError("measure.shares must be numbers of at least 0, the first one above 0, got another")
        return self


class Target(Section):
    """An error that an answer should not exceed, relative to a count that its readers expect."""

    count: Annotated[Exact, Field(gt=0)]
    """A public guess of the count: it decides no noise, and nothing of the rows may go into it."""
    relative_error: Annotated[Exact, Field(gt=0)]
    """Largest standard error as a part of it, 0.05 for five per cent."""
    of: str = "items"
    """items (groups), or its totals: their name, or where they stand (constraints.0, domain.groupings.1, ...)."""
