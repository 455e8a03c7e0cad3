"""Users of the local model on Spark: one report each, the same in every partitioning, order and recomputation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dplib.clustering.source import Keyed, Summary
from dplib.jobs.kmeans.collection import Collection
from dplib.jobs.kmeans.local import NoisyPoints, RoundReports, UserDigest, UserKeys, question_sizes
from dplib.spark.points.points import NAME_WORDS, SparkPoints, block_users
from tests.spark.rows import table_of
from tests.support.kmeans import LOCAL, design_of, local_settings_of

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
KEY = bytes(range(32))
ROWS = [(float(n % 19) / 19 - 0.5, float(n % 7) / 7 - 0.5, f"u{n // 2}".encode()) for n in range(300)]
"""Two different points of each of 150 users, one of which counts."""


PLACES = 8
"""Summaries of one pass at most; a power of two, since keys are whole numbers of 64 bits."""
Part = RoundReports | NoisyPoints


def _summaries(collection: Collection) -> list[Part]:
    if collection.method == "noisy_coordinates":
        return [NoisyPoints(collection.noisy_points, UserKeys(KEY))]
    rounds = collection.rounds
    places = np.array([[20_000.0, 0.0], [-20_000.0, 9.0]])
    return [RoundReports(rounds, UserKeys(KEY), number, places) for number in range(rounds.n_rounds)]


def _together(summaries: Sequence[Summary]) -> Summary:
    """One summary of them all, so that one pass asks for all: a key's last bits say whose it is."""
    most = max(summary.width for summary in summaries)

    class Together:
        width = most

        def __call__(self, rows: np.ndarray) -> Keyed:
            keys, totals = [], []
            for place, summary in enumerate(summaries):
                own, counts = summary(rows)
                # Of a hash of 64 bits this takes the first three: no two of few users lose each other.
                keys.append(own * PLACES + place)
                totals.append(np.pad(counts, ((0, 0), (0, most - summary.width))))
            order = np.argsort(joined := np.concatenate(keys))
            return joined[order], np.concatenate(totals)[order]

    return Together()


def test_reports_are_the_same_in_every_partitioning_order_and_recomputation(spark: Any) -> None:
    designs = [design_of(local_settings_of(method)) for method in LOCAL]
    parts = [summary for design in designs for summary in _summaries(design.collection)]
    together = _together([*parts, UserDigest(KEY)])
    found = list[Keyed]()
    for rows, n_parts, passes in ((ROWS[::-1], 1, 2), (ROWS[100:] + ROWS[:100], 3, 1)):
        table = table_of(spark, rows, "x0 double, x1 double, unit binary").repartition(n_parts)
        # Never loaded, so that every pass reads and keeps the rows anew.
        source = SparkPoints(block_users(table, designs[0].frame, KEY), NAME_WORDS + 2)
        found += [source.total(together) for _ in range(passes)]
    for keys, totals in found[1:]:
        assert np.array_equal(found[0][0], keys)
        assert np.array_equal(found[0][1], totals)
    keys, totals = found[0]
    # Users are asked in one of the rounds of a method.
    counts = [_n_reports(part, totals[keys % PLACES == place]) for place, part in enumerate(parts)]
    assert [sum(counts[:1]), sum(counts[1:-1]), counts[-1]] == [150, 150, 150]


def _n_reports(summary: Part, totals: np.ndarray) -> int:
    """The first integers of all questions of a round, added up."""
    if isinstance(summary, NoisyPoints):
        return int(totals[:, 0].sum())
    ends = np.cumsum(question_sizes(summary.rounds, summary.number, summary.places))
    return int(sum(part[0, 0] for part in np.split(totals, ends[:-1])))


def test_coins_that_no_key_names_are_caught(spark: Any) -> None:
    class Unkeyed:
        """Planted: reports with fresh coins in every pass, whose sums are equal once in 2^40."""

        width = 1

        def __call__(self, rows: np.ndarray) -> Keyed:
            coins = np.random.default_rng().integers(0, 1 << 40, len(rows))
            return np.arange(2), np.array([[len(rows)], [coins.sum()]], dtype=np.int64)

    design = design_of(local_settings_of("ldp_tree"))
    table = table_of(spark, ROWS[:20], "x0 double, x1 double, unit binary").coalesce(1)
    source = SparkPoints(block_users(table, design.frame, KEY), NAME_WORDS + 2)
    asked = _together([Unkeyed(), UserDigest(KEY)])
    (keys, one), (again, other) = (source.total(asked) for _ in range(2))
    assert np.array_equal(keys, again)
    assert not np.array_equal(one[keys % PLACES == 0], other[keys % PLACES == 0])
    assert np.array_equal(one[keys % PLACES == 1], other[keys % PLACES == 1])
