"""Ladder and smooth-sensitivity noise: their laws, and their privacy on every pair of neighbours of five vertices."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

from dplib.arrays import FloatArray, IntArray
from dplib.errors import ConfigError
from dplib.graphs.statistics.common_neighbors import common_neighbor_frontier
from dplib.graphs.statistics.degrees import second_largest_degree
from dplib.graphs.statistics.ladder_rungs import Rungs, exact_rungs, largest_rung, second_degree_rungs
from dplib.mechanisms.ladder import Ladder, draw_ladder, ladder_mean_error, ladder_probability
from dplib.mechanisms.smooth_noise import (
    SmoothSensitivity,
    draw_smooth_cauchy,
    smooth_cauchy_probability,
    smooth_cauchy_quantile,
    smoothing_rate,
)
from dplib.randomness.keyed import KeyedStream
from tests.support import network_oracles as oracle
from tests.support.goodness_of_fit import PASS, REJECT, chi_square_p_value
from tests.support.streams import ScriptedStream

KEY = bytes(range(32))
N = 5
TRIANGLES = oracle.triangles(oracle.all_graphs(N))[:, 0]
FIRST, SECOND = oracle.edge_neighbors(N)
OUTCOMES = np.arange(-60, 80)
WIDE = Rungs(((3, 4), (1, 9)), 12)
N_DRAWS = 5_000
"""Of the smooth noise; of the ladder's twice as many, since fewer of its cells hold 25 draws at small budgets."""


@dataclass(frozen=True)
class LocalOnly:
    """Broken on purpose: the local sensitivity on every rung, as if it never changed."""

    width: int

    @property
    def largest(self) -> int:
        return self.width

    def widths(self, first: int, count: int) -> IntArray:
        return np.full(count, self.width, dtype=np.int64)


@cache
def _rungs(number: int, kind: str) -> Ladder:
    graph = oracle.numbered(N, number)
    if kind == "degree":
        return second_degree_rungs(second_largest_degree(graph.degrees()), largest_rung(N))
    if kind == "local only":
        return LocalOnly(int(_rungs(number, "exact").widths(0, 1)[0]))
    return exact_rungs(common_neighbor_frontier(graph), largest_rung(N))


def _laws(kind: str, law: Callable[[IntArray, Ladder], FloatArray]) -> FloatArray:
    """The law of the outcomes on every graph, worked out once for all graphs with the same count and ladder."""
    of = cache(lambda triangles, ladder: law(OUTCOMES - triangles, ladder))
    return np.stack([of(int(count), _rungs(number, kind)) for number, count in enumerate(TRIANGLES)])


