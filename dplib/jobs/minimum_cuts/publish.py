"""From the stored measurement to the tables of a release and what its manifest says; sees no row, draws no noise."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dplib.graphs.cactus.cactus import Cactus
from dplib.jobs.minimum_cuts.design import SAMPLED, Design
from dplib.jobs.minimum_cuts.estimate import FoundCuts, Results, make_results
from dplib.jobs.minimum_cuts.measurement_plan import Enumeration
from dplib.jobs.minimum_cuts.synthetic import Synthetic
from dplib.jobs.minimum_cuts.tables import Tables
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.page.guarantee import Promise
from dplib.page.number_text import count_text
from dplib.privacy.rounding import fraction_text


def write_tables(design: Design, directory: Path) -> Results:
    """Write ``estimates/`` from ``measurement/``."""
    tables = Tables(directory, design)
    results = make_results(design, tables.read_measurement())
    if results.numbers:
        tables.write("numbers", _number_rows(results), "statistic")
    found = {name: cuts for name, cuts in results.cuts.items() if len(cuts.sides)}
    if found:
        tables.write("cuts", _cut_rows(found), "statistic", "cut")
        rows = tables.members({name: cuts.sides for name, cuts in found.items()}, "cut")
        tables.write("members", rows, "statistic", "cut", "vertex")
    if results.synthetic is not None:
        _write_synthetic(tables, results.synthetic)
    if design.vertices.names is not None:
        names = {"vertex": np.arange(design.n_vertices), "name": pa.array(design.vertices.names).dictionary_encode()}
        tables.write("vertices", names, "vertex")
    return results


def _number_rows(results: Results) -> dict[str, Any]:
    return {
        "statistic": [number.statistic for number in results.numbers],
        "estimate": np.array([number.estimate for number in results.numbers]),
        "std_error": np.array([number.std_error for number in results.numbers]),
    }


def _cut_rows(found: dict[str, FoundCuts]) -> dict[str, Any]:
    return {
        "statistic": [name for name, cuts in found.items() for _ in cuts.sides],
        "cut": np.concatenate([np.arange(len(cuts.sides)) for cuts in found.values()]),
        "side_size": np.concatenate([cuts.side_size for cuts in found.values()]),
        "noisy_value": np.concatenate([cuts.value for cuts in found.values()]),
        "std_error": np.concatenate([cuts.std_error for cuts in found.values()]),
    }


def _write_synthetic(tables: Tables, synthetic: Synthetic) -> None:
    graph, first = synthetic.graph, tables.design.vertices.first
    edges = {"source": graph.source + first, "target": graph.target + first, "weight": graph.weight}
    tables.write("graph", edges, "source", "target")
    if synthetic.cactus is not None:
        _write_cactus(tables, synthetic.cactus)


def _write_cactus(tables: Tables, cactus: Cactus) -> None:
    vertices = np.arange(cactus.n_vertices) + tables.design.vertices.first
    tables.write("cactus_nodes", {"node": cactus.node_of, "vertex": vertices}, "node", "vertex")
    # A ring's edges join each of its nodes with the next one, the last with the first.
    ends = [cactus.tree_edges, *(np.stack([ring, np.roll(ring, -1)], axis=1) for ring in cactus.rings)]
    number = np.repeat(np.arange(-1, len(cactus.rings)), [len(part) for part in ends])
    joined = np.concatenate(ends)
    rows = {"edge": np.arange(len(joined)), "one": joined[:, 0], "other": joined[:, 1], "ring": number}
    tables.write("cactus_edges", rows, "edge")


def promise(design: Design) -> Promise:
    """What the release promises, in the job's own words."""
    unit, cap = design.config.privacy.unit, count_text(design.weight_cap)
    return Promise(
        caps=f"one {unit} changes the weight of one pair of vertices by at most {cap}",
        invariants=tuple(invariants(design)),
        public_settings="Vertices, weight cap, releases with their shares, numbers of draws and budget",
        relation=relation(design),
        change=f"change the weight of any one pair of vertices by at most {cap}",
    )


def relation(design: Design) -> str:
    """Which graphs are neighbours, in words."""
    unit, cap = design.config.privacy.unit, design.weight_cap
    return (
        f"two graphs on the declared vertices are neighbours if one {unit} more or less makes the difference: the "
        f"weight of one pair of vertices differs by at most {cap}, and all others are the same (an absent edge has the "
        "weight 0)"
    )


def assumption(design: Design) -> str:
    """Why one unit moves the weight of its pair by no more than the cap: what is cut, or what is promised, in words."""
    unit, cap, weights = design.config.privacy.unit, design.weight_cap, design.config.graph.weights
    if weights.capped == "pair" or weights.repeats == "once":
        held = "one row of a pair counts, whatever their number" if weights.repeats == "once" else f"it is cut to {cap}"
        return (
            f"The weight of a pair is at most {cap} when it is read ({held}), so the guarantee covers all rows of one "
            "pair together."
        )
    if weights.capped == "row":
        return (
            f"One {unit} is one row of the input, and a row adds at most {cap} to the weight of its pair: what is "
            "above is cut off when it is read (graph.weights.capped: row). Several rows are protected as several units."
        )
    return (
        f"It is promised, and not checked, that one {unit} changes the weight of one pair by at most {cap} "
        f"(graph.weights.capped: promised): a row may weigh up to {weights.largest}, and one that weighs more than "
        f"{cap} is protected as several units are."
    )


def invariants(design: Design) -> list[str]:
    """The public facts on which the guarantee is conditional, in words."""
    facts = [f"The graph has {design.n_vertices} declared vertices; their names and number are public."]
    weights = design.config.graph.weights
    return [*facts, assumption(design)] if weights.capped == "promised" and weights.repeats == "sum" else facts


def manifest_fields(design: Design) -> dict[str, Any]:
    """What the manifest says besides the fields that every job has."""
    mechanisms: list[dict[str, Any]] = []
    sensitivities = {}
    for each in design.measurements:
        times = Counter(each.events)
        mechanisms += [event.to_dict() | {"times": number} for event, number in times.items()]
        if each.noise is not None:
            sensitivities[each.release] = {
                "norm": each.noise.law.norm,
                "sensitivity": fraction_text(each.noise.sensitivity),
            }
    return {
        "sensitivities": sensitivities,
        "mechanisms": mechanisms,
        "solver": {"name": "exact cuts of the synthetic graph"},
        "domain": {"n_vertices": design.n_vertices, "directed": False, "weight_cap": design.weight_cap},
        "details": {
            "relation": relation(design),
            "assumed_of_the_input": assumption(design),
            "shares": {each.release: each.share for each in design.measurements},
            "samplers": {} if design.sampler is None else {SAMPLED: _sampler(design.sampler, design.enumeration)},
        },
    }


def _sampler(plan: SamplerPlan, enumeration: Enumeration) -> dict[str, Any]:
    """The public numbers of sampled_cuts."""
    names = ("lowest", "gate", "target", "value_epsilon", "padding_epsilon", "draw_epsilon", "failure")
    return {name: getattr(plan, name) for name in names} | {"enumeration_failure": enumeration.failure}
