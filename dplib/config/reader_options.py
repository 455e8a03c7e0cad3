"""The formats and reader options that are safe row by row, and what each option is for.

The reader is part of the guarantee: neighbouring inputs are sets of rows, so a row must change its own count and
nothing else. A format or an option under which one record can delete, merge or fail others would make every stated
sensitivity false, so it is refused by name. What is left has one of two roles:

    counts    decides which rows are counted and as what: part of the measurement's settings
    access    only how the input is reached or opened (addresses, credentials): never hashed, never published

Names are compared without regard to capitals, as Spark does; their canonical spelling is the one of this table. Spark's
options with no effect here (types are never inferred) are refused too: nothing in a configuration is ignored.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dplib.validate import did_you_mean

Rule = Callable[[str], bool]

FORMATS = ("csv", "json", "parquet", "orc", "delta")
"""Formats of `input.path` that are safe row by row, in every job; lists of edges have snap, metis and gml besides."""
REFUSED_FORMATS = {
    "xml": "one missing end tag deletes the records behind it; write JSON, one record a line",
    "text": "its lines have no columns; use csv with options.sep",
    "avro": "one damaged record fails its whole file; write Parquet",
    "binaryfile": "its rows are files",
    "image": "its rows are files",
    "libsvm": "one odd line fails the run; write Parquet",
    "jdbc": "a query can fail on one row; use input.table or write Parquet",
    "excel": "it has no rows that Spark reads one by one; save the sheet as CSV",
    "xlsx": "it has no rows that Spark reads one by one; save the sheet as CSV",
    "tsv": 'Spark calls it csv; write format: csv with options: {sep: "\\t"}',
    "ndjson": "Spark calls it json; write format: json",
    "jsonl": "Spark calls it json; write format: json",
    "iceberg": "Spark reads it from a catalogue; use input.table",
    "hudi": "Spark reads it from a catalogue; use input.table",
}
"""Formats that people ask for, and why they are refused."""


@dataclass(frozen=True)
class ReaderOption:
    """An option that counts.

    Attributes:
        name: canonical spelling.
        rule: ends the sentence ``input.options.<name> must ...``; empty where any value is right.
        accepts: whether a value is right.
        lower: whether capitals in a value mean nothing.
    """

    name: str
    rule: str = ""
    accepts: Rule = lambda value: True
    lower: bool = False


def _one_of(name: str, *values: str, lower: bool = True) -> ReaderOption:
    known = {value.lower() for value in values} if lower else set(values)
    rule = "be " + " or ".join(values)
    return ReaderOption(name, rule, lambda value: (value.lower() if lower else value) in known, lower)


def _flag(name: str) -> ReaderOption:
    return _one_of(name, "true", "false")


def _sign(name: str) -> ReaderOption:
    return ReaderOption(name, "be one character, or empty for none", lambda value: len(value) <= 1)


def _separator(name: str) -> ReaderOption:
    return ReaderOption(name, "be at least one character and no line end", lambda v: bool(v.strip("\r\n")))


def _moment(name: str) -> ReaderOption:
    pattern = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
    return ReaderOption(name, "be a moment YYYY-MM-DDTHH:MM:SS", lambda value: pattern.fullmatch(value) is not None)


_FILES = (
    ReaderOption("pathGlobFilter", "not be empty", bool),
    _flag("recursiveFileLookup"),
    _moment("modifiedBefore"),
    _moment("modifiedAfter"),
    ReaderOption("basePath", "not be empty", bool),
)
_LINES = (ReaderOption("lineSep", "be one character", lambda value: len(value) == 1),)
_CSV_ENCODINGS = ("UTF-8", "US-ASCII", "ISO-8859-1", "windows-1252")
_CSV = (
    _flag("header"),
    _separator("sep"),
    _separator("delimiter"),
    _sign("quote"),
    _sign("escape"),
    _sign("charToEscapeQuoteEscaping"),
    _sign("comment"),
    _one_of("encoding", *_CSV_ENCODINGS),
    _one_of("charset", *_CSV_ENCODINGS),
    _flag("ignoreLeadingWhiteSpace"),
    _flag("ignoreTrailingWhiteSpace"),
    ReaderOption("nullValue"),
    ReaderOption("emptyValue"),
    _one_of("unescapedQuoteHandling", "STOP_AT_CLOSING_QUOTE", "BACK_TO_DELIMITER", "STOP_AT_DELIMITER", "SKIP_VALUE"),
)
_JSON = (
    _flag("allowComments"),
    _flag("allowUnquotedFieldNames"),
    _flag("allowSingleQuotes"),
    _flag("allowNumericLeadingZeros"),
    _flag("allowNonNumericNumbers"),
    _flag("allowBackslashEscapingAnyCharacter"),
    _flag("allowUnquotedControlChars"),
    _one_of("encoding", "UTF-8"),
    _one_of("charset", "UTF-8"),
)
_PARQUET = (_one_of("datetimeRebaseMode", "CORRECTED", "LEGACY"), _one_of("int96RebaseMode", "CORRECTED", "LEGACY"))
_METIS = (_one_of("first", "0", "1"),)
_GML = (_one_of("label", "label", "id", lower=False),)
OPTIONS: dict[str, tuple[ReaderOption, ...]] = {
    "csv": (*_FILES, *_LINES, *_CSV),
    "json": (*_FILES, *_LINES, *_JSON),
    "parquet": (*_FILES, *_PARQUET),
    "orc": _FILES,
    "delta": (),
    "snap": (),
    "metis": _METIS,
    "gml": _GML,
}
"""The options of each format. Those of `ACCESS` may stand beside them."""
ACCESS = re.compile(
    r"(fs|aws|azure|google|gcs|s3)[._].+|allow_(http|invalid_certificates)|(connect_|pool_idle_)?timeout|proxy_url"
    r"|user_agent|(access_key_id|secret_access_key|session_token|region|endpoint|endpoint_url|token|account_name"
    r"|account_key|client_id|client_secret|tenant_id|sas_token|service_account(_path|_key)?)",
    re.IGNORECASE,
)
"""Names of options that only reach the input: Hadoop's file systems, and the stores of Delta tables."""
_ACCESS_FORMATS = ("csv", "json", "parquet", "orc", "delta")