def _worst_loss(probability: FloatArray) -> float:
    """Largest |ln P(k) / P'(k)| over all neighbours and outcomes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.abs(np.log(probability[FIRST]) - np.log(probability[SECOND]))
    return float(np.nanmax(loss))


# --- ladder ---


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_ladder_is_private_on_all_neighbours_and_uses_its_budget(epsilon: Fraction) -> None:
    losses, ranges = {}, {}
    for kind in ("degree", "exact", "local only"):
        probability = _laws(kind, partial(ladder_probability, epsilon=epsilon))
        losses[kind] = _worst_loss(probability)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(probability[FIRST]) - np.log(probability[SECOND])
        ranges[kind] = float((np.nanmax(ratio, axis=1) - np.nanmin(ratio, axis=1)).max())
    assert 0.5 * epsilon < losses["exact"] <= epsilon * (1 + 1e-9)
    assert ranges["exact"] <= epsilon * (1 + 1e-9)  # bounded range, hence (epsilon^2 / 8)-zCDP
    assert losses["degree"] <= epsilon * (1 + 1e-9)
    assert losses["local only"] > 1.2 * epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1), Fraction(4)])
def test_ladder_draws_have_their_law_and_no_other(epsilon: Fraction) -> None:
    draws = draw_ladder(KeyedStream(KEY, "ladder"), 1000, WIDE, epsilon, 2 * N_DRAWS) - 1000
    assert chi_square_p_value(draws, lambda k: ladder_probability(k, WIDE, epsilon)) > PASS
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        wrong = partial(ladder_probability, ladder=WIDE, epsilon=epsilon * factor)
        assert chi_square_p_value(draws, wrong) < REJECT
    assert abs(np.abs(draws).mean() / ladder_mean_error(WIDE, epsilon) - 1) < 0.05


def test_ladder_probabilities_sum_to_one() -> None:
    k = np.arange(-20_000, 20_001)
    assert abs(ladder_probability(k, WIDE, Fraction(1, 10)).sum() - 1) < 1e-12


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_ladder_reads_on_where_the_first_word_does_not_decide(word: int) -> None:
    """The last 2^-64 of the line is the tail of all rungs: more digits and more rungs are taken, and it ends."""
    ladder = Rungs(((1, 10),), 5)
    stream = ScriptedStream(uint64=[word] + [2**63] * (40 if word else 0))
    if word == 0:
        assert draw_ladder(stream, 7, ladder, Fraction(1)).tolist() == [7]
        assert stream.used_up
    else:
        assert abs(int(draw_ladder(stream, 7, ladder, Fraction(1))[0]) - 7) > 100


def test_ladder_thresholds_are_exact_at_the_boundary_of_rung_zero() -> None:
    """The words around 2^64 P(rung 0) fall on their own sides, P computed with 60 digits independently."""
    from decimal import Decimal, localcontext

    ladder = Rungs(((2, 0),), 2)  # width 2 on every rung
    with localcontext() as context:
        context.prec = 60
        q = (Decimal(-1) / 2).exp()
        boundary = int(Decimal(2**64) / (1 + 4 * q / (1 - q)))
    assert draw_ladder(ScriptedStream(uint64=[boundary - 1]), 0, ladder, Fraction(1)).tolist() == [0]
    above = draw_ladder(ScriptedStream(uint64=[boundary + 1, 0]), 0, ladder, Fraction(1))
    assert abs(int(above[0])) == 1


def test_graphs_without_room_for_a_triangle_draw_zero() -> None:
    nothing = Rungs(((0, 0),), 0)
    assert draw_ladder(KeyedStream(KEY, "none"), 0, nothing, Fraction(1), 20).tolist() == [0] * 20
    assert draw_smooth_cauchy(KeyedStream(KEY, "none"), 0, nothing, Fraction(1), size=20).tolist() == [0] * 20


def test_ladder_settings_are_checked() -> None:
    for epsilon in (Fraction(1, 10**6), Fraction(0), Fraction(10**6), 0.5):
        with pytest.raises(ConfigError, match="epsilon must"):
            draw_ladder(KeyedStream(KEY, "x"), 0, WIDE, epsilon)  # type: ignore[arg-type]  # a float is refused


# --- smooth sensitivity ---


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_smooth_cauchy_is_private_on_all_neighbours(epsilon: Fraction) -> None:
    beta = smoothing_rate(epsilon)
    losses = {}
    for kind in ("exact", "local only"):
        losses[kind] = _worst_loss(
            _laws(
                kind, lambda k, rungs: smooth_cauchy_probability(k, SmoothSensitivity.of(rungs, beta), epsilon - beta)
            )
        )
    assert 0.5 * epsilon < losses["exact"] <= epsilon
    assert losses["local only"] > 1.2 * epsilon


@pytest.mark.parametrize("beta", [Fraction(1, 7), Fraction(1), Fraction(3), Fraction(20)])
def test_smooth_sensitivity_is_the_maximum_and_smooth(beta: Fraction) -> None:
    """At a large rate too, where nothing but the first rung that is not 0 keeps a graph from having no noise."""
    value_of = {}
    ladders = [_rungs(number, "exact") for number in range(1024)]
    for ladder in set(ladders):
        smooth = SmoothSensitivity.of(ladder, beta)
        t = np.arange(200)
        assert float(smooth) == pytest.approx((ladder.widths(0, 200) * np.exp(-float(beta) * t)).max(), rel=1e-12)
        low, high = smooth.enclose(200)
        assert low <= high <= low + N
        assert float(Fraction(low, 2**200)) == pytest.approx(float(smooth), rel=1e-12)
        value_of[ladder] = float(smooth)
    values = np.array([value_of[ladder] for ladder in ladders])
    ratio = values[FIRST] / values[SECOND]
    assert np.abs(np.log(ratio)).max() <= float(beta) + 1e-12


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_smooth_cauchy_draws_have_their_law_and_no_other(epsilon: Fraction) -> None:
    draws = draw_smooth_cauchy(KeyedStream(KEY, "smooth"), 50, WIDE, epsilon, size=N_DRAWS) - 50
    beta = smoothing_rate(epsilon)
    smooth = SmoothSensitivity.of(WIDE, beta)
    assert chi_square_p_value(draws, lambda k: smooth_cauchy_probability(k, smooth, epsilon - beta)) > PASS
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        wrong = partial(smooth_cauchy_probability, smooth=smooth, alpha=factor * (epsilon - beta))
        assert chi_square_p_value(draws, wrong) < REJECT
    share = np.mean(np.abs(draws) <= smooth_cauchy_quantile(WIDE, epsilon, 0.95))
    assert abs(share - 0.95) < 7 * (0.95 * 0.05 / len(draws)) ** 0.5 + 0.01


def test_smooth_cauchy_reads_on_at_the_rim_of_the_disk_and_near_a_rounding_boundary() -> None:
    rim = [0, 2**64 - 1, 1]  # X = 0, Y within one unit of 1: the square meets the rim
    inside = ScriptedStream(uint64=[*rim, 0, 0])
    ladder = Rungs(((1, 0),), 1)
    assert draw_smooth_cauchy(inside, 3, ladder, Fraction(6)).tolist() == [3]
    assert inside.used_up
    # X / Y within a unit of 5/2 with S / alpha = 1/5: the integer is 0 or 1 by the later words.
    x, y = 5 * 2**60, 2 * 2**60
    below = ScriptedStream(uint64=[x, y, 1, 0, 2**64 - 1])
    above = ScriptedStream(uint64=[x, y, 1, 2**64 - 1, 0])
    assert draw_smooth_cauchy(below, 0, ladder, Fraction(6)).tolist() == [0]
    assert draw_smooth_cauchy(above, 0, ladder, Fraction(6)).tolist() == [1]
    assert below.used_up
    assert above.used_up


def test_smooth_settings_are_checked() -> None:
    for epsilon in (Fraction(0), 0.5):
        with pytest.raises(ConfigError, match="epsilon must"):
            draw_smooth_cauchy(KeyedStream(KEY, "x"), 0, WIDE, epsilon)  # type: ignore[arg-type]
