"""Searches for near-minimum cuts as Spark tasks: random trials by ranges of their numbers.

Trial ``i`` of a seed is the same wherever it runs (`dplib.graphs.cuts.contraction`), and a result is a set of cuts:
each task reports the different cuts of its trials as (bitset, value), Spark keeps one of each, the driver sorts them.
So the result depends on the graph, the bound, the plan and the seed only, not on the number of tasks, their order, or
tasks that run again.

Failure probability: a cut of at most ``plan.ratio`` times the minimum cut value is missing after all tasks with
probability at most that which the plan was made for, over uniform seeds: `dplib.graphs.cuts.karger`,
`dplib.graphs.cuts.karger_stein`.

Tasks get the graph and the seed inside the function that they run, nothing else; neither hides anything by itself, and
no noise is drawn here. How many cuts there are is private, as the graph is.

Cost: the trials' own time over the number of cores; a second for a first task on a core; a shuffle of different cuts.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from dplib.arrays import IntArray
from dplib.graphs.cuts.cut_list import MAX_CUTS, CutList, limit_of, sorted_cuts
from dplib.graphs.cuts.karger import TrialPlan, contraction_cuts, split_trials
from dplib.graphs.cuts.karger_stein import karger_stein_cuts
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import Graph, components, word_count
from dplib.spark.engine.session import quiet_spark_errors
from dplib.validate import at_least

Method = Literal["karger", "karger-stein"]
Batches = Iterator[pa.RecordBatch]
Range = tuple[int, int]
_SCHEMA = pa.schema([("side", pa.binary()), ("cut_value", pa.int64())])
_TOO_MANY = -1


def search_cuts(
    spark: SparkSession,
    graph: Graph,
    bound: int,
    plan: TrialPlan,
    seed: int,
    n_tasks: int,
    method: Method = "karger",
    limit: int = MAX_CUTS,
) -> CutList | None:
    """Find all cuts of value up to a bound by random trials; None where there are more than the limit.

    Args:
        spark: the session.
        graph: any. One that is not connected, or has no cut, is searched by `near_minimum_cuts` on the driver.
        bound: at least 0; the plan speaks of bounds of at most ``plan.ratio`` times the minimum cut value.
        plan: from `dplib.graphs.cuts.karger.plan_trials`, or `dplib.graphs.cuts.karger_stein.plan_runs`.
        seed: from 0 to 2^64 - 1, uniform.
        n_tasks: among how many tasks the trials are shared out, at least 1.
        method: what a trial is; as the plan's.
        limit: the most cuts to list, at least 1; fewer where they would take more than 512 MB.

    Raises:
        ConfigError: a number is out of range, or the graph is too large for Karger and Stein's recursion.
        DplibError: if Spark fails.
    """
    at_least("bound", bound, 0)
    at_least("limit", limit, 1)
    if graph.n_vertices < 2 or components(graph)[0] > 1:
        found = near_minimum_cuts(graph, bound, limit)
        return found.cuts if found.complete else None
    limit = limit_of(graph.n_vertices, limit)
    search = partial(_by_trials, graph, bound, plan, seed, method, limit)
    # A trial of the driver meets what is wrong with the arguments before Spark does.
    search((0, 0))
    return _run(spark, np.arange(graph.n_vertices), split_trials(plan.n_trials, n_tasks), search, limit)


def _by_trials(
    graph: Graph, bound: int, plan: TrialPlan, seed: int, method: Method, limit: int, trials: Range
) -> CutList | None:
    """The cuts of a range of trials; None where there are more than the limit."""
    if method == "karger":
        cuts = contraction_cuts(graph, bound, plan.n_left, seed, *trials, limit)
    else:
        cuts = karger_stein_cuts(graph, bound, plan.ratio, seed, *trials, limit)
    return cuts if len(cuts) <= limit else None


def _run(
    spark: SparkSession,
    label: IntArray,
    ranges: Sequence[Range],
    search: Callable[[Range], CutList | None],
    limit: int,
) -> CutList | None:
    """The different cuts of all ranges, one task each; None where there are more than the limit."""
    n_words = word_count(len(label))
    tasks = spark.range(0, len(ranges), 1, max(len(ranges), 1))
    # One more than the limit tells that there are too many; the driver need not hold what all tasks found.
    found = tasks.mapInArrow(_task(tuple(ranges), search), "side binary, cut_value long").distinct().limit(limit + 1)
    with quiet_spark_errors("search the cuts"):
        table = found.toArrow()
    values = table.column("cut_value").to_numpy().astype(np.int64)
    if len(values) > limit or _TOO_MANY in values:
        return None
    octets = b"".join(table.column("side").to_pylist())
    packed = np.frombuffer(octets, dtype="<u8").astype(np.uint64).reshape(len(values), n_words)
    return sorted_cuts(label, packed, values)


def _task(ranges: tuple[Range, ...], search: Callable[[Range], CutList | None]) -> Callable[[Batches], Batches]:
    """What a task does with the numbers of its ranges."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                cuts = search(ranges[number])
                if cuts is None:
                    columns = [[b""], [_TOO_MANY]]
                else:
                    columns = [[row.tobytes() for row in cuts.packed.astype("<u8")], cuts.values.tolist()]
                arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    return run