FIXED = {"mode": "PERMISSIVE", "inferschema": "false", "enforceschema": "false", "multiline": "false"}
"""Options of text readers that have one safe value; given with it, they decide nothing."""
_NO_EFFECT = "it has no effect: columns of text are read as text, and `input.date_format` says what a day looks like"
REFUSED = {
    "mode": "a stricter mode stops at a row and quotes it",
    "multiline": "one unclosed quote or bracket would swallow the rows behind it",
    "wholefile": "one unclosed quote or bracket would swallow the rows behind it",
    "inferschema": "one row could change the type of a column",
    "enforceschema": "columns are compared with every file's header",
    "maxcolumns": "one line with more columns would fail the run; a longer line is a row of nothing",
    "maxcharspercolumn": "one longer value would fail the run; any length can be read",
    "maxmalformedlogpartition": "rows are never logged",
    "columnnameofcorruptrecord": "the row rule drops what cannot be read",
    "ignorecorruptfiles": "a damaged file would be left out unseen",
    "ignoremissingfiles": "a missing file would be left out unseen",
    "mergeschema": "all files must have the same columns",
    "samplingratio": _NO_EFFECT,
    "dateformat": _NO_EFFECT,
    "timestampformat": _NO_EFFECT,
    "timestampntzformat": _NO_EFFECT,
    "timezone": "it has no effect: `input.timezone` is the time zone",
    "locale": _NO_EFFECT,
    "nanvalue": _NO_EFFECT,
    "positiveinf": _NO_EFFECT,
    "negativeinf": _NO_EFFECT,
    "preferdate": _NO_EFFECT,
    "primitivesasstring": _NO_EFFECT,
    "prefersdecimal": _NO_EFFECT,
    "dropfieldifallnull": _NO_EFFECT,
    "enabledatetimeparsingfallback": _NO_EFFECT,
    "versionasof": "the version of a table is `input.version`",
    "timestampasof": "the version of a table is `input.version`",
    "readchangefeed": "changes are no rows",
    "rowtag": "it belongs to XML, where one missing end tag deletes the records behind it",
    "compression": "Spark sees it in a file's name (.gz, .bz2, .zst)",
    "path": "it is `input.path`",
}
"""Options that people ask for, and why they are refused (names in small letters)."""
_TWINS = (("sep", "delimiter"), ("encoding", "charset"))


