"""The equations of one day in the form that constraints have: rows of B, checked by exact arithmetic."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray
from dplib.constraints import checks
from dplib.constraints.day_constraints import SparseFloat, SparseInt
from dplib.constraints.exact import echelon, float_divisor, float_rows, primitive
from dplib.constraints.specs import Equation


def row_entries(matrix: SparseInt, row: int) -> tuple[list[int], list[int]]:
    """Columns and values of a row's entries."""
    part = slice(int(matrix.indptr[row]), int(matrix.indptr[row + 1]))
    return matrix.indices[part].tolist(), matrix.data[part].tolist()


def invariant_rows(
    series: Mapping[str, int], active: Sequence[Equation], generators: SparseInt, types: Sequence[str]
) -> tuple[SparseFloat, FloatArray, frozenset[str]]:
    """Rows that equations add to B, their right-hand sides, and the settings of redundant equations.

    Args:
        series: name to number.
        active: the equations of the day.
        generators: ``G`` of the day, shape (n_series, n_generators).
        types: name of the row type of each generator.

    Raises:
        ConfigError: if an equation contradicts others, or a row breaks it that is no public invariant.
    """
    width = generators.shape[1]
    seen: list[dict[int, Fraction]] = []
    rows: list[dict[int, int]] = []
    values: list[float] = []
    redundant: set[str] = set()
    for equation in active:
        row = {series[name]: Fraction(value) for name, value in equation.coefficients.items() if value}
        effect: dict[int, Fraction] = {}
        for number, factor in row.items():
            for j, count in zip(*row_entries(generators, number), strict=True):
                effect[j] = effect.get(j, Fraction(0)) + factor * count
        effect = {j: value for j, value in effect.items() if value}
        checks.check_consistent(equation.setting, not effect and equation.value != 0)
        checks.check_holds_of_rows(equation, types[min(effect)] if effect else None)
        right = {width: Fraction(equation.value)} if equation.value else {}
        before, after = echelon(seen, last=width), echelon([*seen, effect | right], last=width)
        checks.check_consistent(equation.setting, width in after)
        if len(before) == len(after):
            redundant.add(equation.setting)
            continue
        seen.append(effect | right)
        whole = primitive(row)
        pivot = min(whole)
        rows.append(whole)
        values.append(float(Fraction(equation.value) * whole[pivot] / row[pivot] / float_divisor(whole)))
    return float_rows(rows, len(series)), np.array(values, dtype=np.float64), frozenset(redundant)
