"""The table of jobs. Each is loaded when it is asked for: it brings libraries that others do not need, and seconds."""

from collections.abc import Callable

from dplib.validate import one_of
from dplib.workflow.design import JobDesign
from dplib.workflow.job import Job


def _consistent_histograms() -> Job[JobDesign]:
    from dplib.jobs.consistent_histograms.job import JOB

    return JOB


def _kmeans() -> Job[JobDesign]:
    from dplib.jobs.kmeans.job import JOB

    return JOB


def _minimum_cuts() -> Job[JobDesign]:
    from dplib.jobs.minimum_cuts.job import JOB

    return JOB


def _network_statistics() -> Job[JobDesign]:
    from dplib.jobs.network_statistics.job import JOB

    return JOB


def _range_histograms() -> Job[JobDesign]:
    from dplib.jobs.range_histograms.job import JOB

    return JOB


JOBS: dict[str, Callable[[], Job[JobDesign]]] = {
    "consistent-histograms": _consistent_histograms,
    "kmeans": _kmeans,
    "minimum-cuts": _minimum_cuts,
    "network-statistics": _network_statistics,
    "range-histograms": _range_histograms,
}


def job_named(name: str) -> Job[JobDesign]:
    """A job.

    Raises:
        ConfigError: if there is no such job.
    """
    return JOBS[one_of("JOB", name, tuple(JOBS))]()
