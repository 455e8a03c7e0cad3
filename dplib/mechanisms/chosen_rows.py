"""Rows that are chosen once: what one privacy unit may contribute to all runs of a stream together.

Each run reads a *snapshot* of the input, which may differ from the one before: rows come late, go, or are dated anew. A
cap that is applied to each snapshot by itself bounds nothing over the runs. So what is chosen of a unit is remembered:

    chosen(unit) = a list of copies of rows, at most m in all and at most r of one day; it only grows
    a run counts, of its snapshot's rows, the copies that are chosen already, and those that it chooses now

Guarantee. Each chosen copy has one day, which its content fixes. The nodes of one level share no day, and each is
measured once in the stream's life, so a copy counts at most once at each level, whatever the snapshots are and in
whatever order the days are run. Hence, over all runs and with quantities in 0 ... Q, a unit changes the counts of one
level by at most m Q in the L1 norm, and a node of w days by at most min(m, r w) Q: squared, by at most
m min(m, r w) Q^2 in all. That is the bound of one run of `dplib.spark.rows.contributions.bound_rows`, so the noise is
that of the batch release. The choice looks at one unit alone: a unit more or less leaves the others as they are. What
a run chose that nobody saw (it crashed, or another run was recorded before it) is forgotten with its counts.

The bound holds for every sequence of snapshots, also where the next one depends on what was published: adaptive
composition of what one unit changes in a run, whose sum is bounded in advance (Feldman, Zrnic).

Choice. Copies of a new row wait in the order of a keyed digest of its content: first the room of their day decides,
then the room of the unit. Rows of equal content are copies of one row: whichever is meant, the counts are the same. A
row that is gone keeps its place: it was counted.

*Entry*: what is kept of a chosen row, 8 bytes of a keyed digest of its unit and day, and 16 of its unit and content;
the unit itself is 16 bytes of a keyed digest of its name. Two rows, or units, meet in one digest with probability below
n^2 2^-128 for n of them; two days of a unit that meet in theirs are given the room of one.

Cost: a digest a row, a unit and a day of a unit; then a few sorts. A call holds its rows and what was chosen of their
units.

Notation: ``m`` rows a unit, ``r`` rows a unit and day, ``Q`` the largest quantity, ``w`` days of a node.

References:
    Feldman, Zrnic, "Individual privacy accounting via a Renyi filter", NeurIPS 2021 (theorem 3.1: losses that depend on
    the past, bounded in sum);
    Saarinen, Aumasson, "The BLAKE2 cryptographic hash and message authentication code (MAC)", RFC 7693, 2015.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, IntArray
from dplib.validate import at_least, require

UNIT_BYTES, DAY_BYTES, ROW_BYTES = 16, 8, 16
ENTRY_BYTES = DAY_BYTES + ROW_BYTES
ENTRY = np.dtype([("day", f"V{DAY_BYTES}"), ("row", f"V{ROW_BYTES}")])
CONTENT = np.dtype([("day", "<i4"), ("row_type", "<i4"), ("quantity", "<i8")])
KEY_BYTES = range(16, 65)
_UNIT, _DAY, _ROW = b"unit", b"day", b"row"


@dataclass(frozen=True)
class Caps:
    """What is chosen of one unit at most, in all runs together.

    Attributes:
        rows: m.
        rows_per_day: r.
    """

    rows: int
    rows_per_day: int

    def __post_init__(self) -> None:
        at_least("privacy.max_rows_per_unit", self.rows, 1)
        at_least("privacy.max_rows_per_day", self.rows_per_day, 1)


@dataclass(frozen=True, eq=False)
class Chosen:
    """What was chosen of some units in earlier runs.

    Attributes:
        unit: number of each entry's unit, shape (k,).
        entry: shape (k,), of `ENTRY`; one that several runs added to stands several times.
        copies: how many copies of the row a run chose, shape (k,).
    """

    unit: IntArray
    entry: npt.NDArray[np.void]
    copies: IntArray

    @classmethod
    def nothing(cls) -> "Chosen":
        """No entry."""
        return cls(np.zeros(0, np.int64), np.zeros(0, ENTRY), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Rows of whole units as one run reads them, each unit's together, equal contents of a unit beside each other.

    Attributes:
        unit: number of each row's unit, ascending, shape (n,).
        content: shape (n,), of `CONTENT`; each unit's by day.
        copies: how many rows have this content, shape (n,).
        names: pseudonym of each unit (`pseudonym`), by number.
    """

    unit: IntArray
    content: npt.NDArray[np.void]
    copies: IntArray
    names: Sequence[bytes]

    @classmethod
    def of(cls, unit: IntArray, content: npt.NDArray[np.void], copies: IntArray, names: Sequence[bytes]) -> "Snapshot":
        """From rows whose equal contents may stand several times."""
        order = np.lexsort((content["quantity"], content["row_type"], content["day"], unit))
        unit, content, copies = unit[order], content[order], copies[order]
        new = np.append(True, (unit[1:] != unit[:-1]) | (content[1:] != content[:-1]))[: len(unit)]
        first = np.flatnonzero(new)
        summed = np.add.reduceat(copies, first) if len(first) else copies
        return cls(unit[first], content[first], summed, names)


