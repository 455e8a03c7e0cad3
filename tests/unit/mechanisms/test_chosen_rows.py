"""Rows chosen once: the bound over neighbouring histories by brute force, and planted faults that break it."""

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.mechanisms.chosen_rows import CONTENT, Caps, Choice, Chosen, Snapshot, choose, pseudonym

KEY = bytes(range(32))
LEVELS = [[range(3)], [range(2), range(2, 3)], [range(1), range(1, 2), range(2, 3)]]
"""Nodes of a tree over three days, from the top down."""
CAPS = [Caps(1, 1), Caps(2, 1), Caps(2, 2)]
Histories = IntArray
"""Copies of a unit's rows by history, run and day: shape (n_histories, 3, 3); re-dated rows are others."""
Chooser = Callable[[Snapshot, Chosen, Caps], Choice]


def all_histories() -> Histories:
    """Every sequence of three snapshots of at most two rows on three days: late, deleted and re-dated rows."""
    snapshots = [each for each in product(range(3), repeat=3) if sum(each) <= 2]
    return np.array(list(product(snapshots, repeat=3)))


def snapshot_of(copies: IntArray, days: range) -> Snapshot:
    """What a run reads: every history is a unit of its own, shape (n_histories, n_days)."""
    unit, day = np.nonzero(copies)
    read = (day >= days.start) & (day < days.stop)
    unit, day = unit[read], day[read]
    content = np.zeros(len(unit), CONTENT)
    content["day"], content["quantity"] = day, 1
    names = [pseudonym(str(number).encode(), KEY) for number in range(len(copies))]
    return Snapshot.of(unit.astype(np.int64), content, copies[unit, day].astype(np.int64), names)


def chosen_once(rows: Snapshot, before: Chosen, caps: Caps) -> Choice:
    return choose(rows, before, caps, KEY)


def changes(
    histories: Histories,
    order: tuple[int, ...],
    caps: Caps,
    chooser: Chooser = chosen_once,
    remembered: Callable[[int], bool] = lambda _run: True,
    measured_again: bool = False,
) -> list[IntArray]:
    """What the unit adds to every node that is ever measured, by level: shape (n_histories, n_nodes) each.

    Args:
        histories: what the runs read.
        order: in which the days are run.
        caps: of the unit.
        chooser: chooses.
        remembered: whether a run's choice is kept for the later ones.
        measured_again: whether a run also counts the nodes anew that closed before, and shows how they moved.
    """
    found = [np.zeros((len(histories), len(nodes)), np.int64) for nodes in LEVELS]
    before, shown = Chosen.nothing(), {}
    for run, day in enumerate(order):
        closing = [
            (level, number, days)
            for level, nodes in enumerate(LEVELS)
            for number, days in enumerate(nodes)
            if days[-1] == day or (measured_again and (level, number) in shown)
        ]
        read = range(min(days.start for *_, days in closing), max(days.stop for *_, days in closing))
        rows = snapshot_of(histories[:, run], read)
        choice = chooser(rows, before, caps)
        counted = np.zeros((len(histories), 3), np.int64)
        np.add.at(counted, (rows.unit, rows.content["day"]), choice.counted)
        for level, number, days in closing:
            now = counted[:, days.start : days.stop].sum(axis=1)
            found[level][:, number] += np.abs(now - shown.get((level, number), 0))
            shown[level, number] = now
        new = np.flatnonzero(choice.added)
        if remembered(run):
            before = Chosen(
                np.append(before.unit, rows.unit[new]),
                np.append(before.entry, choice.entry[new]),
                np.append(before.copies, choice.added[new]),
            )
    return found


def is_within(found: list[IntArray], caps: Caps) -> bool:
    """Whether the L1 and the squared L2 norm of each level keep to the batch's bound."""
    widths = [max(map(len, nodes)) for nodes in LEVELS]
    return all(
        own.sum(axis=1).max() <= caps.rows
        and (own**2).sum(axis=1).max() <= caps.rows * min(caps.rows, caps.rows_per_day * width)
        for own, width in zip(found, widths, strict=True)
    )


