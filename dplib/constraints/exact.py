"""Exact linear algebra over the rationals: reduced row echelon form and an integer basis of a null space.

Which constraints are implied, redundant or contradictory is a question about rank, and a rank found in floating point
is a guess. The matrices here are settings (packages, totals, equations): small integers, mostly zeros, so rows are
dictionaries ``{column: Fraction}`` and the cost is that of the non-zeros.

Notation: the *reduced* echelon form has a 1 in each pivot column and zeros above and below it. Its non-zero pattern
links exactly the columns that depend on each other (the fundamental circuits of the column matroid).

References: G. Golub, C. Van Loan, "Matrix Computations", 4th ed., Johns Hopkins 2013, section 3.4; J. Oxley, "Matroid
Theory", 2nd ed., Oxford 2011, section 1.2 (fundamental circuits).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from dplib.constraints.day_constraints import SparseFloat

Row = dict[int, Fraction]


def reduce_row(row: Mapping[int, Fraction], reduced: Mapping[int, Row]) -> Row:
    """Subtract the multiples of pivot rows that clear a row's pivot columns.

    Args:
        row: the row, ``{column: coefficient}``.
        reduced: rows in reduced echelon form by pivot column.

    Returns:
        The remainder, without zeros; empty if the row lies in the span.
    """
    rest = {column: value for column, value in row.items() if value}
    for pivot in [column for column in rest if column in reduced]:
        factor = rest[pivot]
        for column, value in reduced[pivot].items():
            left = rest.get(column, Fraction(0)) - factor * value
            if left:
                rest[column] = left
            else:
                rest.pop(column, None)
    return rest


def echelon(rows: Iterable[Mapping[int, Fraction]], last: int | None = None) -> dict[int, Row]:
    """Reduced row echelon form.

    Args:
        rows: any rows.
        last: a column that may only become a pivot if nothing else is left of a row (a right-hand side).

    Returns:
        The non-zero rows by pivot column. A pivot in column ``last`` means a contradiction.
    """
    given = [dict(row) for row in rows]
    # A pivot in a column that few rows share makes little fill-in (Markowitz's rule).
    shared = Counter(column for row in given for column in row)
    reduced: dict[int, Row] = {}
    for row in given:
        rest = reduce_row(row, reduced)
        if not rest:
            continue
        pivot = min(rest, key=lambda column: (column == last, shared[column], column))
        scale = rest[pivot]
        new = {column: value / scale for column, value in rest.items()}
        for other, old in list(reduced.items()):
            if pivot in old:
                reduced[other] = reduce_row(old, {pivot: new})
        reduced[pivot] = new
    return reduced


def primitive(row: Mapping[int, Fraction]) -> dict[int, int]:
    """The multiple of a row with coprime integer entries and a positive first one."""
    scale = math.lcm(*(value.denominator for value in row.values()))
    whole = {column: int(value * scale) for column, value in row.items() if value}
    divisor = math.gcd(*whole.values()) or 1
    sign = 1 if whole[min(whole)] > 0 else -1
    return {column: sign * value // divisor for column, value in whole.items()}


def null_space(rows: Sequence[Mapping[int, int]], n_columns: int) -> list[dict[int, int]]:
    """Primitive integer vectors that span ``{v : row . v = 0 for every row}``.

    Args:
        rows: integer rows ``{column: coefficient}``.
        n_columns: length of the vectors.

    Returns:
        ``n_columns - rank`` vectors, one a free column, in order of that column.
    """
    reduced = echelon({column: Fraction(value) for column, value in row.items()} for row in rows)
    basis: list[Row] = [{free: Fraction(1)} for free in range(n_columns) if free not in reduced]
    position = {next(iter(vector)): index for index, vector in enumerate(basis)}
    for pivot, row in reduced.items():
        for column, value in row.items():
            if column != pivot:
                basis[position[column]][pivot] = -value
    return [primitive(vector) for vector in basis]


def float_rows(rows: Sequence[Mapping[int, int]], n_columns: int) -> SparseFloat:
    """The rows as a sparse matrix, shape (len(rows), n_columns).

    Integers up to 2^53 are kept exactly; a row with larger ones (many overlapping packages) is divided by its largest.
    """
    ends = np.cumsum([0, *(len(row) for row in rows)])
    columns = np.fromiter((column for row in rows for column in row), np.int64, int(ends[-1]))
    divisors = [float_divisor(row) for row in rows]
    values = [value / divisor for row, divisor in zip(rows, divisors, strict=True) for value in row.values()]
    return csr_array((np.array(values, dtype=np.float64), columns, ends), shape=(len(rows), n_columns))


def float_divisor(row: Mapping[int, int]) -> int:
    """What `float_rows` divides a row by, and what its right-hand side must be divided by."""
    largest = max(map(abs, row.values()))
    return 1 if largest <= 2**53 else largest
