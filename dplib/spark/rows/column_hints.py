"""The sentence about a column that the input lacks: which columns there are, and what is probably meant.

Names of columns are schema. They are shown where the input has names (a header line, a footer, a table), never of
inputs without: their first line would be a row.
"""

import difflib
from collections.abc import Sequence

from dplib.config.names import BLANKS
from dplib.spark.rows.input_files import listed

_SIGNS = {";": "semicolons", "\t": "tabs", "|": "bars", ":": "colons", ",": "commas"}
_OTHER_FORMATS = {
    "PAR1": "the file is Parquet: set input.format to parquet",
    "ORC": "the file is ORC: set input.format to orc",
    "PK\x03\x04": "the file is a workbook or an archive: save its sheet as CSV",
    "\x1f": "the file is compressed: give its name the ending .gz",
    "BZh": "the file is compressed: give its name the ending .bz2",
    "(\ufffd/\ufffd": "the file is compressed: give its name the ending .zst",
    "{": "the file is JSON: set input.format to json",
    "<": "the file is XML or a page: save it as CSV",
    "%PDF": "the file is a PDF document: save it as CSV",
}


def missing_column(role: str, wanted: str, found: Sequence[str], separator: str | None = None) -> str:
    """One sentence about a column that the input does not hold exactly once.

    Args:
        role: role of the column, as in `input.columns`.
        wanted: the name that was configured.
        found: the names of the input's columns.
        separator: what stands between the fields of a header line; None where there is no header line.
    """
    rule = f"input.columns.{role} must name one column of the input, got {wanted}"
    times = list(found).count(wanted)
    if times > 1:
        return f"{rule}, which stands {times} times among its columns ({listed(found)}); rename all but one"
    other_file = _file_hint(found) if separator is not None else None
    if other_file is not None:
        return f"{rule}; {other_file}"
    hint = _name_hint(wanted, found)
    if hint is None and separator is not None:
        hint = _separator_hint(found, separator)
    if hint is None:
        close = difflib.get_close_matches(wanted, list(dict.fromkeys(found)), n=1)
        hint = f"did you mean {listed(close)}?" if close else None
    columns = f"its columns are {listed(found)}" if found else "it has no columns"
    return f"{rule}; {columns}" + (f": {hint}" if hint else "")


def _file_hint(found: Sequence[str]) -> str | None:
    """What the file is where its first line is no header at all."""
    text = "".join(found)
    for start, hint in _OTHER_FORMATS.items():
        if text.startswith(start):
            return hint
    return "the file is UTF-16 text, or no text: save it as UTF-8" if "\0" in text else None


def _name_hint(wanted: str, found: Sequence[str]) -> str | None:
    padded = [name for name in found if name.strip(BLANKS) == wanted.strip(BLANKS)]
    if padded:
        return f"did you mean {listed(padded)}, with the blanks that the input has around it?"
    cased = [name for name in found if name.strip(BLANKS).casefold() == wanted.strip(BLANKS).casefold()]
    return f"did you mean {' or '.join(listed([name]) for name in cased)}? Capitals count" if cased else None


def _separator_hint(found: Sequence[str], separator: str) -> str | None:
    if len(found) != 1:
        return None
    counts = {sign: found[0].count(sign) for sign in _SIGNS if sign != separator}
    sign = max(counts, key=lambda each: counts[each])
    if counts[sign] == 0:
        return None
    shown = "\\t" if sign == "\t" else sign
    return f'the first line holds {_SIGNS[sign]}: set input.options.sep to "{shown}"'
