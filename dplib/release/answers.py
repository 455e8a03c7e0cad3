"""From answers to tidy tables: a row an answer, a column a field."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def row_of(answer: "DataclassInstance") -> dict[str, Any]:
    """An answer's fields; of one by coordinate, a column each."""
    row: dict[str, Any] = {}
    for name, value in vars(answer).items():
        end = "_std_error" if name == "std_errors" else ""
        row |= {f"{key}{end}": each for key, each in value.items()} if isinstance(value, dict) else {name: value}
    return row


def table_of(answers: Sequence["DataclassInstance"]) -> pa.Table:
    """The answers in order; a column without any value is of floats, one of texts and numbers is of texts."""
    rows = [row_of(answer) for answer in answers]
    columns = {}
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        if any(isinstance(value, str) for value in values):
            values = [None if value is None else str(value) for value in values]
        column = pa.array(values)
        columns[name] = column.cast(pa.float64()) if pa.types.is_null(column.type) else column
    return pa.table(columns)
