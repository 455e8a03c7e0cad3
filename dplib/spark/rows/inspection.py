"""What the data's owner is told about the rows: by rule, by value, and what the caps cost. NOT PRIVATE.

Exact counts and values of rows: for the screen of someone who may see the data, never for a log or a release. All
numbers are of whole inputs and do not depend on a key; where a keyed hash chooses rows, they are expectations over it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from dplib.errors import SchemaError

MAX_VALUES = 5
"""Dropped values shown of each rule: the most frequent ones."""
MAX_LENGTH = 60
"""Characters shown of a value."""
NOTHING = "(nothing)"
SHORT = "line is not too long"


class RuleCount(NamedTuple):
    """Rows that passed a rule and rows that it dropped (or, where a cap changes rows, changed)."""

    rule: str
    kept: int
    dropped: int


class DroppedValue(NamedTuple):
    """A value that a rule drops, with how many rows hold it."""

    value: str
    rows: int


class Loss(NamedTuple):
    """What the caps take from one series: quantities (or rows) in the rows that pass every rule, and what is counted.

    ``clipped`` is what is left after each row's cap; ``counted`` what is expected after the caps of a unit's rows, over
    the keyed hash that chooses them (close to it where a unit meets its cap a day and its cap in all).
    """

    name: str
    held: float
    clipped: float
    counted: float


@dataclass(frozen=True)
class Inspection:
    """What an inspection found. NOT PRIVATE.

    Attributes:
        rules: in the order in which they are judged.
        values: rule to the most frequent values among the rows that it drops.
        losses: by series, the largest loss first; empty where nothing is capped.
        hints: sentences about what may be wrong and how to set it right.
        changing: rules that change rows and drop none.
    """

    rules: list[RuleCount]
    values: dict[str, list[DroppedValue]] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    changing: frozenset[str] = frozenset()

    def with_long_lines(self, n_long: int) -> "Inspection":
        """The same with the lines that no row was read from, as a rule before all others."""
        if not n_long:
            return self
        first = self.rules[0]
        return replace(self, rules=[RuleCount(SHORT, first.kept + first.dropped, n_long), *self.rules])

    def require_some_kept(self) -> None:
        """Refuse an input of which a rule drops everything.

        Raises:
            SchemaError: naming the rule.
        """
        for each in self.rules:
            if each.kept == 0 and each.dropped > 0 and each.rule not in self.changing:
                raise SchemaError(f"input must hold rows that pass the rule `{each.rule}`, got none")


def rule_counts(rules: Sequence[str], dropped: Mapping[int | None, int], n_kept: int) -> list[RuleCount]:
    """What each rule does to the rows. NOT PRIVATE.

    Args:
        rules: in the order in which they are judged.
        dropped: rows by the index of the first rule that they fail.
        n_kept: rows that pass all.
    """
    left = n_kept + sum(dropped.get(index, 0) for index in range(len(rules)))
    found = []
    for index, rule in enumerate(rules):
        left -= dropped.get(index, 0)
        found.append(RuleCount(rule, left, dropped.get(index, 0)))
    return found


def totals_by_rule(
    judged: DataFrame, rules: Sequence[str], *sums: Column
) -> tuple[dict[int | None, Row], dict[str, list[DroppedValue]]]:
    """Rows by the first rule that they fail, and the most frequent values that each rule drops. NOT PRIVATE.

    Args:
        judged: columns failed (index of the rule, null where a row counts) and shown (text of what it judged).
        rules: names of the rules.
        sums: sums over the rows, each named.

    Returns:
        by index, None where rows count: ``rows`` and the sums, where there are such rows; and by rule its values,
        equally frequent ones in the order of their text. Cost: one pass.
    """
    shown = F.when(F.col("failed").isNotNull(), F.col("shown")).alias("shown")
    counted = judged.groupBy("failed", shown).agg(F.count("*").alias("rows"), *sums)
    of_rule = Window.partitionBy("failed")
    place = F.row_number().over(of_rule.orderBy(F.desc("rows"), F.col("shown")))
    totals = [F.sum(name).over(of_rule).alias(name) for name in counted.columns[2:]]
    # Bytes: a table's text need not be valid UTF-8.
    text = F.col("shown").cast("binary").alias("shown")
    top = counted.select("failed", text, F.col("rows").alias("n"), place.alias("place"), *totals)
    found: dict[int | None, Row] = {}
    values: dict[str, list[DroppedValue]] = {}
    for row in sorted(top.where(F.col("place") <= MAX_VALUES).collect(), key=lambda row: row["place"]):
        found[row["failed"]] = row
        if row["failed"] is not None:
            values.setdefault(rules[row["failed"]], []).append(DroppedValue(shown_text(row["shown"]), row["n"]))
    return found, values


def shown_text(value: bytes | bytearray | None) -> str:
    """A value for a screen: one line, no control characters, not too long."""
    if value is None or not value:
        return NOTHING
    text = bytes(value).decode(errors="replace")
    plain = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return plain if len(plain) <= MAX_LENGTH else plain[: MAX_LENGTH - 3] + "..."
