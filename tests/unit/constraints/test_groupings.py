"""Totals by grouping: membership, chains of splits that refine each other."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from dplib.constraints.groupings import grouped_items, longest_chain, refines


def test_each_item_is_in_one_total_of_each_grouping() -> None:
    parts = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.zeros(4, np.int64)]
    found = grouped_items(parts, [["a", "b"], ["c", "d"], ["all"]], [True, False, True], ["x", "y", "total"])
    dense = found.membership.toarray()
    assert found.names == ("a", "b", "c", "d", "all")
    assert dense.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]
    assert found.grouping.tolist() == [0, 0, 1, 1, 2]
    assert found.part_of.tolist() == [[0, 0, 1, 1], [2, 3, 2, 3], [4, 4, 4, 4]]
    assert found.measured.tolist() == [True, False, True]


@pytest.mark.parametrize("seed", range(20))
def test_the_chain_is_a_longest_one(seed: int) -> None:
    generator = np.random.default_rng(seed)
    splits = [generator.integers(0, size, 6) for size in generator.integers(1, 5, 4)]
    parts = [np.unique(split, return_inverse=True)[1].astype(np.int64) for split in splits]

    def is_chain(numbers: tuple[int, ...]) -> bool:
        pairs = pairwise(numbers)
        return all(
            all(len(set(parts[coarse][parts[fine] == part])) == 1 for part in set(parts[fine]))
            for coarse, fine in pairs
        )

    longest = max(size for size in range(5) for each in permutations(range(4), size) if is_chain(each))
    found = longest_chain(parts)
    assert is_chain(found)
    assert len(found) == longest


def test_crossing_groupings_do_not_refine_each_other() -> None:
    region, category = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert not refines(region, category)
    assert refines(region * 2 + category, region)
    assert longest_chain([category, region, region * 2 + category, np.zeros(4, np.int64)]) == (3, 0, 2)
