"""What only a process of ours may do: not one whose Python belongs to a notebook, a test or another program."""

import sys
from collections.abc import Sequence
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType

ours = False
"""Whether the console script started this process."""


class _NoPandas:
    """An importer that knows one module is not there."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Say so."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def leave_pandas_out() -> None:
    """Let pyarrow do without pandas, of which it asks at its first array whether it could be given some.

    Loading it takes longer than a question to a release, and nothing here has a use for it.
    """
    if not ours or "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


def leave_tools_out() -> None:
    """Let two parts of numpy, its reader of Fortran and its help for tests, be loaded where something uses them.

    scipy names all parts of numpy when it is loaded, of which these two take as long as its matrices.
    """
    if not ours:
        return
    for name in ("numpy.f2py", "numpy.testing"):
        found = None if name in sys.modules else find_spec(name)
        if found is not None and found.loader is not None:
            found.loader = LazyLoader(found.loader)
            sys.modules[name] = module = module_from_spec(found)
            found.loader.exec_module(module)
            setattr(sys.modules["numpy"], name.partition(".")[2], module)
