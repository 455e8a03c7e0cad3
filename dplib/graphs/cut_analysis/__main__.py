"""`python -m dplib.graphs.cut_analysis FILE`: how the number of minimum cuts of a PUBLIC graph moves. NOT PRIVATE.

What it prints is exact and depends on every edge: nothing of it may be released where the graph is private. It is a
command of its own, beside `dplib`, so that no command that makes a release can reach it (an import contract).
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np

from dplib.errors import DplibError
from dplib.graphs.cactus.cactus import Cactus
from dplib.graphs.cactus.cactus_cuts import cut_set
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cut_analysis.cactus_generation import cactus_of_cuts
from dplib.graphs.cut_analysis.cut_count_sensitivity import (
    MARKING,
    EdgeEffects,
    analyse,
    average_sensitivity,
    drawn_pairs,
)
from dplib.graphs.cut_analysis.cut_tree import bundle_graph, bundle_of, cut_tree, is_parallel_cut, is_ring
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import Graph, canonical
from dplib.validate import require

MAX_CUTS = 20_000
"""Minimum cuts up to which they are listed, for ALG_gen, the tree and its bundles."""
MAX_PAIRS = 200_000
"""Pairs of vertices that the average looks at; of more, so many are drawn."""


def read_graph(path: Path) -> Graph:
    """A graph from lines ``u v`` or ``u v weight`` of whole numbers; vertices from 0 to the largest named.

    Raises:
        ConfigError: the file is none, or has other lines.
    """
    try:
        lines = path.read_text(encoding="utf-8").replace(",", " ").splitlines()
        rows = [[int(word) for word in line.split()] for line in lines if line.strip() and not line.startswith("#")]
    except (OSError, ValueError):
        rows = []
    fitting = bool(rows) and all(len(row) in (2, 3) for row in rows)
    require(fitting, "FILE", "hold lines of two vertices and perhaps a weight", path.name)
    source, target, weight = zip(*((*row, 1)[:3] for row in rows), strict=True)
    graph = canonical(max(*source, *target) + 1, source, target, weight)
    require(graph.n_vertices > 1, "FILE", "name at least two vertices", path.name)
    return graph


def report(graph: Graph, pair: tuple[int, int] | None = None, seed: int = 0) -> Iterator[str]:
    """Lines about the minimum cuts of a connected graph of two or more vertices.

    Args:
        graph: public.
        pair: two vertices between which one unit of weight is added.
        seed: of the pairs that the average looks at where there are too many.
    """
    value = minimum_cut(graph).value
    cactus = cactus_of_graph(graph, value)
    found, n = analyse(cactus), graph.n_vertices
    p = found.parameters
    yield MARKING
    yield f"{n:,} vertices, minimum cut value {value:,}, {found.n_min_cuts:,} minimum cuts"
    yield f"cactus: {p.alpha_g:,} nodes of at most {p.alpha_p:,} vertices, at most {p.alpha_d:,} tree edges on a way"
    yield f"  and {p.alpha_c:,} rings of at most {p.alpha_r:,} nodes"
    bounds = ", ".join(f"{float(bound):,.1f} ({name})" for name, bound in found.lower_bounds.items())
    yield f"one more unit of weight that leaves the minimum cut value leaves at least: {bounds}"
    every = comb(n, 2) <= MAX_PAIRS
    pairs = np.array(list(combinations(range(n), 2))) if every else drawn_pairs(n, MAX_PAIRS, seed)
    mean = average_sensitivity(cactus, pairs)
    error = "" if every else f" (standard error {mean.std_error:,.3g})"
    yield f"minimum cuts lost on average over pairs that leave the value: {mean.mean:,.6g}{error}"
    if pair is not None:
        effect = EdgeEffects(cactus).between(*pair)
        change = "raises the minimum cut value" if effect.value_rises else f"loses {effect.lost_cuts:,} minimum cuts"
        yield f"one more unit of weight between {pair[0]} and {pair[1]} {change}"
    if found.n_min_cuts <= MAX_CUTS:
        yield from _bundles(graph, value, cactus)


def _bundles(graph: Graph, value: int, cactus: Cactus) -> Iterator[str]:
    """The tree of p-cuts from the list of all minimum cuts; ALG_gen makes the same cactus from it."""
    cuts = cut_set(cactus)
    parallel = is_parallel_cut(cuts)
    tree = cut_tree(cuts[parallel])
    same = "the same cactus" if cactus_of_cuts(cuts).equals(cactus) else "ANOTHER CACTUS: a fault"
    yield f"ALG_gen makes {same} of the list; {len(tree.sides):,} p-cuts, {int((~parallel).sum()):,} t-cuts"
    held = np.bincount([bundle_of(tree, cut)[0] for cut in cuts[~parallel]], minlength=tree.n_nodes)
    for node in np.flatnonzero(held).tolist():
        sides = tree.outer_sides(node)
        form = "a ring" if is_ring(bundle_graph(graph, sides), value) else "NO RING: a fault"
        yield f"  a bundle of {len(sides):,} p-cuts holds {held[node]:,} t-cuts; its structure graph is {form}"


def main(words: list[str] | None = None) -> int:
    """Analyse a file; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dplib.graphs.cut_analysis", description=__doc__)
    parser.add_argument("file", metavar="FILE", type=Path, help="lines `u v` or `u v weight`, with spaces or commas")
    parser.add_argument("--pair", nargs=2, type=int, metavar=("U", "V"), help="what one more unit between them does")
    parser.add_argument("--seed", type=int, default=0, help="of the pairs that are drawn where all are too many")
    given = parser.parse_args(words)
    try:
        for line in report(read_graph(given.file), given.pair and tuple(given.pair), given.seed):
            print(line)
    except DplibError as error:
        print(f"dplib: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
