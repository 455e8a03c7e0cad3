"""What each rule does to rows that count by day and type or bin, for the eyes of the data's owner only.

NOT PRIVATE: exact counts and values of rows. They are for the screen of someone who may see the data, so that a wrong
date pattern, a misspelt item or a cap that is too low is found before it costs a budget. Nothing is written to a
release or a log, drawn or spent.
"""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from pyspark.sql import DataFrame
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
    listed = None if domain.other is None else LISTED
    found = inspect_judged(judged, RULES, privacy.rows_per_unit, privacy.rows_per_day, tuple(domain.names), listed)
    written = rows.schema["day"].dataType.typeName() == "string"
    hints = date_hints(judged, found, DAY_RULE, source.date_format) if written else []
    hints += name_hints(found, listed or NAME_RULE, _listed(domain.names, domain.other))
    return replace(found, hints=hints + missing_hint("names", domain.names, [each.name for each in found.losses]))


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
    listed = None if domain.other is None or domain.groups is None else GROUP_LISTED
    found = inspect_judged(judged, BIN_RULES, max_rows, max_rows, names, listed)
    hints = []
    if domain.first_day is not None and rows.schema["value"].dataType.typeName() == "string":
        hints += date_hints(judged, found, BIN_RULES[1], source.date_format)
    if domain.categories is not None:
        hints += name_hints(found, BIN_RULES[2], domain.categories)
    if domain.groups is not None:
        hints += name_hints(found, listed or BIN_RULES[3], _listed(names, domain.other))
        hints += missing_hint("groups", names, [each.name for each in found.losses])
    return replace(found, hints=hints)


