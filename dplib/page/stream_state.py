"""What a stream's page says of its days: measured, missing, final, preliminary and revised."""

from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.estimates.stream_state import StreamState
from dplib.page.number_text import counted


def state_sentences(state: StreamState[Any]) -> list[str]:
    """What is measured, missing, final and preliminary."""
    tops, tree = state.tops.tolist(), state.tree
    final = [top for top in tops if state.is_final(top)]
    n_days, last = int(state.days.sum()), int(np.flatnonzero(state.days)[-1])
    found = [
        f"A stream of {len(state.days):,} days. Measured: {counted(n_days, 'day')}, the newest {state.date(last)}."
    ]
    missing = np.flatnonzero(~state.days[:last])
    if len(missing):
        dates = [state.date(int(day)).isoformat() for day in missing[:5]]
        more = ", ..." if len(missing) > len(dates) else ""
        found.append(
            f"Not measured before it: {', '.join(dates)}{more}{'' if state.is_closed else '; each can still be run'}."
        )
    if state.is_closed:
        found.append("The stream is closed: all of its numbers are final.")
    elif final:
        end = state.date(int(tree.hi[final].max()) - 1)
        found.append(f"Final: the days of {counted(len(final), 'closed period')}, to {end}.")
    if not state.is_closed and len(final) < len(tops):
        found.append(
            f"{'The others' if final else 'All numbers'} are preliminary: when a period of the tree ends, its days are "
            "estimated anew from its own measurement."
        )
    return found


def revision_sentences(state: StreamState[Any], now: FloatArray, before: FloatArray) -> list[str]:
    """Which days have other numbers than in the version before; nothing where none has.

    Args:
        state: what is measured.
        now: estimates of the horizon's days, shape (n_days, n_series).
        before: those of the version before, NaN where it has none.
    """
    known = ~np.isnan(before).any(axis=1)
    days = np.flatnonzero(known & (now != before).any(axis=1))
    if not len(days):
        return []
    ends = f"{state.date(int(days[0]))} to {state.date(int(days[-1]))}"
    return [f"Revised since the version before: the numbers of {counted(len(days), 'day')}, {ends}."]
