"""Acceptance of minimum cuts: times, memory, and trials as Spark tasks (`scripts.accept.minimum_cuts`)."""

import multiprocessing
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from math import comb

from dplib.graphs.cactus.cactus_cuts import count_standard_cuts
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cuts.karger import contraction_cuts, plan_trials
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.spark.graphs.cut_trials import search_cuts
from scripts.accept.claims import Check, Result, at_least, at_most, load, processor_seconds, unless_busy
from scripts.accept.runs import session
from scripts.bench.minimum_cuts import milliseconds
from tests.support.cut_graphs import ring_of_cliques, ring_with_chords

ROUNDS = 7
N_CLIQUES = 25_000
N_TRIALS = 20_000
SCALING_TRIALS, SCALING_ROUNDS = 1_000_000, 2
MIN_SCALING = 1.6


def large_graphs() -> Iterator[Result]:
    """Graphs of random edges on a ring, weights 1 to 10."""
    graph = ring_with_chords(10_000, 50_000, 10)
    bound = minimum_cut(graph).value * 14 // 10
    claim = f"10,000 / 50,000: exact value, one core, median of {ROUNDS} ({load()})"
    yield at_most(claim, milliseconds(lambda: minimum_cut(graph), ROUNDS), 40, " ms")
    complete = near_minimum_cuts(graph, bound).complete
    claim = f"10,000 / 50,000: all cuts within 1.4, complete: {complete}"
    result = at_most(claim, milliseconds(lambda: near_minimum_cuts(graph, bound), ROUNDS), 60, " ms")
    yield replace(result, ok=result.ok and complete)
    large = ring_with_chords(100_000, 500_000, 10)
    yield at_most("100,000 / 500,000: exact value", milliseconds(lambda: minimum_cut(large)) / 1e3, 3, " s")


def ring_of_25_000_cliques() -> Iterator[Result]:
    """Minimum cuts by the hundred million, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        value, value_seconds, n_cuts, cactus_seconds, gigabytes = pool.submit(ring_figures).result()
    claim = f"ring of {N_CLIQUES:,} K4"
    yield Result(f"{claim}: exact value", "2", f"{value}", value == 2)
    yield at_most(f"{claim}: value ({load()})", value_seconds, 2, " s")
    expected = comb(N_CLIQUES, 2)
    yield Result(f"{claim}: minimum cuts of its cactus", f"{expected:,}", f"{n_cuts:,}", n_cuts == expected)
    yield at_most(f"{claim}: cactus", cactus_seconds, 30, " s")
    yield at_most(f"{claim}: peak memory of the process", gigabytes, 4, " GB")


def ring_figures() -> tuple[int, float, int, float, float]:
    """Value and its time, number of minimum cuts and the cactus's time, peak memory."""
    small = ring_of_cliques(5)
    cactus_of_graph(small, minimum_cut(small).value)
    graph = ring_of_cliques(N_CLIQUES)
    started = time.process_time()
    value = minimum_cut(graph).value
    between = time.process_time()
    cactus = cactus_of_graph(graph, value)
    ended = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return value, between - started, count_standard_cuts(cactus), ended - between, peak


def karger_trials() -> Iterator[Result]:
    """Trials a second of one core, and what they miss."""
    graph = ring_with_chords(100, 1_000, 10)
    value = minimum_cut(graph).value
    seconds = milliseconds(lambda: contraction_cuts(graph, value, 2, 1, 0, N_TRIALS)) / 1e3
    yield at_least(f"Karger trials a second, n = 100, m = 1,000, one core ({load()})", N_TRIALS / seconds, 15_000)
    plan = plan_trials(100, 1, 1e-6)
    claim = "trials for all minimum cuts of 100 vertices with failure 1e-6, stated by the plan"
    yield at_most(claim, plan.n_trials, 115_000)
    sparse = ring_with_chords(100, 200, 1)
    value = minimum_cut(sparse).value
    found = contraction_cuts(sparse, value, plan.n_left, 1, 0, plan.n_trials)
    n_cuts = len(near_minimum_cuts(sparse, value).cuts)
    claim = "minimum cuts that these trials find in a graph of 100 vertices with many"
    yield Result(claim, f"{n_cuts}", f"{len(found)}", len(found) == n_cuts > 1)


def scaling_over_tasks() -> Iterator[Result]:
    """The same trials as one task and as several on two cores, in turns."""
    graph = ring_with_chords(100, 1_000, 10)
    bound = minimum_cut(graph).value * 3 // 2
    plan = replace(plan_trials(100, 1, 1e-6), n_trials=SCALING_TRIALS)
    elapsed: dict[int, list[float]] = {1: [], 2: [], 8: []}
    worked: dict[int, list[float]] = {1: [], 2: [], 8: []}
    found = set()
    with session() as spark:
        search_cuts(spark, graph, bound, replace(plan, n_trials=2_000), 1, 8)  # starts the tasks' processes
        for _ in range(SCALING_ROUNDS):
            for n_tasks in elapsed:
                started, before = time.monotonic(), processor_seconds()
                cuts = search_cuts(spark, graph, bound, plan, 1, n_tasks)
                assert cuts is not None
                elapsed[n_tasks].append(time.monotonic() - started)
                worked[n_tasks].append(processor_seconds() - before)
                found.add((cuts.packed.tobytes(), cuts.values.tobytes()))
    claim = f"{SCALING_TRIALS:,} trials on Spark local[2], best of {SCALING_ROUNDS}"
    for n_tasks in (2, 8):
        share = min(worked[1]) / min(worked[n_tasks])
        timed = f"processor time of all processes, 1 task over {n_tasks} tasks"
        yield at_least(f"{claim}: {timed}", share, MIN_SCALING / 2)
        ratio = min(elapsed[1]) / min(elapsed[n_tasks])
        timed = f"1 task ({min(elapsed[1]):.1f} s) over {n_tasks} tasks ({min(elapsed[n_tasks]):.1f} s), {load()}"
        yield unless_busy(at_least(f"{claim}: {timed}", ratio, MIN_SCALING))
    yield Result(f"{claim}: the same cuts whatever the number of tasks", "1 answer", f"{len(found)}", len(found) == 1)


CHECKS: tuple[Check, ...] = (large_graphs, ring_of_25_000_cliques, karger_trials, scaling_over_tasks)
