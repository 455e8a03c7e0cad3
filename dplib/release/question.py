"""What is asked of a release, in the words that the command line and `dplib.reading` share."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from dplib.validate import require

OPTIONS = {"names": "--item", "start": "--from", "end": "--to", "where": "--where", "add_up": "--sum", "by": "--by"}
"""By field of `Question`: the option of ``dplib query``, which sentences name."""


@dataclass(frozen=True)
class Question:
    """What is asked of a release.

    Attributes:
        names: of items, groups, statistics, vertices or centers; all where empty.
        start: where a range begins, or a point; None where nothing is said.
        end: where it ends, inclusive.
        where: texts ``column=value`` of the items' table.
        add_up: whether the sum is asked for, in place of each.
        by: whether each period of a range is asked for: day, week, month, quarter or year; or each bin.
    """

    names: Sequence[str] = ()
    start: str | None = None
    end: str | None = None
    where: Sequence[str] = ()
    add_up: bool = False
    by: str | None = None

    def require_only(self, job: str, *taken: str) -> None:
        """Refuse what answers of a job have no use for.

        Raises:
            ConfigError: naming the option.
        """
        for field in fields(self):
            given = getattr(self, field.name)
            absent = not given or field.name in taken
            require(absent, OPTIONS[field.name], f"be left out for a release of {job}", given)
