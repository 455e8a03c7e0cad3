"""Faults in sensitivities and in the price of choices: each reproduction measured again.

Sensitivities that settings form are exact integers; counts beyond 64 bits end no run; ladders and choices by monotone
costs are charged what their proofs say; stars get noise as wide as the graph at hand needs.
"""

import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.problem import Problem
from dplib.clustering.record import Recorded
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.config.load import check
from dplib.config.sections import SparkSettings
from dplib.constraints.checks import MAX_OF_ITEM
from dplib.constraints.resolve import _row_norms
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.degrees import k_stars
from dplib.graphs.statistics.star_rungs import Pair, StarRungs, star_pairs
from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.mechanisms.exponential import exponential_probability
from dplib.mechanisms.ladder import draw_ladder, ladder_probability
from dplib.mechanisms.tree_counts import add_exactly
from dplib.randomness.keyed import KeyedStream
from dplib.spark.engine.session import open_session
from dplib.spark.rows.counts import MOST, count_cells
from scripts.accept.claims import Check, Result, at_least, at_most
from tests.support import network_oracles as oracle
from tests.support.clustering import METHODS, Asked, Witness, keyed

KEY = bytes(range(32))
PACKAGES: dict[str, Any] = {
    "config_version": 1,
    "job": "consistent-histograms",
    "dataset": "faults",
    "input": {"path": "none.csv", "format": "csv", "columns": {"day": "day", "package": "package"}},
    "privacy": {"unit": "event", "budget": {"rho": "0.5"}},
    "domain": {"items": ["a", "b"], "first_day": "2024-01-01", "last_day": "2024-01-07"},
}


