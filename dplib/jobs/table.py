"""The table of jobs. Each is loaded when it is asked for: it brings libraries that others do not need, and seconds."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from dplib.validate import one_of

if TYPE_CHECKING:
    from dplib.workflow.design import JobDesign
    from dplib.workflow.job import Job, PreparedJob

JOBS = {
    "consistent-histograms": "dplib.jobs.consistent_histograms.job",
    "key-selection": "dplib.jobs.key_selection.job",
    "kmeans": "dplib.jobs.kmeans.job",
    "minimum-cuts": "dplib.jobs.minimum_cuts.job",
    "network-statistics": "dplib.jobs.network_statistics.job",
    "range-histograms": "dplib.jobs.range_histograms.job",
}
"""By name: the module that holds its `JOB`."""


def job_named(name: str) -> "Job[JobDesign]":
    """A job.

    Raises:
        ConfigError: if there is no such job.
    """
    found: Job[JobDesign] = import_module(JOBS[one_of("JOB", name, tuple(JOBS))]).JOB
    return found


def prepare_file(path: Path, date: str = "", assignments: Sequence[str] = ()) -> "PreparedJob[JobDesign]":
    """A configuration of the job that it names.

    Args:
        path: the configuration file.
        date: logical date, empty where there is none.
        assignments: of the command line, ``a.b=c``, which win over the file.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    # Imported where it is needed: whoever only names the jobs reads no settings.
    from dplib.config.load import read_setting

    return job_named(read_setting(path, "job", "None")).prepare(path, assignments, date)
