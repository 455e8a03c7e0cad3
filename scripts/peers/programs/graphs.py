"""Minimum cuts and triangles of a graph by igraph, networkx or NetworKit: ``graphs.py EDGES PEER WORK``.

EDGES is a file of arrays ``n``, ``source``, ``target`` and ``weight``. The library's own
graph is made before the clock starts.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def work_of_igraph(edges: Any, work: str) -> Callable[[], int]:
    import igraph

    graph = igraph.Graph(n=int(edges["n"]), edges=np.stack([edges["source"], edges["target"]], axis=1).tolist())
    weight = edges["weight"].tolist()
    if work == "triangles":
        return lambda: len(graph.list_triangles())
    return lambda: int(graph.mincut_value(capacity=weight))


def work_of_networkx(edges: Any, work: str) -> Callable[[], int]:
    import networkx as nx

    graph = nx.Graph()
    graph.add_weighted_edges_from(zip(*(edges[name].tolist() for name in ("source", "target", "weight")), strict=True))
    if work == "triangles":
        return lambda: sum(nx.triangles(graph).values()) // 3
    return lambda: int(nx.stoer_wagner(graph)[0])


def work_of_networkit(edges: Any, work: str) -> Callable[[], int]:
    import networkit as nk

    nk.setNumberOfThreads(1)
    graph = nk.GraphFromCoo((edges["source"], edges["target"]), n=int(edges["n"]))
    graph.indexEdges()
    return lambda: int(sum(nk.sparsification.TriangleEdgeScore(graph).run().scores())) // 3


PEERS = {"igraph": work_of_igraph, "networkx": work_of_networkx, "NetworKit": work_of_networkit}


def main() -> None:
    path, peer, work = sys.argv[1:]
    count = PEERS[peer](np.load(Path(path)), work)
    for query in ("first", "second"):
        started = time.process_time()
        value = count()
        print(json.dumps({query: time.process_time() - started, "value": value}), flush=True)


if __name__ == "__main__":
    main()