def plan_of_packages(packages: dict[str, dict[str, int]]) -> tuple[int, str]:
    """Exit code and last line of ``dplib plan`` of these packages."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "job.yaml"
        file.write_text(yaml.safe_dump(PACKAGES | {"constraints": [{"packages": packages}]}))
        command = [sys.executable, "-m", "dplib.cli.main", "plan", "consistent-histograms", "--config", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]


def multiplicities() -> Iterator[Result]:
    """Multiplicities whose square, or whose sum, leaves 64 bits: refused with their names, nothing reserved."""
    for count in (2**32, 3037000500, 2**62):
        code, line = plan_of_packages({"p": {"a": count, "b": 1}, "q": {"b": 1}})
        told = code == 2 and "packages.p.a must be at most" in line
        yield Result(f"a package of {count} pieces, planned", "exit 2, named", f"exit {code}: {line}", told)
    code, line = plan_of_packages({"p": {"a": 3, "b": 1}, "q": {"b": 1}})
    yield Result("a package of 3 pieces, planned", "exit 0", f"exit {code}", code == 0)


def exact_norms() -> Iterator[Result]:
    """Norms of columns of 64-bit entries, beside fractions; the largest package that settings allow."""
    chosen = np.random.default_rng(13)
    wrong = 0
    for _ in range(2000):
        rows = [[int(chosen.integers(2 ** int(chosen.integers(1, 63)))) for _ in range(4)] for _ in range(3)]
        l1 = max(sum(map(Fraction, row)) for row in rows)
        l2_squared = max(sum(Fraction(x) ** 2 for x in row) for row in rows)
        wrong += _row_norms([np.array(rows, dtype=np.int64).T]) != (l1, l2_squared)
    yield at_most("norms of 2,000 random packages with entries up to 2^62 that differ from fractions", wrong, 0)
    most = np.array([[MAX_OF_ITEM], [1]], dtype=np.int64)
    found, right = _row_norms([most]), (MAX_OF_ITEM + 1, MAX_OF_ITEM**2 + 1)
    yield Result("norms of the largest package {a: 1000000, b: 1}", f"{right}", f"{found}", found == right)


def overflowing_rows() -> Iterator[Result]:
    """Rows whose sum leaves 64 bits: the run goes on, and a unit moves the count by no more than its rows."""
    rows = [(0, 0, 2**62), (0, 0, 2**62), (1, 0, 2**62 - 1)]
    schema = "day int, row_type int, quantity long"
    with open_session("accept", SparkSettings(master="local[2]")) as spark:
        counts = [count_cells(spark.createDataFrame([*rows, *more], schema), 2, 1) for more in ([], [(1, 0, 3)])]
    found = [int(each[0, 0]) for each in counts]
    yield Result("a cell of 2^63 counts", f"{[MOST, MOST]}", f"{found}", found == [MOST, MOST])
    moved = int(counts[1][1, 0] - counts[0][1, 0])
    yield Result("a unit of 3 moves a cell of 2^62 - 1 by", "0 to 3", f"{moved}", 0 <= moved <= 3)
    noise = draw_discrete_laplace(KeyedStream(KEY, "faults", 0), Fraction(1000), 20_000)
    totals = [2**63 - 1 + step for step in (-2, 0, 1, 5000)]
    wrong = 0
    for total in totals:
        wrapped = (total + 2**63) % 2**64 - 2**63
        noisy = add_exactly(np.full(len(noise), wrapped, dtype=np.int64), noise).tolist()
        right = [(total + z + 2**63) % 2**64 - 2**63 for z in noise.tolist()]
        wrong += sum(one != other for one, other in zip(noisy, right, strict=True))
    yield at_most("noisy counts at the end of 64 bits that differ from the true ones modulo 2^64, of 80,000", wrong, 0)


def network_design(budget: dict[str, Any], statistic: str, n: int = 1000, **graph: Any) -> Design:
    """One statistic of n vertices between edge neighbours."""
    settings = {
        "config_version": 1,
        "job": "network-statistics",
        "dataset": "faults",
        "input": {"path": "none", "columns": {"source": "one", "target": "other"}},
        "privacy": {"budget": budget},
        "graph": {"vertices": {"count": n}, "statistics": {statistic: 1}} | graph,
    }
    return Design.resolve(check(NetworkStatisticsConfig, settings), Path())


def price_of_ladders() -> Iterator[Result]:
    """A budget in rho buys a ladder the epsilon with epsilon^2 / 8 = rho; its exact law keeps both prices."""
    for statistic in ("triangles", "k_stars"):
        (measured,) = network_design({"rho": "0.5"}, statistic).measurements
        right = measured.epsilon == 2 and measured.event.rho == Fraction(1, 2)
        yield Result(f"{statistic} by a ladder at rho 0.5: epsilon", "2", f"{measured.epsilon}", right)
    epsilon, rho = star_price(*star_states(5), Fraction(2))
    yield at_most("stars at epsilon 2: largest log ratio over all neighbours of 5 vertices", epsilon, 2 * (1 + 1e-9))
    yield at_least("... which is used: half of it, at least", epsilon, 1)
    yield at_most("... and largest Renyi divergence of order 2, over 2", rho, 0.5 * (1 + 1e-9))


def star_states(n: int) -> tuple[IntArray, list[tuple[Pair, ...]]]:
    """Number of 2-stars and the widest pairs of all graphs of n vertices."""
    graphs = oracle.all_graphs(n)
    degrees = oracle.degrees(graphs)
    ends = [[end.astype(np.int64) for end in np.nonzero(np.triu(graph))] for graph in graphs]
    return (degrees * (degrees - 1) // 2).sum(axis=1), [star_pairs(SimpleGraph(n, *each)) for each in ends]


def star_price(values: IntArray, pairs: list[tuple[Pair, ...]], epsilon: Fraction) -> tuple[float, float]:
    """Largest log ratio, and Renyi divergence of order 2 over 2, of the draws on neighbours of five vertices."""
    states = list(zip(values.tolist(), pairs, strict=True))
    reach, largest, rho = np.arange(-200, 260), 0.0, 0.0
    neighbors = {(states[a], states[b]) for a, b in zip(*oracle.edge_neighbors(5), strict=True)}
    for (f, own), (g, others) in sorted(neighbors):
        one = ladder_probability(reach - f, StarRungs(own, 1, 3), epsilon)
        other = ladder_probability(reach - g, StarRungs(others, 1, 3), epsilon)
        seen = (one > 0) & (other > 0)
        ratio = np.log(one[seen] / other[seen])
        largest = max(largest, float(np.abs(ratio).max()))
        rho = max(rho, float(np.log((one[seen] * np.exp(ratio)).sum()) / 2))
    return largest, rho


def laws_of_star_rungs() -> Iterator[Result]:
    """Rungs max(a + b) + t on all 32,768 graphs of 6 vertices: the local sensitivity after any t edits, no more."""
    n, distances = 6, 10
    values, pairs = star_states(n)
    first, second = oracle.edge_neighbors(n)
    made = {each: StarRungs(each, 1, n - 2).widths(0, distances) for each in set(pairs)}
    widths, reached = np.stack([made[each] for each in pairs]), np.zeros(len(pairs), dtype=np.int64)
    for one in (first, second):
        np.maximum.at(reached, one, np.abs(values[first] - values[second]))
    differing = planted = 0
    for t in range(distances):
        differing += int((widths[:, t] != reached).sum())
        planted += int((widths[:, 0] < reached).sum())
        before = reached.copy()
        np.maximum.at(reached, first, before[second])
        np.maximum.at(reached, second, before[first])
    yield Result("graphs and distances whose rung is not the local sensitivity", "none", f"{differing}", not differing)
    yield Result("... and with no step (planted)", "some", f"{planted}", planted > 0)


REAL = (("ca-GrQc.txt", 26_197, 100.0), ("Email-Enron.txt.gz", 36_692, 5.0), ("facebook_combined.txt", 4_039, 1.8))
"""File, vertices, times by which the ladder is better at least; more than is possible is not asked of facebook
(`dplib.graphs.statistics.star_rungs`)."""
DRAWS = 3000


def real_stars() -> Iterator[Result]:
    """2-stars of real graphs at epsilon 1: mean error of draws, beside noise for the worst graph."""
    folder = os.environ.get("DPLIB_SHARED")
    if not folder:
        yield Result("2-stars of real graphs", "the shared data", "DPLIB_SHARED is not set", None)
        return
    for name, n, least in REAL:
        path = Path(folder) / "data" / "graphs" / name
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "rt") as lines:
            ends = np.loadtxt(lines, dtype=np.int64, comments="#")
        graph = SimpleGraph.from_edges(n, *ends.T)
        rungs = StarRungs(star_pairs(graph), 1, n - 2)
        (measured,) = network_design({"epsilon": 1}, "k_stars", n).measurements
        true, stream = k_stars(graph.degrees(), 2), KeyedStream(KEY, name, 0)
        drawn = draw_ladder(stream, true, rungs, measured.epsilon, DRAWS)
        error = float(np.abs(drawn - true).mean())
        flat = draw_discrete_laplace(stream, Fraction(measured.sensitivity.l1) / measured.epsilon, DRAWS)
        better = float(np.abs(flat).mean()) / error
        most = rungs.largest / (2 * int(rungs.widths(0, 1)[0]))
        claim = f"{name}: 2-stars {true:,}, ladder errs by {error:,.0f}: times better (at most about {most:,.1f})"
        yield at_least(claim, better, least)


LINE = Space.box([0.0], [1.0])
MANY = np.concatenate([np.zeros((300, 1)), np.ones((300, 1))])


def choices_of(name: str, rows: int, more: FloatArray, budget: Fraction) -> list[tuple[Asked, Asked]]:
    """The choices along one transcript on two neighbours."""
    problem, recorded = Problem(LINE, 2, rows=rows), Recorded(keyed(5))
    METHODS[name](Blocks(LINE.to_units(MANY)), recorded, problem, budget)
    asked = []
    for points in (MANY, more):
        witness = Witness(recorded.records)
        METHODS[name](Blocks(LINE.to_units(points)), witness, problem, budget)
        asked.append([each for each in witness.asked if each[0] == "choose"])
    return list(zip(*asked, strict=True))


def log_ratio(one: Asked, other: Asked) -> float:
    """The largest log ratio of a choice's probabilities."""
    laws = [np.log(exponential_probability(each[1], each[2])) for each in (one, other)]
    return float(np.abs(laws[0] - laws[1]).max())


