"""What only a process of ours may do: not one whose Python belongs to a notebook, a test or another program."""

import sys
from collections.abc import Sequence
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
