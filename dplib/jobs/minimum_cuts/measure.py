"""The private part: exact cuts of the graph, its keyed digest, and noise and choices drawn exactly once.

Privacy statement: `dplib.jobs.minimum_cuts.design`, and each mechanism's own. The digest is taken from the canonical
graph itself, of which everything is a function: the same graph gets the same noise in every retry and layout, two
different graphs never share noise. The graph, its cuts, their number, bounds, kernels and certificates leave this
module in no form: neither in a table nor in a log or message.

Cut values are cut to `MAX_LOSS` before a choice, which changes no difference between neighbours to a greater one.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.cactus.cactus_cuts import count_standard_cuts
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cuts.exhaustive import all_cut_values, numbered_sides
from dplib.graphs.cuts.minimum_cut import count_zero_cuts, minimum_cut
from dplib.graphs.edges import Graph, cut_values, pack_sides
from dplib.jobs.minimum_cuts.config import SoftCountSettings
from dplib.jobs.minimum_cuts.design import COUNT, SAMPLED_PADDING, SAMPLED_VALUE, SYNTHETIC, VALUE, Design
from dplib.jobs.minimum_cuts.measurement_plan import Oneshot, Peeling
from dplib.jobs.minimum_cuts.padded_graph import ListCuts, PaddedGraph
from dplib.jobs.minimum_cuts.tables import StoredReleases, Tables
from dplib.mechanisms.cuts.cut_sampler import sample_cuts
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.mechanisms.cuts.cut_statistics import count_steps, soft_count_steps
from dplib.mechanisms.cuts.pair_weights import noisy_pairs
from dplib.mechanisms.exponential import exponential_rate
from dplib.mechanisms.oneshot_laplace import draw_oneshot
from dplib.mechanisms.top_k import peel
from dplib.mechanisms.tree_counts import add_noise
from dplib.randomness.keyed import Key, KeyedStream
from dplib.release.digest import block_digest, combine_digests
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

MAX_LOSS = 2**57


def graph_digest(graph: Graph, keys: RunKeys) -> bytes:
    """The keyed digest of the canonical graph."""
    edges = np.stack([graph.source, graph.target, graph.weight])
    return combine_digests(keys.digest, [("edges", block_digest(keys.digest, "edges", edges))])


def measure_graph(
    design: Design, graph: Graph, keys: RunKeys, directory: Path, list_cuts: ListCuts | None = None
) -> MeasurementKeys:
    """Draw everything about a canonical graph once and store it as ``measurement/`` of the staging directory.

    ``list_cuts`` lists cuts for sampled_cuts by random trials; None where it packs trees.
    """
    digest = graph_digest(graph, keys)
    Tables(directory, design).write_measurement(drawn(design, graph, keys.measurement(digest), list_cuts))
    return keys.recorded(digest)


def drawn(design: Design, graph: Graph, key: Key, list_cuts: ListCuts | None = None) -> StoredReleases:
    """All releases of the design, from streams under a key that depends on the graph."""
    stored = StoredReleases({}, {})
    for each in design.measurements:
        name = each.release
        if name == SYNTHETIC:
            edges = graph.source, graph.target, graph.weight
            stored.noisy[name] = noisy_pairs(graph.n_vertices, *edges, design.noises[name], key, name)
        elif isinstance(each.choice, SamplerPlan):
            _sampled(graph, name, each.choice, key, list_cuts, stored)
        elif each.choice is not None:
            _top_cuts(design, graph, name, each.choice, key, stored)
        else:
            exact = np.array([true_number(design, graph, name)], dtype=np.int64)
            stored.noisy[name] = add_noise(exact, design.noises[name], KeyedStream(key, name, "graph", 0))
    return stored


def true_number(design: Design, graph: Graph, name: str) -> int:
    """The true value of a single number, in whole units or steps. NOT PRIVATE."""
    if name == VALUE:
        return minimum_cut(graph).value
    if name == COUNT:
        return count_steps(count_minimum_cuts(graph), graph.n_vertices)
    settings = design.config.cuts.releases.soft_cut_count or SoftCountSettings()
    return soft_count_steps(every_cut(graph), settings.eta)


def count_minimum_cuts(graph: Graph) -> int:
    """The number of minimum cuts of a graph with at least two vertices. NOT PRIVATE."""
    value = minimum_cut(graph).value
    return count_standard_cuts(cactus_of_graph(graph, value)) if value else count_zero_cuts(graph)


def every_cut(graph: Graph) -> IntArray:
    """The values of all cuts of a small graph, by number less one, cut to `MAX_LOSS`. NOT PRIVATE."""
    values = all_cut_values(graph.n_vertices, graph.source, graph.target, graph.weight)[1:]
    return np.minimum(values, MAX_LOSS)


def _top_cuts(
    design: Design, graph: Graph, name: str, choice: Peeling | Oneshot, key: Key, stored: StoredReleases
) -> None:
    losses, stream = every_cut(graph), KeyedStream(key, name, "draws")
    if isinstance(choice, Peeling):
        # Adding weight to a pair never lowers a cut: the losses are monotone.
        rate = exponential_rate(choice.draw_epsilon, Fraction(design.weight_cap), monotone=True)
        numbers = peel(stream, losses, choice.k, rate)
    else:
        numbers = draw_oneshot(stream, losses, choice.k, choice.scale)
    stored.chosen[name] = numbered_sides(numbers + 1, graph.n_vertices)
    if name in design.noises:
        stored.noisy[name] = add_noise(losses[numbers], design.noises[name], KeyedStream(key, name, "values"))


def _sampled(
    graph: Graph, name: str, plan: SamplerPlan, key: Key, list_cuts: ListCuts | None, stored: StoredReleases
) -> None:
    seed = int(KeyedStream(key, name, "trials").uint64(1)[0])
    found = sample_cuts(PaddedGraph(graph, list_cuts, seed), plan, key, name)
    stored.noisy[SAMPLED_VALUE] = np.array([found.noisy_value], dtype=np.int64)
    if found.refused:
        return
    stored.noisy[SAMPLED_PADDING] = np.array([found.padding], dtype=np.int64)
    stored.chosen[name] = found.sides
    if found.noisy_weights is not None:
        stored.noisy[name] = found.noisy_weights


def true_values(graph: Graph, sides: BoolArray) -> IntArray:
    """The true values of cuts. NOT PRIVATE."""
    return cut_values(graph, pack_sides(sides))
