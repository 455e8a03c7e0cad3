"""Pages that nobody sees draw few pictures."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_kinds: ContextVar[Counter[str] | None] = ContextVar("kinds", default=None)
"""How many pictures of each kind were asked for, where only few of a kind are drawn."""


@contextmanager
def few_of_a_kind() -> Iterator[None]:
    """Draw no more than two pictures of a kind, such as one by day and one by month; for pages that nobody sees."""
    token = _kinds.set(Counter())
    try:
        yield
    finally:
        _kinds.reset(token)


def one_too_many(kind: str) -> bool:
    """Whether another picture of a kind is not to be drawn."""
    kinds = _kinds.get()
    if kinds is None:
        return False
    kinds[kind] += 1
    return kinds[kind] > 2
