"""The job's own part of a publication: estimate from the stored measurement, and write the rest of the release."""

from dataclasses import replace
from pathlib import Path

from dplib.jobs.consistent_histograms.content import page_content
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import layout_of
from dplib.jobs.consistent_histograms.faint import faint_series
from dplib.jobs.consistent_histograms.publish import (
    Results,
    manifest_fields,
    promise,
    results_on_driver,
    write_tables,
)
from dplib.jobs.consistent_histograms.tables import read_tree
from dplib.jobs.consistent_histograms.trial import TRIAL
from dplib.ledger.runs import MeasuredRun
from dplib.page.account_state import AccountState
from dplib.release.release_tables import read_measure
from dplib.release.staging import MEASUREMENT
from dplib.workflow.job import Publishing, Resources
from dplib.workflow.publication import Made, finish_release, page_of


def publish(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Estimate from the stored measurement and write the rest of the release."""
    if job.design.config.stream is not None:
        # Imported where it is needed: a plan does without Spark.
        from dplib.jobs.consistent_histograms.stream_run import publish_version

        publish_version(job, run, account, directory)
        return
    design = job.design.as_measured(read_tree(directory), read_measure(directory / MEASUREMENT))
    design = laid_out(job, design, run.key.settings_hash)
    with job.stage("estimating"):
        results = _results(job, design, directory)
    with job.stage("writing"):
        write_tables(design, results, directory)
        made = Made(
            promise(design),
            faint_series(design, results),
            manifest_fields(design, results),
            lambda frame: page_of("dplib.jobs.consistent_histograms", page_content(design, results))(frame),
        )
        finish_release(replace(job.prepared, design=design), directory, run, account, made)


def laid_out(job: Resources[Design], design: Design, run_hash: str) -> Design:
    """The design with the blocks of a run's measurement, which follow from the hash that it was reserved under."""
    return design if run_hash == job.prepared.key.settings_hash else design.in_former_blocks()


def _results(job: Resources[Design], design: Design, directory: Path) -> Results:
    layout = layout_of(design)
    if layout == "driver":
        return results_on_driver(design, directory, job.progress)
    # Imported where it is needed: a plan does without Spark.
    from dplib.jobs.consistent_histograms.layouts import results_in_layout

    return results_in_layout(job.spark(), design, directory, layout, job.progress)


PUBLISHING = Publishing(publish=publish, trial=TRIAL)
"""How releases are made."""