def is_always_within(**ways: object) -> bool:
    return all(
        is_within(changes(all_histories(), order, caps, **ways), caps)  # type: ignore[arg-type]
        for order in permutations(range(3))
        for caps in CAPS
    )


def test_no_history_changes_a_level_by_more_than_its_cap() -> None:
    assert is_always_within()
    found = changes(all_histories(), (0, 1, 2), Caps(2, 2))
    assert [int(own.sum(axis=1).max()) for own in found] == [2, 2, 2]


def by_day_only(rows: Snapshot, before: Chosen, caps: Caps) -> Choice:
    return choose(rows, before, Caps(1000, caps.rows_per_day), KEY)


def oldest_afresh(rows: Snapshot, before: Chosen, caps: Caps) -> Choice:
    """The oldest rows of the present snapshot."""
    start = np.append(True, rows.unit[1:] != rows.unit[:-1])[: len(rows.unit)]
    ahead = np.cumsum(rows.copies) - rows.copies
    ahead = ahead - ahead[start][np.cumsum(start) - 1]
    kept = np.clip(caps.rows - ahead, 0, np.minimum(rows.copies, caps.rows_per_day))
    return Choice(kept, kept, choose(rows, Chosen.nothing(), caps, KEY).entry)


@pytest.mark.parametrize(
    "fault",
    [
        {"chooser": by_day_only},
        {"chooser": oldest_afresh},
        {"remembered": lambda _run: False},
        # Counts that were seen although the table of their run was lost.
        {"remembered": lambda run: run != 1},
        {"measured_again": True},
    ],
    ids=["a cap by day only", "oldest rows afresh", "a table that is reset", "a lost table", "a closed node moves"],
)
def test_planted_faults_are_caught(fault: dict[str, object]) -> None:
    assert not is_always_within(**fault)


def test_a_row_that_counted_counts_in_every_later_node_of_its_days() -> None:
    # Nothing comes late, nothing goes: a node counts what its children counted, whatever the caps left out.
    copies = np.array(list(product(range(3), repeat=3)))
    history = np.repeat(copies[:, None], 3, axis=1)
    for caps in CAPS:
        top, middle, days = changes(history, (0, 1, 2), caps)
        assert (days.sum(axis=1) == top[:, 0]).all()
        assert (days[:, :2].sum(axis=1) == middle[:, 0]).all()
        assert (top[:, 0] == np.minimum(caps.rows, np.minimum(copies, caps.rows_per_day).sum(axis=1))).all()
    _, _, late = changes(history, (2, 0, 1), Caps(1, 1))
    assert late.sum(axis=1).max() == 1


def test_without_a_binding_cap_every_row_counts() -> None:
    for order in permutations(range(3)):
        histories = all_histories()
        found = changes(histories, order, Caps(9, 9))
        for level, nodes in enumerate(LEVELS):
            for number, days in enumerate(nodes):
                run = order.index(days[-1])
                expected = histories[:, run, days.start : days.stop].sum(axis=1)
                assert (found[level][:, number] == expected).all()


def test_a_unit_more_or_less_leaves_the_choice_of_the_others() -> None:
    copies = np.random.default_rng(4).integers(0, 3, (40, 3))
    rows, fewer = snapshot_of(copies, range(3)), snapshot_of(copies * (np.arange(40) != 7)[:, None], range(3))
    every, without = (choose(each, Chosen.nothing(), Caps(2, 1), KEY) for each in (rows, fewer))
    others = rows.unit != 7
    assert (every.counted[others] == without.counted).all()
    assert every.counted[~others].sum() == 2
    with pytest.raises(ConfigError, match="the key of chosen rows must have 16 to 64 bytes"):
        choose(rows, Chosen.nothing(), Caps(1, 1), b"short")


def test_the_choice_is_fair_among_rows() -> None:
    # Each of three rows of a unit is the one that is chosen in about a third of 3,000 units.
    chosen = choose(snapshot_of(np.ones((3000, 3), np.int64), range(3)), Chosen.nothing(), Caps(1, 1), KEY)
    share = chosen.counted.reshape(3000, 3).mean(axis=0)
    assert share.sum() == 1
    assert np.abs(share - 1 / 3).max() < 0.05
