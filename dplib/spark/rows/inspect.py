"""What each rule does to rows that count by day and type or bin, for the eyes of the data's owner only.

NOT PRIVATE: exact counts and values of rows. They are for the screen of someone who may see the data, so that a wrong
date pattern, a misspelt item or a cap that is too low is found before it costs a budget. Nothing is written to a
release or a log, drawn or spent.
"""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from dplib.config.date_patterns import guess_patterns
from dplib.config.event_input import Input
from dplib.config.sections import EventPrivacySettings
from dplib.config.value_input import BinDomain, HistogramInput
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.rows.bins import BIN_RULES, judge_values
from dplib.spark.rows.inspection import Inspection, Loss, RuleCount, rule_counts, totals_by_rule
from dplib.spark.rows.row_domain import RULES, RowDomain
from dplib.spark.rows.wide import by_cell, judge_events

IN_QUANTITY_CAP, POSITIVE = "quantity is within its cap", "quantity is at least 1"
IN_DAY_CAP, IN_UNIT_CAP = "rows are within the cap a day", "rows are within the cap a unit"
LISTED, GROUP_LISTED = "name is listed", "group is listed"
DAY_RULE, NAME_RULE = RULES[1], RULES[3]
MAX_TEXTS = 500
"""Unreadable texts, the most frequent ones, by which a date pattern is guessed."""
MAX_NAMES = 10
"""Names that a hint lists."""


def inspect_rows(rows: DataFrame, source: Input, privacy: EventPrivacySettings, domain: RowDomain) -> Inspection:
    """Count the event rows kept and dropped by each rule, with what is dropped and what the caps take. NOT PRIVATE.

    Args:
        rows: as for `dplib.spark.rows.resolve.resolve_rows`.
        source: section `input`.
        privacy: section `privacy`.
        domain: days and row types.

    Returns:
        as `inspect_judged`; and hints: a date pattern, names that are close to declared ones, declared names without
        rows. Where undeclared names count as other: the rule ``name is listed`` (dropped: rows that do), with them.
    """
    judged = judge_events(rows, source, privacy, domain)
    # One name may stand for several row types, one for each of its contents.
    found = inspect_judged(judged, RULES, privacy.rows_per_unit, privacy.rows_per_day, tuple(domain.names))
    written = rows.schema["day"].dataType.typeName() == "string"
    hints = date_hints(judged, found, DAY_RULE, source.date_format) if written else []
    if domain.other is not None:
        found = _with_undeclared(found, judged, len(RULES), LISTED)
    hints += name_hints(found, NAME_RULE if domain.other is None else LISTED, _listed(domain.names, domain.other))
    return replace(found, hints=hints + missing_hint("names", domain.names, [each.name for each in found.losses]))


def _with_undeclared(found: Inspection, judged: DataFrame, place: int, listed: str) -> Inspection:
    """The same with the rows that count as other, and the most frequent of their names, as a rule at a place."""
    rows = judged.where(F.col("failed").isNull() & F.col("undeclared").isNotNull())
    with quiet_spark_errors("inspect the rows"):
        shown = rows.select(F.lit(0).alias("failed"), F.col("undeclared").alias("shown"))
        by_rule, values = totals_by_rule(shown, [listed])
    n_rows = by_rule[0]["rows"] if by_rule else 0
    rule = RuleCount(listed, found.rules[place - 1].kept - n_rows, n_rows)
    rules = [*found.rules[:place], rule, *found.rules[place:]]
    return replace(found, rules=rules, values=found.values | values, changing=found.changing | {listed})