def inspect_judged(
    judged: DataFrame,
    rules: Sequence[str],
    max_rows: int,
    max_rows_per_day: int,
    names: Sequence[str],
    listed: str | None = None,
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
        listed: name of a rule that changes rows which are counted as other, where some are; ``judged`` has a column
            undeclared then, the name of such a row.

    Returns:
        first the rules in order (a row counts as dropped at the first rule that it fails); then ``listed`` (dropped:
        rows that count as other); with quantities ``quantity is within its cap`` (dropped: rows that count as 0 or as
        the cap instead) and ``quantity is at least 1`` (dropped: rows that count nothing); with units ``rows are within
        the cap a day``, where there is one, and ``rows are within the cap a unit`` (dropped: rows that the keyed hash
        would cut; their number does not depend on the key). The losses are by name. Cost: two passes, one shuffle by
        unit.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    has_quantity = "clamped" in judged.columns
    clamped = "CAST(clamped AS BIGINT)" if has_quantity else "0L"
    sums = [f"sum({clamped}) AS clamped", "sum(CAST(quantity > 0 AS BIGINT)) AS positive"]
    told, others = judged, [] if listed is None else [listed]
    if listed is not None:
        undeclared = f"CASE WHEN undeclared IS NOT NULL THEN {len(rules)} END"
        kept_columns = [name for name in judged.columns if name not in ("failed", "shown")]
        shown = "CASE WHEN failed IS NULL THEN undeclared ELSE shown END AS shown"
        told = judged.selectExpr(*kept_columns, f"coalesce(failed, {undeclared}) AS failed", shown)
    with quiet_spark_errors("inspect the rows"):
        by_rule, values = totals_by_rule(told, [*rules, *others], *map(F.expr, sums))
        counted = judged.where(F.col("failed").isNull())
        caps, losses = _caps_and_losses(counted, max_rows, max_rows_per_day, names)
    passed = [by_rule[index] for index in (None, len(rules)) if index in by_rule]
    kept, outside, n_positive = (sum(row[name] for row in passed) for name in ("rows", "clamped", "positive"))
    result = rule_counts(rules, {index: row["rows"] for index, row in by_rule.items() if index is not None}, kept)
    if listed is not None:
        n_other = by_rule[len(rules)]["rows"] if len(rules) in by_rule else 0
        result.append(RuleCount(listed, kept - n_other, n_other))
    if has_quantity:
        result.append(RuleCount(IN_QUANTITY_CAP, kept - outside, outside))
        result.append(RuleCount(POSITIVE, n_positive, kept - n_positive))
    changing = frozenset({IN_QUANTITY_CAP} | ({listed} if listed else set()))
    return Inspection(result + caps, values, losses, changing=changing)


def _caps_and_losses(
    counted: DataFrame, max_rows: int, max_rows_per_day: int, names: Sequence[str]
) -> tuple[list[RuleCount], list[Loss]]:
    """Rows before and after each cap of `dplib.spark.rows.contributions.bound_rows`, and what the caps take."""
    has_unit = "unit" in counted.columns
    held = "held" if "held" in counted.columns else "quantity"
    more = [name for name in ("unit", "cells", "held_cells", "series_of") if name in counted.columns]
    rows = counted.selectExpr(
        "series", "day", "quantity", f"{held} AS held", "CAST(quantity > 0 AS BIGINT) AS n", *more
    )
    if "cells" in counted.columns:
        rows = by_cell(rows)
    rows = (
        _with_chance(rows, max_rows, max_rows_per_day)
        if has_unit
        else rows.selectExpr("*", "1D AS chance", "0L AS n_in_day", "0L AS n_in_unit")
    )
    sums = [f"sum({part}) AS {part}" for part in ("held", "quantity", "n", "n_in_day", "n_in_unit")]
    found = rows.groupBy("series").agg(*map(F.expr, ["sum(quantity * chance) AS counted", *sums])).collect()
    n, in_day, in_unit = (sum(row[name] for row in found) for name in ("n", "n_in_day", "n_in_unit"))
    a_day = [RuleCount(IN_DAY_CAP, in_day, n - in_day)] if max_rows_per_day < max_rows else []
    caps = [*a_day, RuleCount(IN_UNIT_CAP, in_unit, in_day - in_unit)] if has_unit else []
    by_name: dict[str, list[float]] = {}
    for row in found:
        if row["series"] < 0:  # wide rows themselves, which the caps cut
            continue
        mine = by_name.setdefault(names[row["series"]], [0.0, 0.0, 0.0])
        for place, part in enumerate(("held", "quantity", "counted")):
            mine[place] += float(row[part])
    losses = [Loss(name, *sums) for name, sums in by_name.items()]
    return caps, sorted(losses, key=lambda loss: (loss.counted - loss.held, loss.name))


def _with_chance(rows: DataFrame, max_rows: int, max_rows_per_day: int) -> DataFrame:
    """Sums by unit, day and series, with the probability by which the hash keeps a row of theirs.

    Returns:
        columns series, held, quantity, n, chance; and on one row of each unit and day ``n_in_day``, on one of each unit
        ``n_in_unit``: its rows that the cap a day and then the cap a unit leave; else 0. One shuffle by unit.
    """
    sums = [f"sum({part}) AS {part}" for part in ("held", "quantity", "n")]
    by_series = rows.repartition("unit").groupBy("unit", "day", "series").agg(*map(F.expr, sums))
    of_day, of_unit = "OVER (PARTITION BY unit, day)", "OVER (PARTITION BY unit)"
    n_day, n_unit = f"sum(n) {of_day}", f"sum(n_in_day) {of_unit}"
    has_day_cap = max_rows_per_day < max_rows
    in_day = f"least({n_day}, {max_rows_per_day}L)" if has_day_cap else n_day
    days = by_series.selectExpr(
        "*", f"{n_day} AS n_day", f"CASE WHEN series = min(series) {of_day} THEN {in_day} ELSE 0L END AS n_in_day"
    )
    tells_unit = f"struct(day, series) = min(struct(day, series)) {of_unit}"
    return days.selectExpr(
        *("series", "held", "quantity", "n", "n_in_day"),
        f"{_share(max_rows_per_day, 'n_day') if has_day_cap else '1D'} * {_share(max_rows, n_unit)} AS chance",
        f"CASE WHEN {tells_unit} THEN least({n_unit}, {max_rows}L) ELSE 0L END AS n_in_unit",
    )


def _share(cap: int, n_rows: str) -> str:
    return f"least(1D, {cap}D / greatest({n_rows}, 1L))"


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
