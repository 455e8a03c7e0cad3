"""Differentially private releases as batch jobs on Apache Spark; `open_release` and `combine` read them in Python."""

from typing import TYPE_CHECKING, Any

from dplib.version import __version__ as __version__

if TYPE_CHECKING:
    from dplib.reading.combined import combine as combine
    from dplib.reading.release import Release as Release
    from dplib.reading.release import open_release as open_release

_READING = {"open_release": "release", "Release": "release", "combine": "combined"}


def __getattr__(name: str) -> Any:
    """The public face, loaded when it is asked for: commands, jobs and executors import the package too."""
    if name not in _READING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dplib.reading.{_READING[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_READING])
