"""From rows that name two vertices and a weight to a weighted graph in canonical form: the public rule.

A row is judged by these rules in order and dropped at the first that it fails; nothing else about it is ever shown. The
first four are those of `dplib.spark.graphs.edges`.

    both ends are given, can be read, are declared, and differ
    the weight is a number        neither null nor NaN nor another text (1 where `input.columns.weight` is not set)
    the weight is within its range  a whole number from 0 to `graph.weights.largest`; only where `graph.weights.outside`
                                  is drop

Where `outside` is clamp, a weight counts as the greatest whole number that is not above it, cut to the range: 2.7 as 2,
-1 as 0, infinity as `largest`. A row adds no more than its cap, where it has one (`graph.weights.capped`). The rows of
one pair, in either order, add up (`graph.weights.repeats: sum`), or one of them counts (once). The weight of a pair is
cut to its cap, where it has one, and to `most_pair_weight`, a number of the declared vertices alone, so that the total
of every graph stays within the kernels' 2^59 without any look at the rows. Cutting changes no difference between two
graphs to a greater one. Pairs of weight 0 are no edges; vertices without edges stay vertices.

Cost: one pass, one shuffle of the pairs; the pairs go to the driver, 24 bytes each.
"""

from math import comb

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dplib.config.edge_input import VertexDomain, WeightSettings
from dplib.graphs.edges import MAX_TOTAL_WEIGHT, Graph, canonical
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.graphs.edges import EDGE_RULES, isolated_hint, judge_edges
from dplib.spark.rows.inspection import Inspection, Loss, RuleCount, rule_counts, totals_by_rule
from dplib.spark.rows.resolve import MAX_HELD, number_sql, text_sql

WEIGHT_RULES = (*EDGE_RULES[:-1], "the weight is a number", "the weight is within its range")
_NUMBER, _RANGE = len(WEIGHT_RULES) - 2, len(WEIGHT_RULES) - 1


def most_pair_weight(n_vertices: int) -> int:
    """The public cap of a pair's weight: with every pair at it the total is at most 2^59."""
    return MAX_TOTAL_WEIGHT // 2 // max(comb(n_vertices, 2), 1)


def judge_weighted_edges(
    rows: DataFrame,
    domain: VertexDomain,
    weights: WeightSettings,
    row_cap: int | None = None,
    for_owner: bool = False,
) -> DataFrame:
    """Find every row's vertices and weight and say which rule drops it.

    Args:
        rows: from `dplib.spark.graphs.edges.open_edges`.
        domain: the declared vertices.
        weights: section `graph.weights`.
        row_cap: the most that a row adds to its pair; None for `graph.weights.largest`.
        for_owner: whether to keep texts of rows, for the data's owner.

    Returns:
        columns source and target long (numbers of the vertices, the smaller first), weight long, failed int: the index
        in `WEIGHT_RULES` of the first rule that the row fails, null where it counts, and changed: whether its weight
        was no whole number within the range and the cap; for the owner held (the weight before its caps) and shown
        (the text that the failed rule judged); lazy.
    """
    types = {field.name: field.dataType.typeName() for field in rows.schema.fields}
    judged = judge_edges(rows, domain, for_owner)
    number = number_sql("weight", types["weight"]) if "weight" in types else "1.0D"
    text = text_sql("weight") if "weight" in types else "CAST(NULL AS STRING)"
    texts = ["shown", "pair", f"{text} AS text"] if for_owner else []
    judged = judged.selectExpr("source", "target", "failed", f"{number} AS number", *texts)
    given = "number IS NOT NULL AND NOT isnan(number) AS given"
    within = f"CAST(floor(least(greatest(number, 0D), {weights.largest}D)) AS BIGINT) AS weight"
    kept_texts = ["shown", "pair", "text"] if for_owner else []
    judged = judged.selectExpr("source", "target", "failed", given, within, "number", *kept_texts)
    changed = F.expr("number != CAST(weight AS DOUBLE)")
    weight = F.col("weight") if row_cap is None else F.least("weight", F.lit(row_cap).cast("long"))
    failed = F.expr(f"coalesce(failed, CASE WHEN NOT given THEN {_NUMBER} END)")
    if weights.outside == "drop":
        failed = F.coalesce(failed, F.when(changed, _RANGE))
    changed = changed | (F.col("weight") > weight)
    owner: list[Column] = []
    if for_owner:
        held = F.floor(F.least(F.greatest("number", F.lit(0.0)), F.lit(MAX_HELD))).cast("double")
        shown = F.when(failed >= _NUMBER, F.col("text")).otherwise(F.col("shown"))
        owner = [held.alias("held"), shown.alias("shown"), F.col("pair"), F.col("text")]
    return judged.select(
        "source", "target", weight.alias("weight"), failed.alias("failed"), changed.alias("changed"), *owner
    )


