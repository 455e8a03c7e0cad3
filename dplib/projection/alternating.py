"""Alternating projections for any split of the constraints (equation 8), and a Krylov method for two-part splits.

`alternate` repeats ``f_k ... f_2 f_1`` until a round changes the values little. It converges to the projection onto
the intersection, for any partition of the constraints, by the theorem of von Neumann and Halperin (the paper's step
"differences go to 0, so the sequence converges" does not prove it; Fejer monotonicity does). The rate is the cosine of
the angle between the sets: with the packages on the leaves of a tree of T days only, the grand total's error shrinks by
1 - 1/(2T - 1) a round, and a small *mean* change says nothing about the totals.

`conjugate_gradients` solves the normal equations of the second set's residual within the first set instead: the same
work a round, but as many rounds as the operator has distinct eigenvalues at most (about log2 T on a binary tree).

Cost: one application of each projection a round.

References: I. Halperin, "The product of projection operators", Acta Sci. Math. 23, 1962; H. Bauschke, J. Borwein, "On
projection algorithms for solving convex feasibility problems", SIAM Review 38(3), 1996; Cai et al., Journal on
Communications 42(6), 2021, equation 8 and section 8.2 (stop rule); G. Golub, C. Van Loan, "Matrix Computations",
4th ed., Johns Hopkins 2013, algorithm 11.5.1 (preconditioned conjugate gradients).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray

Map = Callable[[FloatArray], FloatArray]
OnRound = Callable[[int, float, float], None]


@dataclass(frozen=True, eq=False)
class Alternation:
    """What the rounds came to.

    Attributes:
        values: the last values.
        n_rounds: rounds made.
        converged: whether the stop rule was met.
        lengths: of the steps of conjugate gradients.
        energies: of the residual before each of these steps.
    """

    values: FloatArray
    n_rounds: int
    converged: bool
    lengths: tuple[float, ...] = ()
    energies: tuple[float, ...] = ()

    def plain_changes(self, n_rounds: int) -> float:
        """What round ``n_rounds`` of plain alternation would change inside the first set, in the norm of the weights.

        Conjugate gradients are Lanczos' method on the map of a plain round: their lengths make a tridiagonal matrix
        whose eigenvalues and weights are a Gauss quadrature of its spectrum (Golub, Van Loan, section 10.2).
        """
        length = np.array(self.lengths)
        beta = np.array(self.energies[1:]) / np.array(self.energies[:-1])
        diagonal = 1 / length
        diagonal[1:] += beta[: len(length) - 1] / length[:-1]
        # Imported where it is needed: whoever reads a release does without.
        from scipy.linalg import eigh_tridiagonal

        values, vectors = eigh_tridiagonal(diagonal, np.sqrt(beta[: len(length) - 1]) / length[:-1])
        rates = np.clip(1 - values, 0.0, 1.0) ** (2 * n_rounds - 2)
        return float(np.sqrt(self.energies[0] * (vectors[0] ** 2 * values.clip(0.0) * rates).sum()))


def alternate(
    projections: Sequence[Map],
    start: FloatArray,
    tol: float,
    max_rounds: int,
    deviation: Callable[[FloatArray], float] | None = None,
    on_round: OnRound | None = None,
) -> Alternation:
    """Apply the projections in turn until a round's mean absolute change is below ``tol``.

    Args:
        projections: maps that return new arrays.
        start: the noisy values, any shape.
        tol: threshold on the mean absolute change of a round.
        max_rounds: limit of rounds.
        deviation: measures inconsistency for ``on_round``; not called without it.
        on_round: called with (number from 1, mean absolute change, deviation or nan).

    Returns:
        The values and how many rounds they took.
    """
    values = start
    for number in range(1, max_rounds + 1):
        before = values
        for each in projections:
            values = each(values)
        change = float(np.abs(values - before).mean())
        if on_round is not None:
            on_round(number, change, float("nan") if deviation is None else deviation(values))
        if change <= tol:
            return Alternation(values, number, converged=True)
    return Alternation(values, max_rounds, converged=False)


def conjugate_gradients(
    start: FloatArray,
    residual: Map,
    spread: Map,
    precondition: Map,
    tol: float,
    max_rounds: int,
    deviation: Callable[[FloatArray], float] | None = None,
    on_round: OnRound | None = None,
) -> Alternation:
    """Project from inside a first set onto its intersection with ``{x : E x = b}``.

    With P the projector of the first set and W the weights, it finds the multipliers of
    ``E P W^-1 E^T lambda = b - E x_0`` and returns ``x_0 + P W^-1 E^T lambda``.

    Args:
        start: x_0, the projection of the noisy values onto the first set.
        residual: ``x -> E x - b``, an array of any fixed shape; ``b`` must cancel in differences.
        spread: multipliers -> ``P W^-1 E^T lambda``, of the shape of ``start``.
        precondition: residual -> an approximate inverse of ``E W^-1 E^T`` applied to it.
        tol: threshold on the mean absolute change of a round.
        max_rounds: limit of rounds.
        deviation: as for `alternate`.
        on_round: as for `alternate`.

    Returns:
        The values and how many rounds they took.
    """
    values = start
    left = -residual(values)
    zero_residual = residual(np.zeros_like(start))
    scaled = precondition(left)
    direction = scaled
    energy = first = float((left * scaled).sum())
    lengths: list[float] = []
    energies = [energy]
    if energy <= 0.0:
        return Alternation(values, 0, converged=True)
    for number in range(1, max_rounds + 1):
        step = spread(direction)
        applied = residual(step) - zero_residual
        length = energy / float((direction * applied).sum())
        values = values + length * step
        left = left - length * applied
        scaled = precondition(left)
        new_energy = float((left * scaled).sum())
        change = abs(length) * float(np.abs(step).mean())
        lengths.append(length)
        energies.append(new_energy)
        if on_round is not None:
            on_round(number, change, float("nan") if deviation is None else deviation(values))
        # Below the square of the machine precision the residual is rounding, and further directions are noise.
        if change <= tol or new_energy <= 1e-30 * first:
            return Alternation(values, number, True, tuple(lengths), tuple(energies))
        direction = scaled + (new_energy / energy) * direction
        energy = new_energy
    return Alternation(values, max_rounds, False, tuple(lengths), tuple(energies))
