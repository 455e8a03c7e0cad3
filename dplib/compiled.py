"""Machine code for loops that numpy has no words for, wherever the package was loaded from.

A function is compiled at its first call, and numba, which takes a third of a second to load, is not loaded before: the
commands that call no such function do without. How the code is kept is `dplib.kept_code`'s.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, update_wrapper
from inspect import getsource
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
_as_written = ContextVar("_as_written", default=False)


def compiled(function: F) -> F:
    """Compile a function of numbers and numpy arrays at its first call; it must hold no Python objects."""
    # The compiled function is called as the plain one is.
    return cast(F, Compiled(function))


@contextmanager
def as_written(when: bool) -> Iterator[None]:
    """Inside, functions run as they are written, with the same result: a few small calls cost less than loading numba.

    Args:
        when: whether they do.
    """
    before = _as_written.set(when)
    try:
        yield
    finally:
        _as_written.reset(before)


class Compiled:
    """A function that is compiled when it is called, or when one that calls it is.

    Args:
        function: as it is written.
    """

    __name__: str

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code."""
        return self.function(*arguments) if _as_written.get() else self.dispatcher(*arguments)

    def __reduce__(self) -> str:
        # Tasks on executors look it up by its name, as they do with plain functions.
        return self.__name__

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's own object."""
        # Imported where it is needed: it brings numba.
        from dplib.kept_code import dispatcher_of

        return dispatcher_of(self.function, self._source())

    def _source(self) -> str:
        """The text of its module, and of those whose compiled functions that can call."""
        found: dict[str, str] = {}
        waiting = [self.__module__]
        while waiting:
            name = waiting.pop()
            if name not in found:
                module = sys.modules[name]
                found[name] = getsource(module)
                waiting += [each.__module__ for each in vars(module).values() if isinstance(each, Compiled)]
        return "\0".join(f"{name}\0{found[name]}" for name in sorted(found))

    @property
    def _numba_type_(self) -> Any:
        # By this name numba asks what is no type of its own, so that compiled functions can call each other.
        return self.dispatcher._numba_type_
