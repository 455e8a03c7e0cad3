"""Totals of items by grouping: each grouping splits the items, and each of its parts is a total.

A grouping is given by the number of each item's part, so the totals of all groupings are ``t = A x`` with one row of
``A`` for each part and, in every grouping, one 1 a column: ``(A, -I)`` has full rank as it stands, whatever the parts.

Cost: O(groupings x items); refinement compares pairs of groupings, O(groupings^2 x items) by sorting-free counting.

Notation: ``x`` counts of the items of one day, ``t`` those of the totals, ``A`` the *membership*.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from dplib.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class GroupingSize:
    """What a grouping makes: ``n_totals`` of ``least`` to ``most`` items each, and whether they are measured."""

    label: str
    n_totals: int
    least: int
    most: int
    measured: bool

    def __str__(self) -> str:
        each = f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"
        many = "1 total" if self.n_totals == 1 else f"{self.n_totals:,} totals"
        return f"{self.label}: {many} of {each} items, {'measured' if self.measured else 'a free sum'}"


@dataclass(frozen=True, eq=False)
class Groupings:
    """The totals of some groupings, grouping after grouping.

    Attributes:
        names: one name a total.
        membership: ``A``, int64 zeros and ones, shape (n_totals, n_items); each column has one 1 in each grouping.
        grouping: number of the grouping that each total is of, increasing, shape (n_totals,).
        measured: whether the totals of a grouping get noisy counts of their own, shape (n_groupings,).
        nested: a chain for integer tables, numbers of groupings from coarse to fine: each total of one is a sum of
            totals of the next, and those of the last are sums of items. Other groupings are sums of items too.
        labels: one short text a grouping, for plans and reports.
    """

    names: tuple[str, ...]
    membership: csr_array
    grouping: IntArray
    measured: BoolArray
    nested: tuple[int, ...]
    labels: tuple[str, ...]

    @property
    def n_groupings(self) -> int:
        """Number of groupings."""
        return len(self.measured)

    @property
    def n_totals(self) -> int:
        """Number of totals."""
        return len(self.names)

    @property
    def sizes(self) -> list[GroupingSize]:
        """One entry a grouping."""
        items = np.diff(self.membership.indptr)
        own = [items[self.grouping == number] for number in range(self.n_groupings)]
        return [
            GroupingSize(label, len(each), int(each.min()), int(each.max()), bool(measured))
            for label, each, measured in zip(self.labels, own, self.measured, strict=True)
        ]

    @property
    def part_of(self) -> IntArray:
        """Number of the total that holds each item in each grouping, shape (n_groupings, n_items)."""
        by_item = self.membership.T.tocsr().indices.reshape(-1, self.n_groupings)
        return np.sort(by_item, axis=1).T.astype(np.int64)


def grouped_items(
    parts: Sequence[IntArray], names: Sequence[Sequence[str]], measured: Sequence[bool], labels: Sequence[str]
) -> Groupings:
    """The totals of groupings that are given by their parts.

    Args:
        parts: for each grouping, at least one, the number of each item's part, shape (n_items,): every number from 0
            to the largest occurs.
        names: for each grouping the name of each part.
        measured: for each grouping whether its totals are measured.
        labels: for each grouping a short text.
    """
    sizes = [len(each) for each in names]
    start = np.cumsum([0, *sizes])
    n_items = len(parts[0])
    rows = np.concatenate([part + first for part, first in zip(parts, start[:-1], strict=True)])
    columns = np.tile(np.arange(n_items), len(parts))
    ones = np.ones(len(rows), dtype=np.int64)
    return Groupings(
        names=tuple(name for each in names for name in each),
        membership=csr_array((ones, (rows, columns)), shape=(int(start[-1]), n_items)),
        grouping=np.repeat(np.arange(len(parts)), sizes).astype(np.int64),
        measured=np.array(measured, dtype=np.bool_),
        nested=longest_chain(parts),
        labels=tuple(labels),
    )


def refines(fine: IntArray, coarse: IntArray) -> bool:
    """Whether each part of one grouping lies in one part of another."""
    pairs = np.unique(fine * (int(coarse.max()) + 1) + coarse)
    return len(pairs) == len(np.unique(fine))


def longest_chain(parts: Sequence[IntArray]) -> tuple[int, ...]:
    """Numbers of the groupings of a longest chain from coarse to fine; the first declared where several are.

    Args:
        parts: for each grouping the number of each item's part, shape (n_items,).
    """
    sizes = [len(np.unique(part)) for part in parts]
    order = sorted(range(len(parts)), key=lambda number: (sizes[number], number))
    best: dict[int, tuple[int, ...]] = {}
    for place, number in enumerate(order):
        # Of groupings with as many parts one can only refine the other where both are the same split.
        coarser = [best[other] for other in order[:place] if refines(parts[number], parts[other])]
        best[number] = (*max(coarser, key=len, default=()), number)
    return max((best[number] for number in order), key=len, default=())
