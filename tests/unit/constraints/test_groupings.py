"""Totals by grouping: membership, chains of splits that refine each other."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.groupings import grouped_items, longest_chain, refines
from dplib.constraints.resolve import resolve
from dplib.constraints.resolved import parted, parted_days, restrict, same_constraints


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


def test_days_of_items_hold_what_the_equations_of_each_day_say() -> None:
    """Matrices made when asked for, whole and in parts, against dense ones written by hand."""
    days = np.array([[0, 6], [2, 6], [0, 4], [0, 6]])
    parts = [np.array([0, 0, 1, 1])]
    found = resolve(list("abcd"), 6, groupings=grouped_items(parts, [["x", "y"]], [True], ["kind"]), item_days=days)
    assert [(each.first, each.end) for each in found.day_constraints] == [(0, 2), (2, 4), (4, 6)]
    sums = np.array([[1, 1, 0, 0, -1, 0], [0, 0, 1, 1, 0, -1]])
    for daily, absent in zip(found.day_constraints, ([1], [], [2]), strict=True):
        off = np.eye(6)[absent]
        assert daily.matrix.toarray().tolist() == [*(sums * (off.sum(axis=0) == 0)).tolist(), *off.tolist()]
        assert (daily.n_constraints, daily.rhs.tolist()) == (2 + len(absent), [0.0] * (2 + len(absent)))
        assert daily.generators is not None
        kept = [item for item in range(4) if item not in absent]
        assert daily.generators.toarray().tolist() == np.vstack([np.eye(4), sums[:, :4]])[:, kept].tolist()
        assert daily.generator_names == tuple("abcd"[item] for item in kept)
        eager = DayConstraints(daily.first, daily.end, daily.matrix, daily.rhs, daily.generators, daily.generator_names)
        groups = list(found.components)
        for one, other in zip(parted(daily, groups), parted(eager, groups), strict=True):
            assert same_constraints(one, other)
    # Each part has the periods of its own items alone, and says the same on every day.
    by_group = parted_days(found.day_constraints, found.components)
    assert [[(each.first, each.end) for each in own] for own in by_group] == [[(0, 2), (2, 6)], [(0, 4), (4, 6)]]
    for group, own in zip(found.components, by_group, strict=True):
        for each in own:
            whole = next(daily for daily in found.day_constraints if daily.first <= each.first < daily.end)
            assert same_constraints(each, restrict(whole, group))
