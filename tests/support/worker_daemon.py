"""The process that Python workers of the tests' session are forked from.

It has loaded what tasks of any job load. By itself each worker, of which a minute without tasks leaves none, takes a
second for numba and another for the rest.
"""

from importlib import import_module

from numba.core.registry import cpu_target

from dplib.spark.engine import worker_daemon

_LOADED = (
    "dplib.jobs.consistent_histograms.blocks",
    "dplib.jobs.consistent_histograms.layouts",
    "dplib.jobs.kmeans.measure",
    "dplib.jobs.network_statistics.distributed",
    "dplib.spark.graphs.cut_trials",
    "dplib.spark.points.point_reports",
    "dplib.spark.rows.chosen_rows",
)

if __name__ == "__main__":
    for name in _LOADED:
        import_module(name)
    # What numba does before the first function of a process runs.
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    worker_daemon.main()
