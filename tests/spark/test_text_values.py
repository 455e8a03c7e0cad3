"""Texts are numbers by a grammar, and days by a pattern that loses none."""

import datetime as dt
from functools import reduce

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from dplib.errors import ConfigError
from dplib.spark.rows.resolve import number_sql
from dplib.spark.rows.sql_text import literal
from dplib.spark.rows.timestamps import (
    KNOWN_PATTERNS,
    OUTSIDE,
    check_date_format,
    plain_date,
    probe_date_format,
    with_day_number,
)
from tests.spark.reading import source
from tests.support.interpreted import interpreting

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
NUMBERS = ["5", "+5", "-5.", ".5", "5e2", "1E-3", " 7 ", "1e400", "05", "Infinity", "-inf"]
NO_NUMBERS = [
    "5f", "5D", "1F", "2d", "0x5", "2L", "NaN", "nan", "infin", "++inf", "1,000", "1_0", "0x1p3", "٣", "", ".", "e5",
    "1e", "--1", "1-2", "1 2", "True", "½", "5e2.5", "1.2.3",
]  # fmt: skip


def test_only_plain_decimal_numbers_are_numbers(compiled: SparkSession) -> None:
    texts = compiled.createDataFrame([(text,) for text in NUMBERS + NO_NUMBERS], "t string")
    found = [row[0] for row in texts.selectExpr(number_sql("t", "string")).collect()]
    assert found == [float(text) for text in NUMBERS] + [None] * len(NO_NUMBERS)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("yyyy-MM-DD", "did you mean yyyy-MM-dd"),
        ("DD/MM/YYYY", "did you mean dd/MM/yyyy"),
        ("dd/mm/yyyy", "did you mean dd/MM/yyyy"),
        ("YYYY-MM-dd", "did you mean yyyy-MM-dd"),
        ("yyyy-MM-dd HH:MM", "did you mean yyyy-MM-dd HH:mm"),
        ("dd.MM.yyyy hh:mm", "did you mean HH"),
        ("MM/dd/yyyy HH:mm a", "did you mean hh"),
        ("yyyy-MM-dd dd", "hold the day of the month .* once"),
        ("yyyy-MM", "hold year, month"),
        ("MMM d", "hold year, month"),
        *((pattern, "") for pattern in ("foo", "yyyy-MM-dd'T", "HH:mm", "", "E d MMM yyyy")),
    ],
)
def test_patterns_that_lose_days_are_refused_with_the_one_that_is_meant(
    pattern: str, said: str, spark: SparkSession
) -> None:
    with pytest.raises(ConfigError, match=rf"^input.date_format must .*{said}"):
        check_date_format(spark, pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "yyyy-DDD",
        "MM/dd/yyyy hh:mm a",
        "d MMM yyyy",
        "[yyyy-MM-dd][dd/MM/yyyy]",
        "yyyy-MM-dd'T'HH:mm:ss.SSSX",
        "yyMMdd HH",
        "d.M.yy",
        "dd/MM/yyyy HH:mm",
        "yyyy-MM-dd'T'HH:mm:ssXXX",
    ],
)
def test_patterns_that_lose_none_are_accepted(pattern: str, spark: SparkSession) -> None:
    check_date_format(spark, pattern)


WINDOWS = ((dt.date(1, 1, 1), 3_652_059), (dt.date(2024, 2, 1), 29))


def texts_of(pattern: str) -> list[str]:
    """Days of a pattern in and between years, few of them right, and texts that are almost one."""
    years, months, days = (0, 1, 1900, 2023, 2024, 9999), (0, 1, 2, 12, 13), (0, 1, 28, 29, 30, 31, 32)
    moments = [f"{h:02}:{m:02}:{s:02}" for h in (0, 9, 23, 24) for m in (0, 59, 60) for s in (0, 59, 60)]
    marks = {"yyyy": "{0:04}", "MM": "{1:02}", "dd": "{2:02}", "HH:mm:ss": "{3}", "'T'": "T"}
    form = reduce(lambda text, mark: text.replace(mark, marks[mark]), marks, pattern)
    texts = [form.format(y, m, d, moments[(y + m + d) % 36]) for y in years for m in months for d in days]
    texts += [form.format(2024, 2, 29, moment) for moment in moments]
    texts.append(form.format(2024, 3, 1, "00:00:00"))  # the day after the second window
    good = form.format(2024, 2, 29, "23:59:59")
    return [
        *texts,
        f"+{good}",
        f"+0{good}",
        good[:-1],
        f"{good}x",
        f"{good}\n",
        good.replace("2", "\u0662"),
        good.lower(),
        *(good[:-2] + end for end in ("9T", "9 ", "9\x01", "9\x7f", "9\xa0", " 9", "\x019", "1", "")),
        *(start + good[4:] for start in ("+024", "-024", "\x01024", " 024", "024", "02024")),
        *(good.replace("-", sign) for sign in ("--", "/", "", "\u2010")),
    ]


