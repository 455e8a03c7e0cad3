"""From a date, timestamp or text to a day of the domain, whatever the session's time zone is.

The day of an instant (a typed timestamp, or a text whose pattern reads a zone) is its day in the fixed zone
`input.timezone`. The day of a text without zone is the day that is written, that of a date or of a timestamp without
zone its own. Where the pattern's zone is optional, a text without one is taken as UTC.

No value may stop a run: texts are parsed by the JSON reader's formatter, since `try_to_timestamp` fails on years
beyond 294246, and far instants are not shifted to a zone, which could overflow.
"""

import datetime as dt
import re
from calendar import monthrange

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dplib.config.date_patterns import check_pattern, suggestion
from dplib.config.sections import Timestamps
from dplib.errors import ConfigError
from dplib.spark.engine.session import SPARK_ERRORS, pin_session
from dplib.spark.rows.sql_text import literal

EPOCH = dt.date(1970, 1, 1)
MICROS_PER_DAY = 86_400_000_000
OUTSIDE = -1
"""Day number of every moment outside the domain."""
KNOWN_PATTERNS = frozenset({"yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss", "dd/MM/yyyy", "yyyyMMdd"})
"""Patterns that the tests have Spark write and read; asking it takes a second of a run."""
_READ_BACK: set[tuple[str, str]] = set()
"""Versions of Spark with patterns that passed: what decides it is pinned in every session."""
_HOUR, _MINUTE = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_WIDE = {"yyyy": "[0-9]{4}", "MM": "[0-9]{2}", "dd": "[0-9]{2}", "HH": _HOUR, "mm": _MINUTE, "ss": _MINUTE}
"""Fields of one width and what their texts are."""


def check_date_format(spark: SparkSession, pattern: str) -> None:
    """Refuse a date pattern that Spark cannot read or that would lose days; reads no rows.

    A pattern is good if no field stands in it twice or in two ways (`dplib.config.date_patterns`), and if Spark reads
    back, of what it writes with it, the day and the hour of moments all over a leap year and a common one.

    Raises:
        ConfigError: naming `input.date_format`.
    """
    check_pattern(pattern)
    version = spark.version
    if pattern not in KNOWN_PATTERNS and (version, pattern) not in _READ_BACK:
        probe_date_format(spark, pattern)
        _READ_BACK.add((version, pattern))


def probe_date_format(spark: SparkSession, pattern: str) -> None:
    """Let Spark write and read moments with a pattern.

    Raises:
        ConfigError: naming `input.date_format`.
    """
    pin_session(spark)
    # A literal query: the texts are made inside Spark, so nothing of the input is touched.
    probes = spark.createDataFrame(pa.table({"seconds": pa.array(_PROBES, pa.int64())}))
    written = f"date_format(timestamp_seconds(seconds), {literal(pattern)})"
    read = f"CAST({parse_moment(written, pattern)} AS TIMESTAMP)"
    try:
        found = probes.selectExpr("seconds", f"unix_micros({read}) AS read").collect()
    except SPARK_ERRORS:
        raise ConfigError(
            "input.date_format", "be a pattern that Spark can read dates with", f"{pattern}{suggestion(pattern)}"
        ) from None
    for row in found:
        # A pattern may leave out seconds, minutes or the time of day, and nothing else.
        kept = {row["seconds"] - row["seconds"] % step for step in (1, 60, 3600, 86_400)}
        if row["read"] is None or row["read"] // 1_000_000 not in kept:
            raise ConfigError(
                "input.date_format",
                "hold year, month (MM) and day (dd), and read back every moment that it writes",
                f"{pattern}{suggestion(pattern)}",
            )


def _probes() -> list[int]:
    """Seconds of moments of a common and a leap year: days of one and two digits, times before and after noon."""
    days = [1, 2, 5, 9, 10, 11, 12, 13, 20, 28, 29, 30, 31]
    dates = [
        dt.date(year, month, day)
        for year in (2013, 2024)
        for month in range(1, 13)
        for day in days
        if day <= monthrange(year, month)[1]
    ]
    times = [0, 43_200, 47_103, 86_399, 3_723]
    return [(day - EPOCH).days * 86_400 + times[place % len(times)] for place, day in enumerate(dates)]


_PROBES = _probes()