def inspect_values(rows: DataFrame, source: HistogramInput, domain: BinDomain, max_rows: int) -> Inspection:
    """Count rows of values by rule, with what is dropped and what the cap takes. NOT PRIVATE.

    Args:
        rows: from `dplib.spark.rows.bins.open_values`.
        source: section `input`.
        domain: bins and groups.
        max_rows: cap of a unit's rows.

    Returns:
        as `inspect_judged`; and hints: a date pattern, categories and groups that are close to declared ones. Where
        undeclared groups count as other: the rule ``group is listed`` (dropped: rows that do), with them.
    """
    judged = judge_values(rows, source, domain, for_owner=True)
    names = domain.groups or ("all bins",)
    found = inspect_judged(judged, BIN_RULES, max_rows, max_rows, names)
    hints = []
    if domain.first_day is not None and rows.schema["value"].dataType.typeName() == "string":
        hints += date_hints(judged, found, BIN_RULES[1], source.date_format)
    if domain.categories is not None:
        hints += name_hints(found, BIN_RULES[2], domain.categories)
    if domain.groups is not None:
        if domain.other is not None:
            found = _with_undeclared(found, judged, len(BIN_RULES), GROUP_LISTED)
        rule = BIN_RULES[3] if domain.other is None else GROUP_LISTED
        hints += name_hints(found, rule, _listed(names, domain.other))
        hints += missing_hint("groups", names, [each.name for each in found.losses])
    return replace(found, hints=hints)


def inspect_judged(
    judged: DataFrame, rules: Sequence[str], max_rows: int, max_rows_per_day: int, names: Sequence[str]
) -> Inspection:
    """Count judged rows by rule. NOT PRIVATE.

    Args:
        judged: columns failed (index of the first rule that a row fails, null where it counts), shown (text of what
            that rule judged), day, row_type, quantity, series (number of its name in ``names``), and where there are
            such: held (the quantity before its cap), clamped (whether it lay outside), unit.
        rules: names of the rules.
        max_rows: cap of a unit's rows.
        max_rows_per_day: cap of a unit's rows a day.
        names: names of the series, which may repeat.

    Returns:
        first the rules in order (a row counts as dropped at the first rule that it fails); with quantities ``quantity
        is within its cap`` (dropped: rows that count as 0 or as the cap instead) and ``quantity is at least 1``
        (dropped: rows that count nothing); with units ``rows are within the cap a day``, where there is one, and
        ``rows are within the cap a unit`` (dropped: rows that the keyed hash would cut; their number does not depend
        on the key). The losses are by name.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    has_quantity = "clamped" in judged.columns
    clamped = F.col("clamped").cast("long") if has_quantity else F.lit(0)
    with quiet_spark_errors("inspect the rows"):
        positive = F.sum((F.col("quantity") > 0).cast("long")).alias("positive")
        by_rule, values = totals_by_rule(judged, rules, F.sum(clamped).alias("clamped"), positive)
        counted = judged.where(F.col("failed").isNull())
        has_unit = "unit" in judged.columns
        caps = _cap_counts(counted, max_rows, max_rows_per_day) if has_unit else []
        losses = _losses(counted, max_rows, max_rows_per_day, names)
    kept = by_rule[None]["rows"] if None in by_rule else 0
    result = rule_counts(rules, {index: row["rows"] for index, row in by_rule.items() if index is not None}, kept)
    if has_quantity:
        outside, n_positive = (by_rule[None]["clamped"], by_rule[None]["positive"]) if None in by_rule else (0, 0)
        result.append(RuleCount(IN_QUANTITY_CAP, kept - outside, outside))
        result.append(RuleCount(POSITIVE, n_positive, kept - n_positive))
    return Inspection(result + caps, values, losses, changing=frozenset({IN_QUANTITY_CAP}))


def _cap_counts(counted: DataFrame, max_rows: int, max_rows_per_day: int) -> list[RuleCount]:
    """Rows before and after each cap of `dplib.spark.rows.contributions.bound_rows`."""
    days = counted.where(F.col("quantity") > 0).groupBy("unit", "day").agg(F.count("*").alias("all"))
    has_day_cap = max_rows_per_day < max_rows
    in_day = F.least("all", F.lit(max_rows_per_day)) if has_day_cap else F.col("all")
    units = days.groupBy("unit").agg(F.sum("all").alias("all"), F.sum(in_day).alias("in_day"))
    row = units.agg(
        F.coalesce(F.sum("all"), F.lit(0)),
        F.coalesce(F.sum("in_day"), F.lit(0)),
        F.coalesce(F.sum(F.least("in_day", F.lit(max_rows))), F.lit(0)),
    ).collect()[0]
    a_day = [RuleCount(IN_DAY_CAP, row[1], row[0] - row[1])] if has_day_cap else []
    return [*a_day, RuleCount(IN_UNIT_CAP, row[2], row[1] - row[2])]


def _losses(counted: DataFrame, max_rows: int, max_rows_per_day: int, names: Sequence[str]) -> list[Loss]:
    """What the caps take from each series: a unit's rows are kept with the probability that the hash gives each."""
    held = F.col("held") if "held" in counted.columns else F.col("quantity")
    more = [name for name in ("unit", "cells", "held_cells", "series_of") if name in counted.columns]
    rows = counted.select("series", "day", "quantity", held.alias("held"), *more)
    chance = F.lit(1.0)
    if "unit" in rows.columns:
        positive = F.col("quantity") > 0
        n_day = F.sum(positive.cast("double")).over(Window.partitionBy("unit", "day"))
        in_day = F.least(F.lit(1.0), F.lit(float(max_rows_per_day)) / F.greatest(n_day, F.lit(1.0)))
        rows = rows.withColumn("in_day", in_day)
        n_unit = F.sum(positive.cast("double") * F.col("in_day")).over(Window.partitionBy("unit"))
        chance = F.col("in_day") * F.least(F.lit(1.0), F.lit(float(max_rows)) / F.greatest(n_unit, F.lit(1.0)))
    rows = rows.withColumn("chance", chance)
    if "cells" in rows.columns:
        rows = by_cell(rows)
    sums = rows.groupBy("series").agg(
        F.sum("held").alias("held"),
        F.sum("quantity").alias("clipped"),
        F.sum(F.col("quantity") * F.col("chance")).alias("counted"),
    )
    by_name: dict[str, list[float]] = {}
    for row in sums.collect():
        mine = by_name.setdefault(names[row["series"]], [0.0, 0.0, 0.0])
        for place, part in enumerate(("held", "clipped", "counted")):
            mine[place] += float(row[part])
    return sorted(
        (Loss(name, *sums) for name, sums in by_name.items()), key=lambda loss: (loss.counted - loss.held, loss.name)
    )


