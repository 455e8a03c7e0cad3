"""The blocks a report page is made of: frozen values that say what is shown, never how.

A page is a title and sections, a section a heading and blocks. Text is plain text; where a part of it is a command, a
file name or stressed, the text is a tuple of parts with `Mono` and `Strong` among them. There is no markup language, so
a name from the settings can hold any character and is shown as it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Mono:
    """A command, a file name or another literal inside a text."""

    text: str


@dataclass(frozen=True)
class Strong:
    """A stressed part of a text."""

    text: str


@dataclass(frozen=True)
class Faint:
    """A part of a text that stands back: a number that its error swallows."""

    text: str


Text = str | tuple[str | Mono | Strong | Faint, ...]


def set_back(row: Iterable[str], swallowed: bool) -> tuple[Text, ...]:
    """Cells of a row, which stand back where the error of its number swallows it."""
    return tuple((Faint(text),) if swallowed else text for text in row)


@dataclass(frozen=True)
class Paragraphs:
    """Running text, one entry a paragraph."""

    texts: tuple[Text, ...]


@dataclass(frozen=True)
class Bullets:
    """A list without order."""

    items: tuple[Text, ...]


@dataclass(frozen=True)
class KeyValues:
    """Names with their values, for example the settings that matter."""

    pairs: tuple[tuple[str, Text], ...]


@dataclass(frozen=True)
class Column:
    """A table's column; numeric ones are set flush right."""

    name: str
    numeric: bool = False


def heads(*texts: str, numbers: Iterable[str] = ()) -> tuple[Column, ...]:
    """Columns of texts, and then of numbers."""
    return (*map(Column, texts), *(Column(name, numeric=True) for name in numbers))


@dataclass(frozen=True)
class DataTable:
    """A table whose first column names its rows.

    Attributes:
        caption: what the table shows.
        columns: one `Column` for each cell of a row.
        rows: cells as text, as many as there are columns.
        tall: whether the table scrolls inside a limited height on screen (print shows all of it).
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Text, ...], ...]
    tall: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"rows must have {len(self.columns)} cells each")
        if self.columns[0].numeric:
            raise ValueError("the first column must be of texts: it names the rows")


@dataclass(frozen=True)
class Figure:
    """A drawing made by `dplib.page.figures`.

    Attributes:
        svg: the drawing; trusted, since those functions escape every text they are given.
        title: heading of the figure.
        caption: how to read it.
        alt: what a reader who does not see it needs to know.
    """

    svg: str
    title: str
    caption: Text
    alt: str


@dataclass(frozen=True)
class Callout:
    """A box for what must not be missed."""

    title: str
    text: Text
    tone: Literal["note", "warning"] = "note"


@dataclass(frozen=True)
class Code:
    """Commands or a citation, shown as they are typed."""

    text: str
    label: str


@dataclass(frozen=True)
class Chooser:
    """A drawing of any of the series, made by the page's one script; hidden where scripts are not run.

    Attributes:
        word: what a series is.
        caption: what there is to choose from.
        data: of `dplib.page.chooser`, JSON that cannot end an element.
    """

    word: str
    caption: Text
    data: str


Block = Paragraphs | Bullets | KeyValues | DataTable | Figure | Callout | Code | Chooser


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]
