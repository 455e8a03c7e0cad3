"""Acceptance of network statistics: counting and degree bounding on Spark (`scripts.accept.network_statistics`)."""

import os
from collections.abc import Iterator

from scripts.accept.claims import Check, Result, at_most, load, unless_busy
from scripts.bench.network_counting import TARGETS, Timing, time_in_process


def times_on_spark() -> Iterator[Result]:
    """From rows of edges, after the session has started; three rounds, each from the rows."""
    if "DPLIB_SHARED" not in os.environ:
        yield Result("Email-Enron on Spark", "the shared data", "DPLIB_SHARED is not set", None)
    before = load()
    both = time_in_process("local[2]")
    for each in both:
        title = f"{each.graph} on Spark, local[2], {each.stage}"
        yield Result(f"{title}: that of one process", "equal", f"{each.count:,}", each.right)
        if each.stage.endswith("triangles"):
            claim = f"{title}, from rows, median of 3, the first {each.first:.1f} s ({before} at the start)"
            yield unless_busy(at_most(claim, each.median, TARGETS[each.graph], " s"))
    yield from _scaling(both, time_in_process("local[1]"))


def _scaling(both: list[Timing], one: list[Timing]) -> Iterator[Result]:
    """One core against two: a note without a target, since other processes share the machine."""
    for two, alone in zip(both, one, strict=True):
        measured = f"{alone.median:.1f} s on one core, {two.median:.1f} s on two: {alone.median / two.median:.2f} times"
        yield Result(f"{two.graph}, {two.stage}: local[1] against local[2] ({load()})", "a note", measured, alone.right)


CHECKS: tuple[Check, ...] = (times_on_spark,)
