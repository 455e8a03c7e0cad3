"""How work that takes a while tells of itself: the stages it is in, the events of its run, the rounds of its solvers.

One value is handed down from the command line to the innermost loop. Nothing that it is told holds a value of a row or
a number of rows: what is told goes to logs.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Round:
    """What the driver records of one round: no true count enters.

    Attributes:
        number: 1 for the first round.
        change: mean absolute change of all values in this round.
        deviation: consistency deviation ``mse_s`` (equation 14) after it.
    """

    number: int
    change: float
    deviation: float


class Event(Protocol):
    """Is told that something happened to a run."""

    def __call__(self, name: str, /, **fields: object) -> None:
        """Note the event ``name`` and what it is about."""


def _in_silence(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def _unheard(_: str, /, **__: object) -> None:
    """Nobody listens."""


def _uncounted(_: Round) -> None:
    """Nobody counts."""


@dataclass(frozen=True)
class Progress:
    """Whom work tells what it does; by default nobody.

    Attributes:
        stage: surrounds a part of the work that takes seconds.
        event: is told that a run is reserved, measured, published.
        round: is told of each round of an iterative solver.
    """

    stage: Callable[[str], AbstractContextManager[None]] = _in_silence
    event: Event = _unheard
    round: Callable[[Round], None] = _uncounted


SILENT = Progress()
"""Nobody is told anything."""
