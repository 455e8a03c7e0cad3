"""Blocks that vote on their edges decide as one process does that goes through the edges one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.arrays import ByteArray
from dplib.graphs.mixing import vertex_colours
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.projection_blocks import (
    DROPPED,
    KEPT,
    WAITING,
    Pair,
    ProjectionBlock,
    block_rest,
    block_votes,
    finish,
    start_block,
    take_fates,
    worst_votes,
)
from dplib.graphs.statistics.truncation import project_graph
from tests.support.network_oracles import graph_of, random_graph

GRAPHS = given(
    n=st.integers(0, 16),
    p=st.floats(0, 1),
    seed=st.integers(0, 10**6),
    bound=st.integers(1, 6),
    n_blocks=st.sampled_from([1, 2, 4, 8]),
)


def _start(graph: SimpleGraph, n_blocks: int, salt: int) -> list[ProjectionBlock]:
    source, target = graph.source, graph.target
    colours = np.stack([vertex_colours(source, n_blocks), vertex_colours(target, n_blocks)])
    held = [(colours == block).any(axis=0) for block in range(n_blocks)]
    return [start_block(block, n_blocks, source[mine], target[mine], salt) for block, mine in enumerate(held)]


def _round(states: list[ProjectionBlock], fates: dict[Pair, ByteArray]) -> list[ProjectionBlock]:
    return [take_fates(block, state, fates) for block, state in enumerate(states)]


def _kept(states: list[ProjectionBlock]) -> list[set[tuple[int, int]]]:
    found = []
    for state in states:
        mine = state.fate == KEPT
        found.append(set(zip(state.source[mine].tolist(), state.target[mine].tolist(), strict=True)))
    return found


def _expected(graph: SimpleGraph, bound: int, salt: int, n_blocks: int) -> list[set[tuple[int, int]]]:
    kept = project_graph(graph, bound, salt)
    edges = zip(kept.source.tolist(), kept.target.tolist(), strict=True)
    blocks: list[set[tuple[int, int]]] = [set() for _ in range(n_blocks)]
    for edge in edges:
        for colour in vertex_colours(np.array(edge, dtype=np.int64), n_blocks).tolist():
            blocks[colour].add(edge)
    return blocks


@settings(max_examples=15, deadline=None)
@GRAPHS
def test_rounds_end_with_the_sequential_result(n: int, p: float, seed: int, bound: int, n_blocks: int) -> None:
    graph = random_graph(n, p, seed)
    states = _start(graph, n_blocks, seed)
    for _ in range(graph.n_edges):
        fates = worst_votes([block_votes(state, bound) for state in states])
        assert not fates or any((found != WAITING).any() for found in fates.values())
        states = _round(states, fates)
    assert all((state.fate != WAITING).all() for state in states)
    assert _kept(states) == _expected(graph, bound, seed, n_blocks)


@settings(max_examples=15, deadline=None)
@GRAPHS
def test_one_process_may_finish_after_any_round(n: int, p: float, seed: int, bound: int, n_blocks: int) -> None:
    graph = random_graph(n, p, seed)
    states = _start(graph, n_blocks, seed)
    for _ in range(seed % 3):
        states = _round(states, worst_votes([block_votes(state, bound) for state in states]))
    states = _round(states, finish([block_rest(block, state, bound) for block, state in enumerate(states)], seed))
    assert all((state.fate != WAITING).all() for state in states)
    assert _kept(states) == _expected(graph, bound, seed, n_blocks)


def test_a_random_order_needs_few_rounds() -> None:
    n, bound, n_blocks = 1_000, 4, 4
    generator = np.random.default_rng(1)
    graph = SimpleGraph.from_edges(n, *generator.integers(0, n, (2, 10_000)))
    states = _start(graph, n_blocks, 3)
    rounds = 0
    while any((state.fate == WAITING).any() for state in states):
        states = _round(states, worst_votes([block_votes(state, bound) for state in states]))
        rounds += 1
    assert 3 < rounds < 16
    assert _kept(states) == _expected(graph, bound, 3, n_blocks)


def test_a_full_end_drops_an_edge_though_the_other_block_would_keep_it() -> None:
    n_blocks = 2
    colours = vertex_colours(np.arange(40), n_blocks)
    one, other = np.flatnonzero(colours == 0), np.flatnonzero(colours == 1)
    hub = int(one[0])
    states = _start(graph_of(40, [(hub, int(each)) for each in other[:2]]), n_blocks, 0)
    states = _round(states, worst_votes([block_votes(state, 1) for state in states]))
    assert sorted(states[0].fate.tolist()) == [KEPT, WAITING]
    fates = worst_votes([block_votes(state, 1) for state in states])
    assert {pair: found.tolist() for pair, found in fates.items()} == {(0, 1): [DROPPED]}
    assert [each.tolist() for each in block_votes(states[1], 1)] == [[KEPT], []]