@dataclass(frozen=True, eq=False)
class Choice:
    """What a run makes of a snapshot.

    Attributes:
        counted: copies of each row that count, shape (n,).
        added: copies of each row that are chosen now, shape (n,).
        entry: of each row, shape (n,), of `ENTRY`.
    """

    counted: IntArray
    added: IntArray
    entry: npt.NDArray[np.void]


def pseudonym(unit: bytes, key: bytes) -> bytes:
    """What stands for a unit's name."""
    return blake2b(unit, key=key, person=_UNIT, digest_size=UNIT_BYTES).digest()


def choose(rows: Snapshot, before: Chosen, caps: Caps, key: bytes) -> Choice:
    """Count what is chosen of a snapshot, and choose more of it as far as the caps have room.

    Args:
        rows: the snapshot of some units.
        before: all that was chosen of these units in earlier runs.
        caps: m and r.
        key: sub-key of 16 to 64 bytes that belongs to the stream.

    Raises:
        ConfigError: if the key has a wrong length.
    """
    require(len(key) in KEY_BYTES, "the key of chosen rows", "have 16 to 64 bytes", f"{len(key)} bytes")
    unit, day = rows.unit, rows.content["day"]
    if not len(unit):
        return Choice(unit, unit, np.zeros(0, ENTRY))
    new_day = np.append(True, (unit[1:] != unit[:-1]) | (day[1:] != day[:-1]))
    group, first = np.cumsum(new_day) - 1, np.flatnonzero(new_day)
    tags = _digests(rows, first, _DAY, key)
    entry = np.empty(len(unit), ENTRY)
    entry["day"] = np.frombuffer(b"".join(tags), ENTRY["day"])[group]
    entry["row"] = np.frombuffer(b"".join(_digests(rows, np.arange(len(unit)), _ROW, key)), ENTRY["row"])
    # A digest holds its unit's name, so that no two units share one.
    of_row, of_day = _sums(before.entry, before.copies), _sums(before.entry["day"], before.copies)
    copies = np.minimum(rows.copies, caps.rows_per_day)
    seen = np.minimum(copies, np.array([of_row[text] for text in _texts(entry)], dtype=np.int64))
    day_room = caps.rows_per_day - np.array([of_day[tag] for tag in tags], dtype=np.int64)
    unit_room = caps.rows - np.bincount(before.unit, before.copies, len(rows.names)).astype(np.int64)
    place = np.frombuffer(np.ascontiguousarray(entry["row"]), ">u8").reshape(-1, 2)
    added = _first(copies - seen, group, day_room, place)
    added = _first(added, unit, unit_room, place)
    return Choice(seen + added, added, entry)


def _first(wanted: IntArray, group: IntArray, room: IntArray, place: npt.NDArray[np.uint64]) -> IntArray:
    """Of the copies of some rows the first ones of each group, as many as it has room for."""
    order = np.lexsort((place[:, 1], place[:, 0], group))
    mine, own = wanted[order], group[order]
    before = np.cumsum(mine) - mine
    start: BoolArray = np.append(True, own[1:] != own[:-1])
    before -= before[start][np.cumsum(start) - 1]
    found = np.empty_like(wanted)
    found[order] = np.clip(np.maximum(room[own], 0) - before, 0, mine)
    return found


def _digests(rows: Snapshot, asked: IntArray, of: bytes, key: bytes) -> list[bytes]:
    """Keyed digests of some rows' units and days, or units and contents."""
    content = np.ascontiguousarray(rows.content[asked] if of == _ROW else rows.content["day"][asked])
    packed, size, length = content.tobytes(), content.itemsize, ROW_BYTES if of == _ROW else DAY_BYTES
    names = rows.names
    return [
        blake2b(packed[i * size : (i + 1) * size] + names[unit], key=key, person=of, digest_size=length).digest()
        for i, unit in enumerate(rows.unit[asked].tolist())
    ]


def _sums(values: npt.NDArray[np.void], copies: IntArray) -> Counter[bytes]:
    """The copies of each value; 0 of any other."""
    found: Counter[bytes] = Counter()
    for text, own in zip(_texts(values), copies.tolist(), strict=True):
        found[text] += own
    return found


def _texts(values: npt.NDArray[np.void]) -> list[bytes]:
    """Each value's bytes."""
    packed, size = np.ascontiguousarray(values).tobytes(), values.dtype.itemsize
    return [packed[at : at + size] for at in range(0, len(packed), size)]