def with_day_number(
    rows: DataFrame, moment: str, type_name: str, source: Timestamps, first_day: dt.date, n_days: int
) -> DataFrame:
    """The rows with a column ``day_number``: days since the domain's first day, int.

    Null where the moment cannot be read, `OUTSIDE` the domain -1.

    Args:
        rows: the rows.
        moment: of a row, as SQL: text without blanks at its ends, date, timestamp, or timestamp without zone.
        type_name: `typeName()` of its type.
        source: pattern and time zone.
        first_day: day 0.
        n_days: number of days of the domain.
    """
    first, last = (first_day - EPOCH).days, n_days - 1
    has_instant, is_near, steps = type_name == "timestamp", "false", list[str]()
    if type_name == "string":
        pattern, has_instant = source.date_format, has_zone(source.date_format)
        # Each is a column, so that what looks at it many times names it: a plan with its text would be as long.
        is_near = f"plain >= 0 AND plain <= {last}"
        steps = [
            f"{moment} AS moment",
            f"unix_date({plain_date('moment', pattern)}) - {first} AS plain",
            f"{parse_moment('moment', pattern, f'NOT coalesce({is_near}, false)')} AS parsed",
        ]
        moment = "parsed"
    if has_instant:
        local = f"unix_micros(from_utc_timestamp({moment}, {literal(source.timezone)}))"
        day = f"({local} - pmod({local}, {MICROS_PER_DAY})) / {MICROS_PER_DAY} - {first}"
        # No zone is more than a day from UTC.
        near = f"{(first - 2) * MICROS_PER_DAY} AND {(first + n_days + 2) * MICROS_PER_DAY}"
        day = f"CASE WHEN unix_micros({moment}) BETWEEN {near} THEN {day} END"
    else:
        day = f"CAST(unix_date(CAST({moment} AS DATE)) AS BIGINT) - {first}"
    found = f"CASE WHEN {is_near} THEN plain" if type_name == "string" else "CASE"
    found += f" WHEN {moment} IS NULL THEN NULL"
    found += f" WHEN {day} BETWEEN 0 AND {last} THEN CAST({day} AS INT) ELSE {OUTSIDE} END"
    return rows.selectExpr("*", *steps, f"{found} AS day_number")


def plain_date(text: str, pattern: str) -> str:
    """The date in a text whose fields are all of full width; null where a text, or the pattern, is another.

    Such texts have one meaning, and taking them apart by position costs a tenth of what a formatter does. The text and
    what is returned are SQL.
    """
    pieces = [found[0] for found in re.finditer(r"([a-zA-Z])\1*|'[A-Z]'|[-/.:, ]", pattern)]
    fields = [piece for piece in pieces if piece.isalpha()]
    if "".join(pieces) != pattern or not {"yyyy", "MM", "dd"} <= set(fields) <= set(_WIDE):
        return "CAST(NULL AS DATE)"
    place, places = 1, {}
    for piece in pieces:
        places[piece] = place
        place += len(piece.strip("'"))
    parts = ", ".join(f"substr({text}, {places[name]}, {len(name)})" for name in ("yyyy", "MM", "dd"))
    whole = "".join(_WIDE.get(piece, re.escape(piece.strip("'"))) for piece in pieces)
    plain = text if pattern == "yyyy-MM-dd" else f"concat_ws('-', {parts})"
    shape = literal(rf"\A{whole}\z")
    # The text stands here twice, or four times: Spark writes it out wherever it moves a filter on the day below this
    # column, and a stream's plan grows with each such place. With six it took minutes.
    return f"CASE WHEN rlike({text}, {shape}) THEN TRY_CAST({plain} AS DATE) END"


def parse_moment(text: str, pattern: str, asked: str | None = None) -> str:
    """A timestamp from text, with an instant if the pattern reads a zone; null where the text does not follow it.

    Args:
        text: the text, as SQL.
        pattern: the pattern.
        asked: where it is wanted, as SQL: null elsewhere.
    """
    kind, option = ("timestamp", "timestampFormat") if has_zone(pattern) else ("timestamp_ntz", "timestampNTZFormat")
    options = {option: pattern, "timeZone": "UTC", "mode": "PERMISSIVE", "enableDateTimeParsingFallback": "false"}
    written = f"to_json(named_struct('text', {text}))"
    written = written if asked is None else f"CASE WHEN {asked} THEN {written} END"
    said = ", ".join(literal(each) for option in options.items() for each in option)
    return f"from_json({written}, 'text {kind}', map({said})).text"


def has_zone(pattern: str) -> bool:
    """Whether a date pattern reads a zone or an offset (letters V z O X x outside quotes)."""
    return re.search("[VzOXx]", re.sub("'[^']*'", "", pattern)) is not None
