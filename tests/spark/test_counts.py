import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from dplib.spark.rows.cell_sums import MOST
from dplib.spark.rows.contributions import bound_rows
from dplib.spark.rows.counts import block_counts, count_blocks, count_cells
from dplib.spark.rows.resolve import resolve_rows
from dplib.spark.rows.row_domain import RowDomain
from dplib.trees.block_plan import BlockPlan
from dplib.trees.interval_tree import IntervalTree
from tests.spark.rows import (
    FIRST_DAY,
    ITEMS,
    N_DAYS,
    bound_oracle,
    count_oracle,
    random_rows,
    resolve_oracle,
    settings,
    table_of,
)

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
DOMAIN = RowDomain(FIRST_DAY, N_DAYS, ITEMS)
RESOLVED = "day int, row_type int, quantity long"


def collect_blocks(blocks: DataFrame, n_row_types: int) -> dict[int, np.ndarray]:
    return {row["block"]: block_counts(bytes(row["counts"]), n_row_types) for row in blocks.collect()}


@pytest.fixture(scope="module")
def plan() -> BlockPlan:
    edges = [[0, N_DAYS], [0, 2, 5, 6, N_DAYS], list(range(N_DAYS + 1))]
    return BlockPlan(IntervalTree.from_level_edges(edges), 1)


def test_rows_to_counts_equal_the_plain_python_rule(compiled: SparkSession, secret: bytes, plan: BlockPlan) -> None:
    rows = random_rows(400, seed=5)
    source, privacy = settings(max_rows=4, max_rows_per_day=2)
    frame = compiled.createDataFrame(rows, "day string, name string, quantity string, unit string")
    resolved = resolve_rows(frame.repartition(7), source, privacy, DOMAIN)
    bounded = bound_rows(resolved, privacy.rows_per_unit, privacy.rows_per_day, secret).cache()
    expected = count_oracle(bound_oracle(resolve_oracle(rows, 5), 4, 2, secret))
    assert expected.any()
    counts = count_cells(bounded, N_DAYS, len(ITEMS))
    np.testing.assert_array_equal(counts, expected)
    assert counts.dtype == np.int64
    blocks = collect_blocks(count_blocks(bounded, plan.day_bounds, len(ITEMS)), len(ITEMS))
    assert sorted(blocks) == list(range(plan.n_blocks))
    np.testing.assert_array_equal(np.concatenate([blocks[i] for i in range(plan.n_blocks)]), expected)
    bounded.unpersist()


def test_blocks_without_rows_are_there(spark: SparkSession, plan: BlockPlan) -> None:
    rows = table_of(spark, [(5, 1, 2**52), (5, 1, 2**52 + 1)], RESOLVED)
    blocks = collect_blocks(count_blocks(rows, plan.day_bounds, 3), 3)
    assert {block: counts.shape for block, counts in blocks.items()} == {0: (2, 3), 1: (3, 3), 2: (1, 3), 3: (5, 3)}
    # Beyond the 53 bits of a float: the sums are integers.
    assert blocks[2].tolist() == [[0, 2**53 + 1, 0]]
    assert not any(blocks[block].any() for block in (0, 1, 3))


def test_no_rows_are_zeros_everywhere(spark: SparkSession, plan: BlockPlan) -> None:
    empty = spark.createDataFrame([], RESOLVED)
    cells = count_cells(empty, N_DAYS, 2)
    assert cells.shape == (N_DAYS, 2)
    assert not cells.any()
    blocks = collect_blocks(count_blocks(empty, plan.day_bounds, 2), 2)
    assert sorted(blocks) == [0, 1, 2, 3]
    assert not any(counts.any() for counts in blocks.values())


def test_no_number_of_rows_ends_a_count(spark: SparkSession, plan: BlockPlan) -> None:
    """A sum beyond 64 bits stops at the public most; one unit more or less moves it by no more than its rows."""
    rows = [(5, 1, 2**62)] * 3 + [(day, 0, 2**62 - 1) for day in (1, 2, 3)] + [(2, 0, 1), (3, 0, 5), (7, 0, 3)]
    frame = table_of(spark, rows, RESOLVED).repartition(3)
    counts = count_cells(frame, N_DAYS, 3)
    assert counts[5, 1] == MOST
    assert counts[1:4, 0].tolist() == [MOST - 1, MOST, MOST]
    assert counts[7, 0] == 3
    blocks = collect_blocks(count_blocks(frame, plan.day_bounds, 3), 3)
    np.testing.assert_array_equal(np.concatenate([blocks[i] for i in range(plan.n_blocks)]), counts)
