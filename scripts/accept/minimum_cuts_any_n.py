"""Acceptance of minimum cuts: sampled cuts of graphs of any number of vertices (`scripts.accept.minimum_cuts`)."""

import time
from collections.abc import Iterator
from fractions import Fraction
from math import comb

import numpy as np
from scipy import stats

from dplib.arrays import FloatArray
from dplib.graphs.cuts.packed_cuts import PackedCuts
from dplib.graphs.edges import Graph, canonical, cut_values, pack_sides, unpack_sides
from dplib.jobs.minimum_cuts.padded_graph import PaddedGraph, packed_cuts
from dplib.mechanisms.cuts.cut_sampler import sample_cuts
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan, WhenWeak, plan_cut_sampler
from dplib.privacy.budget import ApproxDP
from dplib.randomness.keyed import KeyedStream, derive_key
from scripts.accept.claims import Check, Result, at_least, at_most

KEY = bytes(range(32))
N, N_RING = 100_000, 20_000
SURPRISING = 1e-6


def ring(n: int, weight: int) -> Graph:
    """As many minimum cuts as a graph can have."""
    return canonical(n, np.arange(n), (np.arange(n) + 1) % n, np.full(n, weight))


def torus(side: int, weight: int) -> Graph:
    """A grid that is closed in both directions: nothing in it can be contracted."""
    vertex = np.arange(side * side)
    right = vertex // side * side + (vertex + 1) % side
    down = (vertex + side) % len(vertex)
    return canonical(len(vertex), np.tile(vertex, 2), np.append(right, down), np.full(2 * len(vertex), weight))


def sparse(n: int, n_edges: int) -> Graph:
    """Random edges of weight 1: vertices of few edges, a minimum cut of 0 or little more."""
    rng = np.random.default_rng(1)
    return canonical(n, rng.integers(0, n, n_edges), rng.integers(0, n, n_edges))


def plan_of(n: int, when: WhenWeak) -> SamplerPlan:
    """Five draws at epsilon 2."""
    return plan_cut_sampler(n, 5, ApproxDP(Fraction(2), Fraction(1, 10**6)), when_small=when)


def uniform_p_value(points: FloatArray) -> float:
    """Of the greatest distance from the uniform law on [0, 1]."""
    return float(stats.kstest(points, "uniform").pvalue)


def minimum_cuts_of_a_ring_are_uniform() -> Iterator[Result]:
    """A ring of 20,000 heavy pairs: 200 million minimum cuts, which are arcs, none of them listed."""
    started = time.process_time()
    cuts = packed_cuts(ring(N_RING, 300), 600, 870, Fraction(1, 5))
    entries = cuts.entries
    assert isinstance(entries, PackedCuts)
    weights, drawn = cuts.draw(KeyedStream(KEY, "ring"), 2_000)
    took = time.process_time() - started
    mass = sum(entries.totals) / 2**entries.bits
    exact = N_RING - 1 + 2 * comb(N_RING - 1, 2)  # two edges of the tree are met from either one
    off = abs(mass / exact - 1)
    yield at_most(f"ring of {N_RING:,}: |mass / number of its {comb(N_RING, 2):,} minimum cuts - 1|", off, 1e-6)
    yield at_most(f"ring of {N_RING:,}: 2,000 draws, processor time", took, 60, " s")
    yield at_most(f"ring of {N_RING:,}: draws that are no minimum cut", int((weights != 600).sum()), 0)
    sides = unpack_sides(drawn, N_RING)
    sizes, first = sides.sum(axis=1), sides.argmax(axis=1)
    # An arc of s vertices without vertex 0 begins at any of n - s places: P(size <= s) by summing these.
    below = (sizes - 0.5) * (2 * N_RING - sizes - 0.5) / (N_RING * (N_RING - 1.0))
    yield at_least(f"ring of {N_RING:,}: sizes, P-value", uniform_p_value(below), SURPRISING)
    places = (first - 0.5) / (N_RING - sizes)
    yield at_least(f"ring of {N_RING:,}: places, P-value", uniform_p_value(places), SURPRISING)


def hundred_thousand_vertices() -> Iterator[Result]:
    """Whole releases of 100,000 vertices: strong graphs as they are, weak ones padded."""
    plan = plan_of(N, "refuse")
    for name, graph, most in (
        ("ring", ring(N, plan.gate), 30),
        ("torus", torus(316, plan.gate), 240),
        ("no edges, padded", canonical(N, [], []), 60),
        ("500,000 random edges, padded", sparse(N, 500_000), 120),
    ):
        used = plan_of(graph.n_vertices, "pad" if "padded" in name else "refuse")
        asked = PaddedGraph(graph)
        started = time.process_time()
        found = sample_cuts(asked, used, derive_key(KEY, name), "cuts")
        took = time.process_time() - started
        yield at_most(f"{graph.n_vertices:,} vertices, {name}: five draws, processor time", took, most, " s")
        padded = asked.padded(found.padding)
        values, least = cut_values(padded, pack_sides(found.sides)), asked.minimum_cut(found.padding)
        drawn = len(found.sides) and not found.refused
        most_above = used.excess(least, SURPRISING)
        claim = f"{graph.n_vertices:,} vertices, {name}: largest excess of a drawn cut"
        yield at_most(claim, float(values.max() - least) if drawn else np.inf, most_above)


def plans_of_any_size() -> Iterator[Result]:
    """What a plan for many declared vertices needs."""
    for n in (1_415, N, 10_000_000):
        started = time.process_time()
        plan = plan_of(n, "pad")
        took = time.process_time() - started
        yield at_most(f"plan for {n:,} vertices: T_low {plan.lowest}, target {plan.target}", took, 5, " s")


CHECKS: tuple[Check, ...] = (
    minimum_cuts_of_a_ring_are_uniform,
    hundred_thousand_vertices,
    plans_of_any_size,
)
