"""Users of the local model on Spark: one report each, the same in every partitioning, order and recomputation."""

from typing import Any

import numpy as np
import pytest

from dplib.clustering.source import Keyed
from dplib.jobs.kmeans.collection import Collection
from dplib.jobs.kmeans.local import NoisyPoints, RoundReports, UserDigest, UserKeys, question_sizes
from dplib.spark.points.points import NAME_WORDS, SparkPoints, block_users
from tests.support.kmeans import design_of, local_settings_of

KEY = bytes(range(32))
ROWS = [(float(n % 19) / 19 - 0.5, float(n % 7) / 7 - 0.5, f"u{n // 2}".encode()) for n in range(300)]
"""Two different points of each of 150 users, one of which counts."""


Summaries = list[RoundReports | NoisyPoints]


def _summaries(collection: Collection) -> Summaries:
    if collection.method == "noisy_coordinates":
        return [NoisyPoints(collection.noisy_points, UserKeys(KEY))]
    rounds = collection.rounds
    places = np.array([[20_000.0, 0.0], [-20_000.0, 9.0]])
    return [RoundReports(rounds, UserKeys(KEY), number, places) for number in range(rounds.n_rounds)]


@pytest.mark.parametrize("method", ["ldp_tree", "ldp_hash_rounds", "noisy_coordinates"])
def test_reports_are_the_same_in_every_partitioning_order_and_recomputation(spark: Any, method: str) -> None:
    design = design_of(local_settings_of(method))
    summaries, found = _summaries(design.collection), list[list[Keyed]]()
    for rows, parts in ((ROWS[::-1], 1), (ROWS[100:] + ROWS[:100], 5)):
        table = spark.createDataFrame(rows, "x0 double, x1 double, unit binary").repartition(parts)
        # Never loaded, so that every pass reads and keeps the rows anew.
        source = SparkPoints(block_users(table, design.frame, KEY), NAME_WORDS + 2)
        asked = [*summaries, UserDigest(KEY)]
        found += [[source.total(summary) for summary in asked] for _ in range(2 if parts == 1 else 1)]
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            assert np.array_equal(one[0], same[0])
            assert np.array_equal(one[1], same[1])
    by_round = zip(summaries, found[0][:-1], strict=True)
    assert sum(_n_reports(summary, totals) for summary, totals in by_round) == 150


def _n_reports(summary: RoundReports | NoisyPoints, totals: Keyed) -> int:
    """The first integers of all questions of a round, added up."""
    if isinstance(summary, NoisyPoints):
        return int(totals[1][:, 0].sum())
    ends = np.cumsum(question_sizes(summary.rounds, summary.number, summary.places))
    return int(sum(part[0, 0] for part in np.split(totals[1], ends[:-1])))


def test_coins_that_no_key_names_are_caught(spark: Any) -> None:
    class Unkeyed:
        """Planted: reports with fresh coins in every pass."""

        width = 1

        def __call__(self, rows: np.ndarray) -> Keyed:
            coins = np.random.default_rng().integers(0, 2, len(rows))
            return np.arange(2), np.array([[len(rows)], [coins.sum()]], dtype=np.int64)

    design = design_of(local_settings_of("ldp_tree"))
    table = spark.createDataFrame(ROWS, "x0 double, x1 double, unit binary").repartition(3)
    source = SparkPoints(block_users(table, design.frame, KEY), NAME_WORDS + 2)
    passes = {int(source.total(Unkeyed())[1][1, 0]) for _ in range(6)}
    assert len(passes) > 1
