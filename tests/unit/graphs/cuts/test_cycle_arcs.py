"""The least arcs of a graph in its padded forms, against all arcs written out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.graphs.cuts.cycle_arcs import Arcs
from dplib.graphs.edges import canonical, cut_value


@settings(max_examples=80, deadline=None)
@given(data=st.data(), n=st.integers(2, 9))
def test_the_least_arc_for_every_padding(data: st.DataObject, n: int) -> None:
    pairs = np.triu_indices(n, 1)
    weight = data.draw(st.lists(st.integers(0, 9), min_size=len(pairs[0]), max_size=len(pairs[0])))
    graph = canonical(n, *pairs, np.array(weight, dtype=np.int64))
    arcs = Arcs(graph)
    vertex = np.arange(n)
    every = [(p, q) for q in range(n) for p in range(q)]
    values = [cut_value(graph, (vertex > p) & (vertex <= q)) for p, q in every]
    for padding in range(3 * n + 1):
        rounds, rest = divmod(padding, n)
        laid = [value + 2 * rounds + (p < rest) + (q < rest) for value, (p, q) in zip(values, every, strict=True)]
        assert arcs.least(padding) == min(laid)
