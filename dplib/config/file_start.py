"""From the start of a CSV file to a job's example for it: names of columns and formats; no value of a row is written.

The delimiter is the one that takes the header line into the most names; the encoding is UTF-8 where the start is, or
windows-1252 or ISO-8859-1; the date pattern is the one that reads most of the first rows. Which column plays which role
is guessed from its name, and its owner reads what was guessed. A first line with a number or a date among its names is
a row, no header, and is not shown.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dplib.config.date_patterns import guess_patterns
from dplib.errors import ConfigError
from dplib.validate import require

START = 1 << 16
"""Bytes that are looked at."""
_NAMES = {
    "day": ("date", "day", "datetime", "timestamp", "time"),
    "item": ("item", "product", "article", "sku", "category", "name"),
    "quantity": ("quantity", "qty", "pieces"),
    "unit": ("customer", "user", "person", "patient", "order", "visitor", "id"),
    "value": ("value", "amount", "age", "duration", "price", "minutes"),
    "group": ("group", "site", "region", "store", "airport", "department"),
    "source": ("source", "from", "person", "src"),
    "target": ("target", "to", "friend", "met", "dst"),
}
"""Words of the names of columns, by role, the likeliest first."""


@dataclass(frozen=True)
class FileStart:
    """What a file's start says of its form.

    Attributes:
        columns: names of the header line.
        delimiter: between them.
        encoding: as Spark's reader calls it.
        patterns: date pattern by column, of columns that hold dates.
    """

    columns: tuple[str, ...]
    delimiter: str
    encoding: str
    patterns: dict[str, str]

    @classmethod
    def of(cls, path: Path) -> "FileStart":
        """Look at a file.

        Raises:
            ConfigError: if it cannot be read, or its first line does not name columns.
        """
        try:
            with path.open("rb") as file:
                start = file.read(START)
        except OSError:
            raise ConfigError("--from", "be a CSV file that can be read", path) from None
        text, encoding = _decoded(start)
        lines = text.splitlines()[: -1 if len(start) == START else None]
        header = lines[0] if lines else ""
        delimiter = max(",;\t|", key=lambda each: len(next(csv.reader([header], delimiter=each), [])))
        # Rows are looked at for the form of their dates alone.
        named, *rows = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter) if header else [[]]
        good = len(set(named)) == len(named) > 0 and "\0" not in header
        good = good and all(name.strip() and not _is_value(name.strip()) for name in named)
        require(good, "--from", "begin with a line that names its columns, each once", path)
        whole = [row for row in rows if len(row) == len(named)]
        patterns = {}
        for place, name in enumerate(named):
            guesses = guess_patterns([(row[place].strip(), 1) for row in whole])
            if guesses and guesses[0].rows > len(whole) / 2:
                patterns[name] = guesses[0].pattern
        return cls(tuple(named), delimiter, encoding, patterns)

    def column_for(self, role: str, taken: Sequence[str]) -> str | None:
        """The column that probably plays a role; None where none does."""
        free = [name for name in self.columns if name not in taken and (name in self.patterns) == (role == "day")]
        for word in _NAMES.get(role, ()):
            for name in free:
                if word in re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()):
                    return name
        return free[0] if role == "day" and free else None


def _decoded(start: bytes) -> tuple[str, str]:
    try:
        return start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        # Bytes that are controls there are signs, such as the euro's, in what Windows writes.
        name = "windows-1252" if re.search(rb"[\x80-\x9f]", start) else "ISO-8859-1"
        return start.decode(name, "replace"), name


def _is_value(text: str) -> bool:
    """Whether a text is a number or a date, which no column is called."""
    return bool(guess_patterns([(text, 1)])) or re.fullmatch(r"[-+]?[\d.,]+(e[-+]?\d+)?", text) is not None


def example_for(example: str, path: Path) -> str:
    """A job's example with the section ``input`` of a file.

    Args:
        example: the commented configuration of the job.
        path: the file.

    Raises:
        ConfigError: as of `FileStart.of`.
    """
    found, quoted = FileStart.of(path), json.dumps
    options = {"header": "true"}
    options |= {"sep": found.delimiter} if found.delimiter != "," else {}
    options |= {"encoding": found.encoding} if found.encoding != "UTF-8" else {}
    columns: list[str] = []
    missing: list[str] = []
    taken: list[str] = []
    given = re.search(r"^  columns: \{(.*?)\}(?=\s|$)", example, re.MULTILINE)
    assert given is not None
    for role in re.findall(r"(\w+): ", given[1]):
        column = found.column_for(role, taken)
        taken += [] if column is None else [column]
        missing += [role] if column is None else []
        columns.append(f"{role}: {'CHOOSE' if column is None else quoted(column, ensure_ascii=False)}")
    named = ", ".join(quoted(name, ensure_ascii=False) for name in found.columns)
    choose = [f"  # CHOOSE a column for {', '.join(missing)}, or leave the role out where it is optional\n"] * bool(
        missing
    )
    lines = f"  columns: {{{', '.join(columns)}}}\n  # columns of the file: {named}\n" + "".join(choose)
    text = example[: given.start()] + lines + example[example.index("\n", given.end()) + 1 :]
    text = re.sub(
        r"^  path: \S+", lambda _: f"  path: {quoted(str(path), ensure_ascii=False)}", text, count=1, flags=re.M
    )
    text = text.replace('options: {header: "true"}', f"options: {quoted(options)}", 1)
    day = next((found.patterns[name] for name in taken if name in found.patterns), None)
    pattern = f"  date_format: {quoted(day)}"
    return text if day is None else re.sub(r"^  date_format: \S+", lambda _: pattern, text, flags=re.MULTILINE)
