"""GML files, record by record: a broken record is judged alone and takes nothing from the others.

A record is what stands in the brackets after ``node`` or ``edge``. It ends with its bracket, or where the next record
begins; a text in quotes ends with its quotes, or with its line. So nothing that stands in one record, a missing bracket
or quote among it, can hide or change another one, and no record ends the reading: neither an edge that names no vertex
nor an id that stands twice. Of a record only its own keys count, those of lists inside it do not, and of a key that
stands twice the first.

A vertex is named by its label, one without a label by its id; or by its id alone. An edge whose ends are no ids of
vertices names its ends by what stands there, for the row rule to judge. Of vertices with the same id the first counts.

References: Himsolt, "GML: a portable graph file format", 1997.
"""

import re
from collections.abc import Iterator
from html import unescape

Cells = list[str | None]
Record = dict[str, str]
_TOKEN = re.compile(r'"[^"\r\n]*"?|\[|\]|[^\s\[\]"]+')
_COMMENT = re.compile(r"(?m)^[ \t]*#.*$")
_MAX_DIGITS = 18


def is_gml(text: str) -> bool:
    """Whether a graph begins in the text."""
    return re.search(r'(?m)^[^"\r\n]*\bgraph\s*\[', _COMMENT.sub("", text)) is not None


def gml_edges(text: str, label: str, weight: str | None) -> tuple[Cells, ...]:
    """Take a GML file apart.

    Args:
        text: the file.
        label: what names a vertex: label or id.
        weight: the attribute of an edge that is wanted as its weight, if any.

    Returns:
        The two ends of each edge and, where wanted, its weight, in the order of the file.
    """
    names: dict[str, str] = {}
    edges: list[Record] = []
    for kind, record in _records(text):
        if kind == "edge":
            edges.append(record)
        elif "id" in record:
            names.setdefault(_number(record["id"]), record.get(label, record["id"]))
    ends = tuple([_named(edge.get(end), names) for edge in edges] for end in ("source", "target"))
    return ends if weight is None else (*ends, [edge.get(weight) for edge in edges])


def _named(end: str | None, names: dict[str, str]) -> str | None:
    return None if end is None else names.get(_number(end), end)


def _number(text: str) -> str:
    """An id as it is compared: 07 is 7."""
    whole = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return str(int(text)) if whole else text


def _records(text: str) -> Iterator[tuple[str, Record]]:
    """The kind and the keys of each record."""
    kind, record, depth, key = "", Record(), 0, ""
    before = ""
    for match in _TOKEN.finditer(_COMMENT.sub("", text)):
        word = match.group()
        if word == "[" and before in ("node", "edge"):
            if kind:
                yield kind, record
            kind, record, depth, key = before, {}, 1, ""
        elif word == "[":
            depth, key = depth + 1, ""
        elif word == "]":
            depth, key = depth - 1, ""
            if kind and depth < 1:
                yield kind, record
                kind = ""
        elif kind and depth == 1:
            if key:
                record.setdefault(key, unescape(word.strip('"')) if word[0] == '"' else word)
                key = ""
            else:
                key = word
        before = word
    if kind:
        yield kind, record
