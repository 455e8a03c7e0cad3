"""What was worked out of the last few settings: days of a run, its rehearsal and its page ask for the same again."""

from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Made = TypeVar("Made")


class Kept(Generic[Asked, Made]):
    """Answers to the last few questions, found by equality.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._pairs: tuple[tuple[Asked, Made], ...] = ()

    def find(self, asked: Asked) -> Made | None:
        """The answer to an equal question; None where it is not among the last ones."""
        return next((made for known, made in self._pairs if known == asked), None)

    def keep(self, asked: Asked, made: Made) -> Made:
        """Keep an answer in place of the oldest; returns it."""
        self._pairs = ((asked, made), *self._pairs[: self._most - 1])
        return made
