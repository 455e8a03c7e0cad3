"""The public hash against the outputs that SplitMix64 is known for, in numpy and compiled."""

import numpy as np

from dplib.compiled import compiled
from dplib.hashing import GOLDEN, hash_rows, hashed, scattered, scattered_word

KNOWN = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
"""The first outputs of SplitMix64 from the state 1234567 (Vigna's reference implementation)."""


@compiled
def outputs(state: np.uint64, found: np.ndarray) -> None:
    for place in range(len(found)):
        state += GOLDEN
        found[place] = scattered_word(state)


def test_it_is_splitmix64() -> None:
    states = np.full(5, 1234567, dtype=np.uint64) + np.arange(5, dtype=np.uint64) * GOLDEN
    assert hashed(states).tolist() == scattered(states + GOLDEN).tolist() == KNOWN
    found = np.empty(5, dtype=np.uint64)
    outputs(np.uint64(1234567), found)
    assert found.tolist() == KNOWN


def test_a_row_has_one_number_wherever_it_stands() -> None:
    rows = np.array([[1, -2], [3, 4], [1, -2]])
    found = hash_rows(rows, 5)
    assert found[0] == found[2] != found[1]
    assert found.min() >= 0
    np.testing.assert_array_equal(hash_rows(rows[1:], 5), found[1:])
    assert not np.array_equal(hash_rows(rows, 6), found)
