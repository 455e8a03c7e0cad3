"""The text of a public table with other columns and rows."""

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""Control characters and other ends of lines: no name of anything that is published."""
DELIMITERS = ",;\t|"
"""Between the cells of public tables, the usual one first."""


def without_columns(table: str, names: Collection[str]) -> str:
    """The text of a table without some of its columns."""
    if not names:
        return table
    rows = list(csv.reader(io.StringIO(table, newline=""), strict=True))
    kept = [place for place, name in enumerate(rows[0]) if name not in names]
    return _text([row[place] for place in kept] for row in rows)


def with_row(table: str, row: Mapping[str, str]) -> str:
    """The text of a table with one more row, whose cells in columns that it does not name are empty."""
    sign = delimiter_of(table, row)
    line = _text([[row.get(name, "") for name in _header(table, sign)]], sign)
    # Line ends alone: an empty last cell is a delimiter, which may be a tab.
    return table.rstrip("\r\n") + f"\n{line}"


def with_names(
    table: str, columns: Sequence[str], names: Collection[str], separator: str, folded: Callable[[str], str] = str
) -> str:
    """The text of a table with the rows only whose cells in some columns, joined, are one of some names once folded.

    A text that is no CSV, and lines that lack a cell, stay for those to refuse who read them.
    """
    sign, kept = delimiter_of(table, columns), set(map(folded, names))
    header = _header(table, sign)
    if not set(columns) <= set(header):
        return table
    places = [header.index(name) for name in columns]
    rows = csv.reader(io.StringIO(table, newline=""), delimiter=sign, strict=True)

    def stays(row: Sequence[str]) -> bool:
        return len(row) != len(header) or folded(separator.join(row[at].strip() for at in places)) in kept

    try:
        return _text((row for number, row in enumerate(rows) if not number or stays(row)), sign)
    except csv.Error:
        return table


def delimiter_of(table: str, names: Iterable[str]) -> str:
    """The sign between the cells of a table: the one that makes its header hold most of the names, or most cells."""
    headers, wanted = {sign: _header(table, sign) for sign in DELIMITERS}, set(names)
    return max(DELIMITERS, key=lambda sign: (len(wanted & set(headers[sign])), len(headers[sign])))


def _header(table: str, sign: str) -> list[str]:
    # The first line alone: a quote that is not closed would take the whole table.
    line = next(iter(table.splitlines()), "")
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=sign), [])]
    except csv.Error:  # a longer name than the reader takes: who reads the table refuses it
        return []


def _text(rows: Iterable[Sequence[str]], sign: str = ",") -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=sign, lineterminator="\n").writerows(rows)
    return written.getvalue()