def collect_graph(
    judged: DataFrame, domain: VertexDomain, weights: WeightSettings, pair_cap: int | None = None
) -> Graph:
    """Add up the weights of each pair and bring the graph to the driver.

    Args:
        judged: from `judge_weighted_edges`.
        domain: the declared vertices.
        weights: section `graph.weights`.
        pair_cap: the largest weight of a pair; None for `most_pair_weight` alone.

    Returns:
        The graph in canonical form, over all declared vertices in their order. Private.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    counted = judged.where(F.col("failed").isNull() & (F.col("weight") > 0))
    pairs = counted.groupBy("source", "target").agg(_total(domain, weights, pair_cap).alias("weight"))
    with quiet_spark_errors("collect the edges"):
        table = pairs.toArrow()
    source, target, weight = (table.column(name).to_numpy().astype(np.int64) for name in ("source", "target", "weight"))
    return canonical(domain.count, source, target, weight)


def _total(domain: VertexDomain, weights: WeightSettings, pair_cap: int | None) -> Column:
    """The weight of one pair from those of its rows."""
    most = most_pair_weight(domain.count)
    cap = F.lit(most if pair_cap is None else min(most, pair_cap)).cast("long")
    # A sum beyond 64 bits is null, and far above the cap.
    total = F.max("weight") if weights.repeats == "once" else F.coalesce(F.try_sum("weight"), cap)
    return F.least(total, cap)


def inspect_weighted_edges(
    judged: DataFrame, domain: VertexDomain, weights: WeightSettings, pair_cap: int | None = None
) -> Inspection:
    """Count rows by rule. NOT PRIVATE: for the eyes of the data's owner only.

    Args:
        judged: from `judge_weighted_edges`, for the owner.
        domain: the declared vertices.
        weights: section `graph.weights`.
        pair_cap: the largest weight of a pair; None for `most_pair_weight` alone.

    Returns:
        The rules in order. Where weights are clamped, the last one's dropped rows are kept with a weight within the
        range and the cap; where one of several rows counts, ``the edge is new`` comes last. The loss is that of the
        total weight.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("inspect the edges"):
        whole = {"changed": "long", "held": "double", "weight": "double"}
        sums = (F.sum(F.col(name).cast(kind)).alias(name) for name, kind in whole.items())
        by_rule, values = totals_by_rule(judged, WEIGHT_RULES, *sums)
        kept = judged.where(F.col("failed").isNull())
        pairs = kept.groupBy("source", "target").agg(_total(domain, weights, pair_cap).alias("weight"))
        n_pairs, n_named, counted = _pairs_and_vertices(pairs)
    dropped: dict[int | None, int] = {rule: row["rows"] for rule, row in by_rule.items()}
    mine = by_rule.get(None)
    n_kept, changed = (mine["rows"], mine["changed"]) if mine else (0, 0)
    changing = frozenset({WEIGHT_RULES[-1]} if weights.outside == "clamp" else ())
    if changing:
        counts = rule_counts(WEIGHT_RULES[:-1], dropped, n_kept)
        counts.append(RuleCount(WEIGHT_RULES[-1], n_kept - changed, changed))
    else:
        counts = rule_counts(WEIGHT_RULES, dropped, n_kept)
    if weights.repeats == "once":
        counts.append(RuleCount(EDGE_RULES[-1], n_pairs, n_kept - n_pairs))
    losses = [Loss("weight of all edges", mine["held"], mine["weight"], counted)] if mine else []
    return Inspection(counts, values, losses, isolated_hint(domain, n_named), changing)


def _pairs_and_vertices(pairs: DataFrame) -> tuple[int, int, float]:
    """The number of pairs, that of vertices with an edge, and the weight of all edges, in one pass. NOT PRIVATE.

    Args:
        pairs: columns source, target and weight (a pair of weight 0 is no edge), each pair once.
    """
    ends = pairs.select("weight", F.posexplode(F.array("source", "target")).alias("end", "vertex"))
    first = F.col("end") == 0  # one of the two ends of a pair stands for it
    vertices = ends.groupBy("vertex").agg(
        F.sum(first.cast("long")).alias("pairs"),
        F.max(F.col("weight") > 0).alias("linked"),
        F.sum(F.when(first, F.col("weight").cast("double")).otherwise(0.0)).alias("weight"),
    )
    sums = (F.sum("pairs"), F.sum(F.col("linked").cast("long")), F.sum("weight"))
    found = vertices.agg(*sums).collect()[0]
    return found[0] or 0, found[1] or 0, found[2] or 0.0
