"""The job's own part of a run: open the list of edges, measure once, estimate and publish."""

from pathlib import Path

from dplib.config.minimum_cuts import MinimumCutsConfig
from dplib.minimum_cuts.design import Design
from dplib.minimum_cuts.measure import measure_graph
from dplib.minimum_cuts.publish import manifest_fields, write_tables
from dplib.release.lifecycle import MeasurementKeys
from dplib.release.run_keys import RunKeys
from dplib.release.runs import Run
from dplib.report.account_state import AccountState
from dplib.spark.blocks import DataFrame
from dplib.spark.edges import open_edges
from dplib.spark.weighted_edges import collect_graph, judge_weighted_edges
from dplib.workflow.manifest import write_release_manifest
from dplib.workflow.prepared import Prepared, prepare_job
from dplib.workflow.run import REPORT, Resources, Stages


def prepare(path: Path, assignments: tuple[str, ...] = (), date: str = "") -> Prepared[Design]:
    """Load, check and resolve a configuration.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    return prepare_job(MinimumCutsConfig, Design.resolve, path, assignments, date)


def open_input(job: Resources[Design]) -> DataFrame:
    """Open the list of edges and check its schema."""
    return open_edges(job.spark(), job.design.config.input, job.prepared.base)


def measure(job: Resources[Design], rows: DataFrame, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Read the graph, find its cuts, draw the noise once and store it."""
    design = job.design
    weights = design.config.graph.weights
    with job.stage("reading the edges"):
        graph = collect_graph(judge_weighted_edges(rows, design.vertices, weights), design.vertices, weights)
    with job.stage("finding cuts and drawing noise"):
        return measure_graph(design, graph, keys, directory)


def publish(job: Resources[Design], run: Run, account: AccountState, directory: Path) -> None:
    """Estimate from the stored measurement and write the rest of the release."""
    design = job.design
    with job.stage("estimating and writing"):
        results = write_tables(design, directory)
        # Imported where it is needed: drawing takes seconds to load, and most commands draw nothing.
        from dplib.minimum_cuts.page import build_page

        (directory / REPORT).write_text(build_page(design, results, run, account), encoding="utf-8")
        write_release_manifest(directory, design, run, account.currency, manifest_fields(design))


STAGES = Stages(open_input, measure, publish)
"""What the job does in a run (`dplib.workflow.run.run_job`)."""