def rates_of_choices() -> Iterator[Result]:
    """Choices by costs that only grow with a row: the whole rate, and never more than the share of the budget."""
    added = np.concatenate([MANY, np.repeat(np.zeros((1, 1)), 4, axis=0)])
    replaced = np.concatenate([MANY[:-2], np.zeros((2, 1))])
    for name, set_aside in (("local_search", Fraction(1, 3)), ("privgene", Fraction(19, 20))):
        pairs = choices_of(name, 4, added, Fraction(1))
        spread = [Fraction(int(np.ptp(np.append(other[1] - one[1], 0)))) for one, other in pairs]
        whole = sum((8 * 4 * one[2] for one, _ in pairs), Fraction(0))
        yield Result(f"{name}: rate times cost of a unit, all choices", f"{set_aside}", f"{whole}", whole == set_aside)
        yield at_most(f"{name}: largest move of a loss by a unit of 4 rows", float(max(spread)), 32)
        for how, more in (("4 rows added", added), ("2 rows replaced", replaced)):
            spent = sum(log_ratio(one, other) for one, other in choices_of(name, 4, more, Fraction(1)))
            yield at_most(f"{name}: epsilon of all choices, {how}", spent, float(set_aside) * (1 + 1e-9))
    pairs = choices_of("max_cover", 1, added[:-3], Fraction(1))
    moved = max(float(np.abs(other[1] - one[1]).max() * one[2]) for one, other in pairs)
    share = float(sum(Fraction(one[2]) ** 2 / 8 for one, _ in pairs))
    yield at_most("max_cover: sum of epsilon^2 / 8 of its draws at their whole rate", share, 0.2 * (1 + 1e-9))
    yield Result("max_cover: a row moves a draw by its whole rate", "> 0", f"{moved:.3g}", moved > 0)


CHECKS: tuple[Check, ...] = (
    multiplicities,
    exact_norms,
    overflowing_rows,
    price_of_ladders,
    laws_of_star_rungs,
    real_stars,
    rates_of_choices,
)