def date_hints(judged: DataFrame, found: Inspection, rule: str, current: str) -> list[str]:
    """A date pattern where the given one reads less than half of the texts. NOT PRIVATE."""
    count = next(each for each in found.rules if each.rule == rule)
    if count.dropped <= count.kept:
        return []
    index = [each.rule for each in found.rules].index(rule)
    with quiet_spark_errors("inspect the rows"):
        texts = judged.where(F.col("failed") == index).groupBy("shown").agg(F.count("*").alias("rows"))
        rows = texts.orderBy(F.desc("rows"), "shown").limit(MAX_TEXTS).select(F.col("shown").cast("binary"), "rows")
        pairs = [(bytes(row[0] or b"").decode(errors="replace"), row[1]) for row in rows.collect()]
    guesses = guess_patterns(pairs)
    if not guesses:
        return [f"input.date_format ({current}) reads few of the days, and no usual pattern reads them either."]
    looked = sum(rows for _, rows in pairs)
    either = " or ".join(guess.pattern for guess in guesses)
    return [
        f"input.date_format ({current}) reads few of the days; {either} would read {guesses[0].rows:,} of {looked:,} "
        "that it cannot."
    ]


def name_hints(found: Inspection, rule: str, names: Sequence[str]) -> list[str]:
    """Declared names that dropped ones are close to. NOT PRIVATE."""
    hints = []
    for value, _ in found.values.get(rule, []):
        close = get_close_matches(value, names, n=1, cutoff=0.75)
        same = next((name for name in names if name.casefold() == value.casefold()), None)
        if same or close:
            what = "Counted as other" if rule in found.changing else "Dropped as undeclared"
            hints.append(f"{what}: {value}. Declared is: {same or close[0]}.")
    return hints


def _listed(names: Sequence[str], other: int | None) -> list[str]:
    """The names without that of the rest, for which no other name is meant."""
    return [name for place, name in enumerate(names) if place != other]


def missing_hint(what: str, declared: Sequence[str], present: Sequence[str]) -> list[str]:
    """Declared names that no counted row has. NOT PRIVATE."""
    known = set(present)
    missing = [name for name in dict.fromkeys(declared) if name not in known]
    if not missing:
        return []
    more = f" and {len(missing) - MAX_NAMES:,} more" if len(missing) > MAX_NAMES else ""
    return [f"{len(missing):,} declared {what} have no row that counts: {', '.join(missing[:MAX_NAMES])}{more}."]
