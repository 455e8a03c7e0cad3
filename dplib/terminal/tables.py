"""Tables that fit a terminal: numbers and dates stay whole, texts are folded, rows still too wide become lists.

Widths are given to columns from the widest down, first by folding texts between words, then numbers between words, then
texts anywhere.
"""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.table import Table

from dplib.terminal.text import cell, visible

GAP = 2
"""Between columns."""
LEAST = 8
"""Width down to which a text is folded within its words."""


def fitted_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str], width: int
) -> Table:
    """A plain table of at most a width.

    Args:
        title: above it.
        columns: headers.
        rows: texts.
        right: headers of the columns that are aligned to the right: numbers.
        width: of the terminal, in characters.
    """
    shown = Table(title=cell(title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    widths = column_widths(columns, rows, right, width)
    if widths is None:
        shown.show_header = False
        shown.add_column(no_wrap=True)
        shown.add_column(overflow="fold")
        for row in rows:
            for column, text in zip(columns, row, strict=True):
                shown.add_row(cell(column), cell(text))
            shown.add_row("", "")
        return shown
    for column, own in zip(columns, widths, strict=True):
        shown.add_column(cell(column), justify="right" if column in right else "left", overflow="fold", width=own)
    for row in rows:
        shown.add_row(*map(cell, row))
    return shown


def column_widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str], width: int
) -> list[int] | None:
    """The width of each column, None where they do not fit."""
    texts = [[visible(row[place]) for row in rows] for place in range(len(columns))]
    body = [max(map(_lines_width, column), default=0) for column in texts]
    headers = [_word_width(visible(name)) for name in columns]
    words = [max(map(_word_width, column), default=0) for column in texts]
    full = [max(cell_len(visible(name)), own) for name, own in zip(columns, body, strict=True)]
    numbers = [name in right for name in columns]
    for leasts in (
        (whole if number else word for whole, word, number in zip(body, words, numbers, strict=True)),
        words,
        (word if number else min(word, LEAST) for word, number in zip(words, numbers, strict=True)),
    ):
        least = [max(header, own) for header, own in zip(headers, leasts, strict=True)]
        found = _shrunk(full, least, width - GAP * (len(columns) - 1))
        if found is not None:
            return found
    return None


def _shrunk(full: Sequence[int], least: Sequence[int], limit: int) -> list[int] | None:
    """Widths that add up to a limit at most, taken from the widest that may shrink."""
    widths = list(full)
    while sum(widths) > limit:
        _, place = max(_that_may_shrink(widths, least), default=(0, -1))
        if place < 0:
            return None
        widths[place] -= 1
    return widths


def _that_may_shrink(widths: Sequence[int], least: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((own, place) for place, own in enumerate(widths) if own > least[place])


def _lines_width(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _word_width(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