def numbered(spark: SparkSession, pattern: str) -> DataFrame:
    """For each text of a pattern whether its date is plain, its day by position in each window, and by Spark."""
    frame = spark.createDataFrame([(text,) for text in texts_of(pattern)], "t string")
    frame = frame.selectExpr(
        "t", f"{plain_date('t', pattern)} IS NOT NULL AS is_plain", f"{literal(pattern)} AS pattern"
    )
    # In brackets the same pattern is left to Spark.
    ways = {"spark": (f"[{pattern}]", WINDOWS[0])} | {f"position{i}": (pattern, each) for i, each in enumerate(WINDOWS)}
    for name, (each, (first, n_days)) in ways.items():
        with_day = with_day_number(frame, "t", "string", source(date_format=each), first, n_days)
        frame = with_day.select(*frame.columns, F.col("day_number").alias(name))
    return frame


def within(day: int | None, place: int) -> int | None:
    """A day of the first window, counted in another."""
    if day is None or day == OUTSIDE:
        return day
    (zero, _), (first, n_days) = WINDOWS[0], WINDOWS[place]
    moved = day - (first - zero).days
    return moved if 0 <= moved < n_days else OUTSIDE


@pytest.fixture(scope="module")
def days_of_patterns(spark: SparkSession) -> dict[str, list[Row]]:
    """Dates as they are written, and those whose parts are put in order, are compiled."""
    compiled = ("yyyy-MM-dd", "dd/MM/yyyy")
    found: dict[str, list[Row]] = {pattern: [] for pattern in KNOWN_PATTERNS}
    for patterns in (compiled, sorted(KNOWN_PATTERNS.difference(compiled))):
        with interpreting(spark, wanted=patterns is not compiled):
            for row in reduce(DataFrame.union, (numbered(spark, pattern) for pattern in patterns)).collect():
                found[row["pattern"]].append(row)
    return found


def test_what_tells_a_plain_date_names_its_text_four_times_at_most() -> None:
    """Spark writes the text out wherever it moves a filter on the day: with six, a stream's plan takes minutes."""
    assert max(plain_date("a_text", pattern).count("a_text") for pattern in KNOWN_PATTERNS) <= 4


@pytest.mark.parametrize("pattern", sorted(KNOWN_PATTERNS))
def test_known_patterns_are_read_by_position_as_by_spark(
    pattern: str, spark: SparkSession, days_of_patterns: dict[str, list[Row]]
) -> None:
    probe_date_format(spark, pattern)
    rows = days_of_patterns[pattern]
    assert len(rows) == len(texts_of(pattern))
    assert sum(row["is_plain"] for row in rows) > 30
    for place in range(len(WINDOWS)):
        assert [row[f"position{place}"] for row in rows] == [within(row["spark"], place) for row in rows]
    assert {None, OUTSIDE, 28} <= {row["position1"] for row in rows}


@pytest.mark.parametrize("as_written", ["false", "true"])
def test_a_literal_is_its_text_whatever_the_session_makes_of_escapes(as_written: str, spark: SparkSession) -> None:
    texts = ["", "plain", "it's", '"', "a\\nb\\", "${spark.master}", "`", "\0\t\ufeff", "\xe9", "-- ;", "/* */"]
    texts += [*map(chr, range(33)), "\x85\u2028\U0001f600%"]
    spark.conf.set("spark.sql.parser.escapedStringLiterals", as_written)
    try:
        row = spark.range(1).selectExpr(*(f"{literal(text)} AS t{i}" for i, text in enumerate(texts))).collect()[0]
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert list(row) == texts
