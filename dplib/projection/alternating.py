"""Alternating projections for any split of the constraints (equation 8), plain and accelerated.

`alternate` repeats ``f_k ... f_2 f_1`` until a round changes the values little. It converges to the projection onto
the intersection, for any partition of the constraints, by the theorem of von Neumann and Halperin (the paper's step
"differences go to 0, so the sequence converges" does not prove it; Fejer monotonicity does). The rate is the cosine of
the angle between the sets: with the packages on the leaves of a tree of T days only, the grand total's error shrinks by
1 - 1/(2T - 1) a round, and a small *mean* change says nothing about the totals.

`conjugate_sweeps` takes conjugate directions of the sweeps there and back instead (conjugate gradients on the normal
equations, preconditioned by a symmetric sweep): with two sets the same work a round, but as many rounds as the operator
has distinct eigenvalues at most (about log2 T on a binary tree).

Cost: one application of each projection a round.

References: I. Halperin, "The product of projection operators", Acta Sci. Math. 23, 1962; H. Bauschke, J. Borwein, "On
projection algorithms for solving convex feasibility problems", SIAM Review 38(3), 1996; Cai et al., Journal on
Communications 42(6), 2021, equation 8 and section 8.2 (stop rule); A. Bjorck, T. Elfving, "Accelerated projection
methods for computing pseudoinverse solutions of systems of linear equations", BIT 19, 1979.
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


def conjugate_sweeps(
    projections: Sequence[Map],
    start: FloatArray,
    weight: FloatArray,
    tol: float,
    max_rounds: int,
    deviation: Callable[[FloatArray], float] | None = None,
    on_round: OnRound | None = None,
) -> Alternation:
    """Project onto the intersection of any affine sets by conjugate gradients on their symmetric sweeps.

    A sweep S goes through the sets and back. With ``e`` the way to the optimum, ``S x - x`` is ``A e`` for a symmetric
    A, and ``<e, A e>``, the *energy*, is the sum of the squared moves on the way there (Pythagoras). So conjugate
    directions that leave the shortest way need no more than sweeps.

    Args:
        projections: orthogonal in the weights, each onto one set; the first set is a subspace.
        start: the values, any shape.
        weight: inverse variances of that shape, 0 where not measured.
        tol: threshold on the mean absolute change of a round.
        max_rounds: limit of rounds.
        deviation: as for `alternate`.
        on_round: as for `alternate`.

    Returns:
        The values, inside the first set, and how many rounds they took.
    """
    values = projections[0](start)
    direction = np.zeros_like(values)
    lengths: list[float] = []
    energies: list[float] = []
    for number in range(1, max_rounds + 2):
        swept, energy = sweep(projections[1:], values, weight)
        # Below the square of the machine precision the energy is rounding, and further directions are noise.
        if energy <= 1e-30 * (energies[0] if energies else 0.0):
            return Alternation(values, number - 1, True, tuple(lengths), tuple(energies))
        if number > max_rounds:
            break
        energies.append(energy)
        # The first set holds the values: what a sweep moves is projected alone, so that rounding shrinks with it.
        direction = projections[0](swept - values) + (energy / energies[-2] if lengths else 0.0) * direction
        lengths.append(energy / float((weight * direction**2).sum()))
        values = values + lengths[-1] * direction
        change = abs(lengths[-1]) * float(np.abs(direction).mean())
        if on_round is not None:
            on_round(number, change, float("nan") if deviation is None else deviation(values))
        if change <= tol:
            return Alternation(values, number, True, tuple(lengths), tuple(energies))
    return Alternation(values, max_rounds, False, tuple(lengths), tuple(energies))


def sweep(projections: Sequence[Map], values: FloatArray, weight: FloatArray) -> tuple[FloatArray, float]:
    """Through the sets and back: the values, and the sum of the squared moves on the way there."""
    energy = 0.0
    for each in projections:
        before, values = values, each(values)
        energy += float((weight * (values - before) ** 2).sum())
    for each in reversed(projections[:-1]):
        values = each(values)
    return values, energy
