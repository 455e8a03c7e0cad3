"""Where machine code is kept, so that only the first run of a version on a machine pays for compiling.

Code stands beside its source where that folder can be written, else in the user's folder of caches; so does the code of
an archive's modules (a wheel given to ``spark-submit --py-files``), which a session unpacks nowhere. Where neither can
be written, each process compiles anew instead of failing. Set-up, or ``dplib doctor --compile``, compiles what first
runs would wait for (`dplib.jobs.kernels`).

Processes that start together compile the same functions at the same time. numba numbers the files it keeps, so two
processes that compile one function for two kinds of arrays can both write number 1, and a third then runs the code for
one kind on arrays of the other: wrong numbers, and no error where only the strides differ. Here each kind has a file
of its own, named by a hash of the kind, and the index is written after it.

Code is compiled again when the file of the function changes, or that of one that it calls, wherever that stands.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator


def dispatcher_of(function: Callable[..., Any], source: str) -> Any:
    """What compiles a function, and looks for its code before.

    Args:
        function: as it is written.
        source: all that its machine code is made of.
    """
    dispatcher = numba.njit(function)
    with contextlib.suppress(RuntimeError):  # there is no folder that may be written to
        dispatcher._cache = _Cache(function, hashlib.sha256(source.encode()).hexdigest())
    return dispatcher


class _InArchive(_CacheLocator):
    """The user's folder of caches, for a function whose file is inside an archive."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def get_cache_path(self) -> str:
        """The folder, the same wherever the archive lies."""
        caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        return str(caches / "dplib" / self._function.__module__)

    def get_source_stamp(self) -> str:
        """Nothing: `_Cache` knows what the code is made of."""
        return ""

    def get_disambiguator(self) -> str:
        """Tells functions of one name apart."""
        return str(self._function.__code__.co_firstlineno)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_InArchive | None":
        """The place for a function; None where its file is a file, or there is no folder that may be written to."""
        if Path(py_file).is_file():
            return None
        found = cls(py_func)
        try:
            found.ensure_cache_path()
        except OSError:
            return None
        return found


class _Places(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [  # noqa: RUF012 - as numba declares it
        _InArchive,
        *CompileResultCacheImpl._locator_classes,
    ]


class _Cache(FunctionCache):
    """What numba keeps of one function, in files that no two kinds of arguments share."""

    _impl_class = _Places

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_file._cache_path, f"{self._impl.filename_base}.{stamp[:16]}", stamp)


class _Files(IndexDataCacheFile):
    """An index of kinds of arguments and one file for each kind; two writers can lose an entry, never mix two up."""

    def save(self, key: Any, data: Any) -> None:
        """Keep the code for one kind of arguments: first the code, then the index that names it."""
        digest = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()
        name = f"{Path(self._index_name).stem}.{digest[:16]}.nbc"
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})
