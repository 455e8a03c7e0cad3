"""The discrete Laplace sampler: its construction is the law, its bits are used as told."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dplib.mechanisms import discrete_laplace as module
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from tests.support.streams import ScriptedStream

KEY = bytes(range(32))
SCALES = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(55), Fraction(1234567, 1000), Fraction(2**40)]


def _probability(prefix: int) -> Decimal:
    return Decimal(prefix) / Decimal(2**200)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(17, 4), Fraction(55)])
def test_the_digit_laws_multiply_to_the_geometric_law(scale: Fraction) -> None:
    """P(G = g) from the digits and the tail equals (1 - q) q^g, to 50 decimals."""
    table, tail_table = module._digit_laws(scale)
    with localcontext(Context(prec=80)):
        *digits, tail = (_probability(law.prefix(200)) for law in table.laws)
        assert tail == _probability(tail_table.laws[0].prefix(200))
        q = (-1 / (Decimal(scale.numerator) / Decimal(scale.denominator))).exp()
        for g in [*range(300), 5000]:
            high = g >> len(digits)
            built = tail**high * (1 - tail)
            for position, chance in enumerate(digits):
                built *= chance if g >> position & 1 else 1 - chance
            exact = (1 - q) * q**g
            assert abs(built - exact) < Decimal("1e-50")


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(400)])
def test_scripted_bits_give_the_integer_they_spell(scale: Fraction) -> None:
    """Word 0 lies below every threshold (digit 1) and word 65535 above it (digit 0)."""
    n_digits = len(module._digit_laws(scale)[0].laws) - 1
    for plus, minus in ((0, 0), (1, 0), (5, 2), (2**n_digits - 1, 1)):
        plus, minus = plus % 2**n_digits, minus % 2**n_digits
        words = [65535 * (1 - (g >> digit & 1)) for digit in range(n_digits) for g in (plus, minus)]
        stream = ScriptedStream(uint16=[*words, 65535, 65535])
        assert draw_discrete_laplace(stream, scale, 1).tolist() == [plus - minus]
        assert stream.used_up


def test_the_tail_counts_successes() -> None:
    scale = Fraction(3)
    n_digits = len(module._digit_laws(scale)[0].laws) - 1
    # All digits 0; the first variable's tail succeeds three times, the second's once.
    words = [65535] * 2 * n_digits + [0, 0] + [0, 65535] + [0] + [65535]
    stream = ScriptedStream(uint16=words)
    assert draw_discrete_laplace(stream, scale, 1).tolist() == [2 * 2**n_digits]
    assert stream.used_up


def test_ties_inside_the_sampler_are_resolved() -> None:
    scale = Fraction(3)
    laws = module._digit_laws(scale)[0].laws
    first = [law.prefix(80) >> 64 for law in laws]
    second = [law.prefix(80) & (2**64 - 1) for law in laws]
    words = [word for word in first for _ in (0, 1)]
    # Every word ties; the further words make all digits of one variable 1 (but its tail), of the other 0.
    more = [second[i] + sign for i in range(len(laws) - 1) for sign in (-1, 1)] + [second[-1] + 1] * 2
    stream = ScriptedStream(uint16=words, uint64=more)
    assert draw_discrete_laplace(stream, scale, 1).tolist() == [2 ** (len(laws) - 1) - 1]
    assert stream.used_up


def test_the_tail_starts_where_it_is_rare() -> None:
    for scale in SCALES:
        power = 2 ** (len(module._digit_laws(scale)[0].laws) - 1)
        assert power >= 4 * scale
        assert power == 1 or power / 2 < 4 * scale


@pytest.mark.parametrize("n_digits", [1, 8, 13, 42])
def test_few_numbers_and_many_are_made_of_their_digits(n_digits: int) -> None:
    digits = np.random.default_rng(n_digits).random((n_digits, module._FEW)) < 0.5
    spelt = [sum(1 << place for place, digit in enumerate(column) if digit) for column in digits.T]
    for size in (1, module._FEW - 1, module._FEW):
        assert module._numbers(digits[:, :size]).tolist() == spelt[:size]
