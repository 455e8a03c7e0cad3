"""Machine code for loops that numpy has no words for, wherever the package was loaded from.

Compiled functions are kept beside their source, so that only the first run on a machine pays for compiling. That needs
a source file in a folder that can be written. Inside an archive (a wheel given to ``spark-submit --py-files``) and in
an installation that nobody may write to, each process compiles anew, a few seconds, instead of failing.

Processes that start together compile the same functions at the same time. numba numbers the files it keeps, so two
processes that compile one function for two kinds of arrays can both write number 1, and a third then runs the code for
one kind on arrays of the other: wrong numbers, and no error where only the strides differ. Here each kind has a file
of its own, named by a hash of the kind, and the index is written after it.

A kept function is compiled again when its own file changes, not when a function that it calls in another file does:
after editing such a file run ``make clean``. An installed version's files all change together.
"""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function of numbers and numpy arrays at its first call; it must hold no Python objects."""
    dispatcher = numba.njit(function)
    if Path(function.__code__.co_filename).is_file():
        with contextlib.suppress(RuntimeError):  # numba finds no folder that it may write to
            dispatcher._cache = _Cache(function)
    # The compiled function is called as the plain one is.
    return cast(F, dispatcher)


class _Cache(FunctionCache):
    """What numba keeps of one function, in files that no two kinds of arguments share."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        numbered = self._cache_file
        self._cache_file = _Files(numbered._cache_path, self._impl.filename_base, numbered._source_stamp)


class _Files(IndexDataCacheFile):
    """An index of kinds of arguments and one file for each kind; two writers can lose an entry, never mix two up."""

    def save(self, key: Any, data: Any) -> None:
        """Keep the code for one kind of arguments: first the code, then the index that names it."""
        digest = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()
        name = f"{Path(self._index_name).stem}.{digest[:16]}.nbc"
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})
