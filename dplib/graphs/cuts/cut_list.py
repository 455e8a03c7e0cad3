"""Lists of different cuts with their values, held small.

Cuts are kept as packed sides over the vertices of a contracted graph (`dplib.graphs.cuts.kernel`) and are spread over
the original vertices only when asked for: half a million cuts of a graph with thousands of vertices stay small. Two
cuts are the same exactly if all their words are; a hash only finds the place to compare at.

Cost: O(n_words) a cut and look-up.

Notation: as in `dplib.graphs.edges`.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, IntArray, WordArray
from dplib.compiled import compiled
from dplib.graphs.edges import pack_sides, unpack_sides, word_count
from dplib.hashing import GOLDEN, scattered_word

MAX_CUTS = 1_000_000
MAX_WORDS = 2**26  # of one list, 512 MB

_GROWTH = 2


@dataclass(frozen=True, eq=False)
class CutList:
    """Different cuts of one graph.

    Attributes:
        label: the place of each vertex in the packed sides, shape (n_vertices,); vertex 0 has place 0.
        packed: sides without place 0, shape (n_cuts, n_words).
        values: the value of each cut, shape (n_cuts,), ascending.
    """

    label: IntArray
    packed: WordArray
    values: IntArray

    def __len__(self) -> int:
        return len(self.values)

    def sides(self) -> BoolArray:
        """Return the sides without vertex 0, shape (n_cuts, n_vertices)."""
        return unpack_sides(self.packed, 64 * self.packed.shape[1])[:, self.label]

    def spread(self) -> "CutList":
        """Return the same cuts with one place a vertex, in the order of these places."""
        n = len(self.label)
        if np.array_equal(self.label, np.arange(n)):
            return self
        return sorted_cuts(np.arange(n), pack_sides(self.sides()), self.values)


def limit_of(n_places: int, limit: int) -> int:
    """Return how many cuts over ``n_places`` may be listed: ``limit``, or fewer where these would not fit in memory."""
    return min(limit, max(MAX_WORDS // max(word_count(n_places), 1), 1))


def sorted_cuts(label: IntArray, packed: WordArray, values: IntArray) -> CutList:
    """Return the list of different cuts by value, then by their words, last word first: one order for a set of cuts."""
    order = np.lexsort((*packed.T, values))
    return CutList(label, packed[order], values[order])


def new_table(n_cuts: int) -> IntArray:
    """Return an empty hash table with room for ``n_cuts`` rows."""
    return np.full(2 << max(n_cuts, 8).bit_length(), -1, dtype=np.int64)


@compiled
def enter(packed: WordArray, cut: int, table: IntArray) -> bool:
    """Enter row ``cut`` into the table of rows unless an equal one stands there; whether it is new."""
    mask = len(table) - 1
    slot = place_of(packed[cut], mask)
    while table[slot] >= 0:
        other = table[slot]
        same = True
        for word in range(packed.shape[1]):
            if packed[other, word] != packed[cut, word]:
                same = False
                break
        if same:
            return False
        slot = (slot + 1) & mask
    table[slot] = cut
    return True


@compiled
def place_of(row: WordArray, mask: int) -> int:
    """Where to begin to look for a row in a table of ``mask + 1`` slots."""
    found = np.uint64(0)
    for word in row:
        found = scattered_word((found ^ word) + GOLDEN)
    return int(np.int64(found & np.uint64(mask)))


@compiled
def with_room(
    packed: WordArray, values: IntArray, table: IntArray, n_cuts: int
) -> tuple[WordArray, IntArray, IntArray]:
    """Rows, values and table with room for one more cut."""
    if n_cuts < len(values):
        return packed, values, table
    more = np.zeros((_GROWTH * len(values), packed.shape[1]), dtype=np.uint64)
    more[:n_cuts] = packed
    more_values = np.zeros(len(more), dtype=np.int64)
    more_values[:n_cuts] = values
    larger = np.full(_GROWTH * len(table), -1, dtype=np.int64)
    for cut in range(n_cuts):
        enter(more, cut, larger)
    return more, more_values, larger
