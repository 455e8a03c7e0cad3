"""Weighted graphs for tests of exact cuts: drawn ones of few vertices, and large ones of known shape."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from dplib.arrays import IntArray
from dplib.graphs.edges import Graph, canonical
from tests.support.cut_mechanism_laws import all_sides
from tests.support.graph_oracles import cut_values, sides

Sides = set[tuple[int, ...]]


@st.composite
def weighted_graphs(draw: st.DrawFn, least: int = 2, most: int = 9, connected: bool = False) -> Graph:
    """Graphs of any density and number of components, with weights of one, few or many sizes."""
    n = draw(st.integers(least, most))
    end = st.integers(0, n - 1)
    weight = st.integers(1, draw(st.sampled_from([1, 3, 50])))
    edges = draw(st.lists(st.tuples(end, end, weight), max_size=24))
    if connected:
        edges += [(draw(st.integers(0, vertex - 1)), vertex, draw(weight)) for vertex in range(1, n)]
    return canonical(n, *np.array(edges, dtype=np.int64).reshape(-1, 3).T)


def cuts_up_to(graph: Graph, bound: int) -> Sides:
    """All cuts of value at most ``bound``, from the list of all cuts."""
    every = all_sides(graph.n_vertices)
    return sides(every[cut_values(graph, every) <= bound])


def least_value(graph: Graph) -> int:
    """The least value in the list of all cuts."""
    return int(cut_values(graph, all_sides(graph.n_vertices)).min())


def complete(n: int) -> Graph:
    """All pairs once."""
    return canonical(n, *np.triu_indices(n, 1))


def ring_of_cliques(n_cliques: int) -> Graph:
    """Cliques of four vertices, each joined to the next by one edge; the minimum cuts are all pairs of those."""
    corner = 4 * np.arange(n_cliques)
    pairs = [(corner + one, corner + other) for one, other in combinations(range(4), 2)]
    pairs.append((corner + 3, np.roll(corner, -1)))
    return canonical(4 * n_cliques, *(np.concatenate(ends) for ends in zip(*pairs, strict=True)))


def ring_with_chords(n: int, m: int, most_weight: int, seed: int = 0) -> Graph:
    """A ring in random order with random chords, ``m`` edges as listed; connected."""
    rng = np.random.default_rng(seed)
    order: IntArray = rng.permutation(n)
    source = np.concatenate([order, rng.integers(0, n, m - n)])
    target = np.concatenate([np.roll(order, 1), rng.integers(0, n, m - n)])
    return canonical(n, source, target, rng.integers(1, most_weight + 1, m))
