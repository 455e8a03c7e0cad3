"""The process from which a local session forks its Python workers: what every worker needs is loaded once, here.

Spark runs this module in the place of its own (``spark.python.daemon.module``). A worker that it forks starts without
loading numpy, pyarrow and pandas, which takes a second of each, and looks through none of that for garbage, as it does
after every task.
"""

import gc
import sys
from importlib import import_module
from pathlib import Path

# pyarrow loads pandas with the first array that it makes.
_LOADED = ("pandas", "pyspark.worker", "dplib.spark.points.points", "dplib.spark.rows.contributions")


def without_archives(path: list[str]) -> list[str]:
    """The places of modules without those inside a pyspark that is itself found there: Spark's archives and its jar.

    Spark names them first. They hold the same modules, not compiled, and every worker reads the lists of their files
    again before its first task.
    """
    installed = [Path(place) / "pyspark" for place in path]
    return [place for place in path if not any(Path(place).is_relative_to(home) for home in installed)]


def main() -> None:
    """Load what workers need, and fork them until Spark closes the input."""
    sys.path[:] = without_archives(sys.path)
    sys.path_importer_cache.clear()
    for name in _LOADED:
        import_module(name)
    gc.freeze()
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
