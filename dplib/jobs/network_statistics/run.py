"""The job's own part of a run: open the list of edges, measure once, estimate and publish."""

from pathlib import Path

from dplib.config.edge_input import EdgeInput
from dplib.config.network_releases import ReportInput
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.distributed import layout_of, measure_on_spark
from dplib.jobs.network_statistics.faint import faint_statistics
from dplib.jobs.network_statistics.measure import measure_edges
from dplib.jobs.network_statistics.publish import manifest_fields, promise, write_tables
from dplib.jobs.network_statistics.rehearse import shown_rehearsal
from dplib.jobs.network_statistics.reports import measure_reports
from dplib.jobs.network_statistics.trial import TRIAL
from dplib.ledger.runs import MeasuredRun
from dplib.page.account_state import AccountState
from dplib.spark.engine.blocks import DataFrame, SparkSession
from dplib.spark.graphs.edges import collect_edges, inspect_edges, judge_edges, open_edges
from dplib.spark.graphs.reports import inspect_reports, judge_reports, open_reports
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.quality_rows import judged_edges
from dplib.workflow.job import Publishing, Resources, Stages
from dplib.workflow.prepared import Prepared
from dplib.workflow.publication import Made, finish_release, page_of
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def open_input(job: Resources[Design]) -> DataFrame:
    """Open the list of edges, or of reports, and check its schema."""
    if job.design.reported is not None:
        return open_reports(job.spark(), job.prepared.source(ReportInput), job.prepared.base)
    return open_edges(job.spark(), job.prepared.source(EdgeInput), job.prepared.base, job.design.vertices)


def measure(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Read the edges, count, draw the noise once and store it; of reports, which are noisy already, store them."""
    if job.design.reported is not None:
        with job.stage("reading the reports"):
            return measure_reports(job.design, judge_reports(rows, job.design.vertices), keys, directory)
    judged = judge_edges(rows, job.design.vertices)
    if layout_of(job.design) == "spark":
        with job.stage("counting on Spark and drawing noise"):
            return measure_on_spark(judged, job.design, keys, directory)
    with job.stage("reading the edges"):
        graph = collect_edges(judged, job.design.n_vertices)
    with job.stage("counting and drawing noise"):
        return measure_edges(job.design, graph, keys, directory)


def judge(job: Resources[Design], rows: DataFrame) -> JudgedRows:
    """The rows after their rules, for the quality of the input."""
    return judged_edges(rows, job.design.vertices)


def publish(job: Resources[Design], run: MeasuredRun, account: AccountState, directory: Path) -> None:
    """Estimate from the stored measurement and write the rest of the release."""
    design = job.design
    with job.stage("estimating and writing"):
        results, parts = write_tables(design, directory)
        faint = faint_statistics(design, results, directory)
        made = Made(
            promise(design),
            faint,
            manifest_fields(design),
            page_of("dplib.jobs.network_statistics", design, results, parts),
        )
        finish_release(job.prepared, directory, run, account, made)


def inspect(spark: SparkSession, prepared: Prepared[Design]) -> Inspection:
    """What each rule and cap does to the rows."""
    design, vertices = prepared.design, prepared.design.vertices
    if design.reported is not None:
        reports = open_reports(spark, prepared.source(ReportInput), prepared.base)
        return inspect_reports(judge_reports(reports, vertices))
    rows = open_edges(spark, prepared.source(EdgeInput), prepared.base, vertices)
    bound = design.largest_degree if design.projected else None
    return inspect_edges(judge_edges(rows, vertices, for_owner=True), vertices, bound)


PUBLISHING = Publishing(publish=publish, trial=TRIAL)
"""How releases are made."""
STAGES = Stages(
    open_input=open_input,
    measure=measure,
    judge=judge,
    inspect=inspect,
    rehearse=shown_rehearsal,
)
"""What runs are made of."""
