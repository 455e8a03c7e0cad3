"""What the tables of a release must obey: cuts have two sides, values and errors follow from the measurement."""

from pathlib import Path

import numpy as np

from dplib.graphs.cactus.cactus import checked_cactus
from dplib.graphs.cactus.cactus_cuts import cut_set
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import canonical, cut_values, pack_sides
from dplib.jobs.minimum_cuts.design import SYNTHETIC
from dplib.jobs.minimum_cuts.estimate import make_results
from dplib.jobs.minimum_cuts.query import design_of, read_cuts, read_numbers
from dplib.jobs.minimum_cuts.tables import ESTIMATES, Tables
from dplib.mechanisms.cuts.pair_weights import EXACT_CUTS
from dplib.release.manifest import Manifest
from dplib.release.tables import read_table
from dplib.release.verify import Check

MAX_CACTUS_CUTS = 100_000
"""Pairs of cactus edges whose cuts are weighed; a larger cactus is checked for its shape only."""


def check_tables(directory: Path, manifest: Manifest) -> list[Check]:
    """Check a release's tables against its stored measurement and the public settings of its manifest."""
    design = design_of(manifest)
    tables = Tables(directory, design)
    stored, cuts = tables.read_measurement(), read_cuts(tables)
    # Which cuts a search finds may differ between versions: of those that stand there the values must be right.
    searched = cuts.get(SYNTHETIC) if design.n_vertices > EXACT_CUTS else None
    made = make_results(design, stored, None if searched is None else searched.sides)
    found = {number.statistic: number for number in read_numbers(directory)}
    checks = []
    for number in made.numbers:
        other = found.get(number.statistic)
        same = (
            other is not None and _close(number.estimate, other.estimate) and _close(number.std_error, other.std_error)
        )
        checks.append(Check(f"{number.statistic}: follows from the measurement", same, f"{number.estimate:.6g}"))
    for name, each in made.cuts.items():
        if not len(each.sides):
            continue
        known = cuts.get(name)
        same = known is not None and np.array_equal(known.sides, each.sides) and _close(known.value, each.value)
        checks.append(Check(f"{name}: cuts and values follow from the measurement", same, f"{len(each.sides)} cuts"))
        whole = bool(each.sides.any(axis=1).all()) and not each.sides[:, 0].any()
        checks.append(Check(f"{name}: every cut has two sides", whole, "the first vertex on the other side"))
    if made.synthetic is not None and (directory / ESTIMATES / "cactus_nodes").is_dir():
        checks.append(_check_cactus(tables))
    return checks


def _close(one: object, other: object) -> bool:
    return bool(np.allclose(np.asarray(one), np.asarray(other), rtol=1e-9, atol=1e-9, equal_nan=True))


def _check_cactus(tables: Tables) -> Check:
    """The stored cactus stands for minimum cuts of the stored graph, of different sides."""
    design, folder = tables.design, tables.directory / ESTIMATES
    name = f"{SYNTHETIC}: the cactus holds minimum cuts"
    nodes = read_table(folder / "cactus_nodes", ["node", "vertex"])
    edges = read_table(folder / "cactus_edges", ["one", "other", "ring"])
    graph = read_table(folder / "graph", ["source", "target", "weight"])
    node_of = np.empty(design.n_vertices, dtype=np.int64)
    node_of[nodes.column("vertex").to_numpy() - design.vertices.first] = nodes.column("node").to_numpy()
    one, other, ring = (edges.column(column).to_numpy() for column in ("one", "other", "ring"))
    rings = [one[ring == number] for number in range(int(ring.max(initial=-1)) + 1)]
    tree = np.stack([one, other], axis=1)[ring < 0]
    cactus = checked_cactus(int(max(node_of.max(), one.max(initial=0), other.max(initial=0))) + 1, node_of, tree, rings)
    if len(tree) + sum(len(each) ** 2 for each in rings) > MAX_CACTUS_CUTS:
        return Check(name, True, "too many to weigh: its shape only")
    first = design.vertices.first
    source, target = (graph.column(end).to_numpy() - first for end in ("source", "target"))
    synthetic = canonical(design.n_vertices, source, target, graph.column("weight").to_numpy())
    sides = cut_set(cactus)
    values = cut_values(synthetic, pack_sides(sides))
    ok = len(sides) > 0 and bool((values == minimum_cut(synthetic).value).all())
    return Check(name, ok, f"{len(sides)} cuts")
