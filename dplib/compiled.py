"""Machine code for loops that numpy has no words for, wherever the package was loaded from.

Compiled functions are kept beside their source, so that only the first run on a machine pays for compiling. That needs
a source file in a folder that can be written. Inside an archive (a wheel given to ``spark-submit --py-files``) and in
an installation that nobody may write to, each process compiles anew, a few seconds, instead of failing.

A kept function is compiled again when its own file changes, not when a function that it calls in another file does:
after editing such a file run ``make clean``. An installed version's files all change together.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function of numbers and numpy arrays at its first call; it must hold no Python objects."""
    kept = Path(function.__code__.co_filename).is_file()
    try:
        return _compile(function, kept)
    except RuntimeError:  # numba found no folder that it may write to
        return _compile(function, False)


def _compile(function: F, kept: bool) -> F:
    # The compiled function is called as the plain one is.
    return cast(F, numba.njit(cache=kept)(function))
