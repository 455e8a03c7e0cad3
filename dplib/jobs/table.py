"""The table of jobs. Each is loaded when it is asked for: it brings libraries that others do not need, and seconds."""

from collections.abc import Callable
from pathlib import Path

from dplib.config.load import read_setting
from dplib.validate import one_of
from dplib.workflow.design import JobDesign
from dplib.workflow.job import Job, PreparedJob


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


def prepare_file(path: Path, date: str = "") -> PreparedJob[JobDesign]:
    """A configuration of the job that it names.

    Args:
        path: the configuration file.
        date: logical date, empty where there is none.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    return job_named(read_setting(path, "job", "None")).prepare(path, (), date)
