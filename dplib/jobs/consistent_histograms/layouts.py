"""Where post-processing runs: one process, blocks on Spark, or the paper's grouping on Spark; the numbers are the same.

* ``driver``: the kernels on whole arrays in this process; the fastest while the arrays fit (`dplib.consistency`).
* ``blocks``: logical blocks of consecutive days; no shuffle after they are laid out (`block_layout`).
* ``reference``: the paper's grouping by item and by day, with two shuffles a round (`reference_layout`); settings
  that cannot be split so (`tree_smoother`) run in blocks.

Solvers that work on one group of series as a whole (`general`, `boosting`, `lblue`) run on the driver in every layout,
and the results say so. `matrix_free` runs in blocks, by rounds on the days' sparse equations.
Estimates of two layouts may differ in the last bits: where a small matrix multiplies many rows the linear algebra
library orders the additions by their number. Integer tables are equal.
"""

from pathlib import Path

from dplib.jobs.consistent_histograms.block_layout import results_in_blocks
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import chosen_solvers
from dplib.jobs.consistent_histograms.publish import Results, results_on_driver
from dplib.jobs.consistent_histograms.reference_layout import results_by_item_and_day, takes
from dplib.jobs.consistent_histograms.work_blocks import in_work_blocks
from dplib.progress import SILENT, Progress
from dplib.spark.engine.blocks import SparkSession

WHOLE = ("general", "boosting", "lblue")
"""Methods that are not cut."""


def results_in_layout(
    spark: SparkSession,
    design: Design,
    directory: Path,
    layout: str,
    progress: Progress = SILENT,
    n_partitions: int | None = None,
) -> Results:
    """Estimate, bound the errors and round, where the layout says.

    Args:
        spark: the session.
        design: the design.
        directory: holds ``measurement/``.
        layout: ``driver``, ``blocks`` or ``reference``.
        progress: told of each round of an iterative solver.
        n_partitions: how many tasks hold the data; as many as Spark's shuffles have where absent. Changes no number.

    Returns:
        The results; their ``layout`` says what ran.
    """
    chosen = {name for name, _ in chosen_solvers(design, design.config.publish.solver)}
    whole = not chosen.isdisjoint(WHOLE)
    if layout == "driver" or whole:
        return results_on_driver(design, directory, progress)
    if n_partitions is None:
        n_partitions = min(
            in_work_blocks(design).blocks.n_blocks, int(str(spark.conf.get("spark.sql.shuffle.partitions", "200")))
        )
    if layout == "reference" and takes(design):
        return results_by_item_and_day(spark, design, directory, progress, n_partitions)
    return results_in_blocks(spark, design, directory, progress, n_partitions)
