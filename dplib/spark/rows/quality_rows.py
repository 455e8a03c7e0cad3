"""The rows of each kind of input as the quality of the input sees them: judged, with their unit and content.

An edge's unit is all rows that name one pair of declared vertices, in either order; rows that name no such pair are a
unit with those that hold the same two texts. Rows whose unit (or an end) is missing are a unit each.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dplib.clustering.point_frame import PointFrame
from dplib.config.edge_input import VertexDomain, WeightSettings
from dplib.config.event_input import Input
from dplib.config.sections import EventPrivacySettings
from dplib.config.value_input import BinDomain, HistogramInput
from dplib.spark.graphs.edges import EDGE_RULES, judge_edges
from dplib.spark.graphs.weighted_edges import WEIGHT_RULES, judge_weighted_edges
from dplib.spark.points.point_rows import POINT_RULES, judge_points
from dplib.spark.rows.bins import BIN_RULES, judge_values
from dplib.spark.rows.quality import JudgedRows
from dplib.spark.rows.row_domain import RULES, RowDomain
from dplib.spark.rows.wide import judge_events


def judged_events(rows: DataFrame, source: Input, privacy: EventPrivacySettings, domain: RowDomain) -> JudgedRows:
    """Rows with a day, a name and a quantity (`dplib.spark.rows.read.open_rows`)."""
    judged = judge_events(rows, source, privacy, domain)
    counting = F.coalesce(F.col("quantity") > 0, F.lit(False))
    frame = _columns(judged, _owner(judged), F.col("content"), F.col("clamped"), counting)
    return JudgedRows(frame, RULES, privacy.rows_per_unit)


def judged_values(rows: DataFrame, source: HistogramInput, domain: BinDomain, max_rows: int) -> JudgedRows:
    """Rows with a value (`dplib.spark.rows.bins.open_values`)."""
    judged = judge_values(rows, source, domain, for_owner=True)
    return JudgedRows(_columns(judged, _owner(judged), F.col("content")), BIN_RULES, max_rows)


def judged_points(rows: DataFrame, frame: PointFrame, max_rows: int, bounds_are_public: bool) -> JudgedRows:
    """Rows with coordinates (`dplib.spark.points.point_rows.open_points`); without public bounds none is clipped."""
    judged = judge_points(rows, frame)
    clipped = F.col("outside") > 0 if bounds_are_public else F.lit(False)
    return JudgedRows(_columns(judged, _owner(judged), F.col("content"), clipped), POINT_RULES, max_rows)


def judged_edges(rows: DataFrame, domain: VertexDomain) -> JudgedRows:
    """Rows with two ends (`dplib.spark.graphs.edges.open_edges`); all rows of one pair have one counter."""
    judged = judge_edges(rows, domain, for_owner=True)
    return JudgedRows(_columns(judged, _pair(), F.lit(None)), EDGE_RULES[:-1])


def judged_weighted_edges(
    rows: DataFrame, domain: VertexDomain, weights: WeightSettings, row_cap: int | None
) -> JudgedRows:
    """Rows with two ends and a weight."""
    judged = judge_weighted_edges(rows, domain, weights, row_cap, for_owner=True)
    return JudgedRows(_columns(judged, _pair(), F.col("text"), F.col("changed")), WEIGHT_RULES)


def _columns(
    judged: DataFrame, owner: Column, content: Column, clipped: Column | None = None, takes_place: Column | None = None
) -> DataFrame:
    """What `JudgedRows` takes of judged rows; without more said, no row is clipped and each takes a place."""
    return judged.select(
        "failed",
        (F.lit(False) if clipped is None else clipped).alias("clipped"),
        (F.lit(True) if takes_place is None else takes_place).alias("takes_place"),
        content.cast("binary").alias("content"),
        owner.alias("owner"),
    )


def _owner(judged: DataFrame) -> Column:
    """The unit; null where the row is its own."""
    if "unit" not in judged.columns:
        return F.lit(None).cast("binary")
    unit = F.col("unit").cast("binary")
    return F.when(F.length(unit) > 0, unit)


def _pair() -> Column:
    """Two declared vertices, or two texts; null where an end is missing."""
    declared = F.to_json(F.array(F.col("source"), F.col("target")))
    pair = F.when(F.col("source") >= 0, F.concat(F.lit("v"), declared)).otherwise(F.concat(F.lit("t"), F.col("pair")))
    missing = F.coalesce(F.col("failed") == 0, F.lit(False))
    return F.when(~missing, pair.cast("binary"))