def check_format(name: str, extra: tuple[str, ...] = ()) -> None:
    """Refuse a format that is not safe row by row.

    Args:
        name: `input.format`, in any capitals.
        extra: formats of the job besides `FORMATS`.

    Raises:
        ValueError: as pydantic's validators raise it.
    """
    lower = name.lower()
    if lower in (*FORMATS, *extra):
        return
    allowed = ", ".join((*FORMATS[:-1], *extra)) + f" or {FORMATS[-1]}"
    why = f" ({REFUSED_FORMATS[lower]})" if lower in REFUSED_FORMATS else did_you_mean(name, (*FORMATS, *extra))
    raise ValueError(f"input.format must be {allowed}, got {name}{why}")


def check_options(format_name: str, options: Mapping[str, str]) -> None:
    """Refuse options that are not safe row by row, unknown ones, and values that are wrong whatever the rows are.

    Args:
        format_name: a format of `OPTIONS`, in any capitals.
        options: `input.options`.

    Raises:
        ValueError: as pydantic's validators raise it; the sentence never shows the value of an access option.
    """
    seen: dict[str, str] = {}
    for name, value in options.items():
        lower = name.lower()
        if lower in seen:
            raise ValueError(f"input.options must name each option once, got {seen[lower]} and {name}")
        seen[lower] = name
        _check_option(format_name, name, value)
    for first, second in _TWINS:
        if first in seen and second in seen:
            raise ValueError(f"input.options must name each option once, got {seen[first]} and {seen[second]}")


def _check_option(format_name: str, name: str, value: str) -> None:
    known, lower = _known(format_name), name.lower()
    if lower in known:
        if not known[lower].accepts(value):
            raise ValueError(f"input.options.{name} must {known[lower].rule}, got {value}")
        return
    if is_access(format_name, name):
        return
    fixed = FIXED.get(lower) if format_name.lower() in ("csv", "json") else None
    if fixed is not None and value.lower() == fixed.lower():
        return
    if lower in REFUSED:
        allowed = "be absent" if fixed is None else f"be absent or {fixed}"
        raise ValueError(f"input.options.{name} must {allowed}, since {REFUSED[lower]}, got {_shown(value)}")
    names = [option.name for option in OPTIONS[format_name.lower()]]
    rule = f"be options of the format {format_name} that are safe row by row ({', '.join(names) or 'none'})"
    raise ValueError(f"input.options must {rule}, got {name}{did_you_mean(name, names)}")


def counted_options(format_name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The checked options that decide what is counted, by canonical name: what belongs into measurement settings."""
    known = _known(format_name)
    found = {}
    for name, value in options.items():
        option = known.get(name.lower())
        if option is not None:
            found[option.name] = value.lower() if option.lower and value.lower() in ("true", "false") else value
    return dict(sorted(found.items()))


def access_options(format_name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options that only say how the input is reached, as they were given. They may hold passwords."""
    return {name: value for name, value in options.items() if is_access(format_name, name)}


def is_access(format_name: str, name: str) -> bool:
    """Whether an option only says how the input is reached."""
    if format_name.lower() not in _ACCESS_FORMATS or name.lower() in _known(format_name):
        return False
    return ACCESS.fullmatch(name) is not None


def is_file_option(name: str) -> bool:
    """Whether an option chooses files, in whatever format they are."""
    return name.lower() in {option.name.lower() for option in _FILES}


def is_option(format_name: str, name: str) -> bool:
    """Whether a format takes an option."""
    return name.lower() in _known(format_name)


def _known(format_name: str) -> dict[str, ReaderOption]:
    return {option.name.lower(): option for option in OPTIONS.get(format_name.lower(), ())}


def _shown(value: str) -> str:
    return value if len(value) <= 40 else "a long text"
