"""From the stored measurement to the tables of a release and what its manifest says; sees no edge, draws no noise."""

from pathlib import Path
from typing import Any

from dplib.graphs.statistics.degree_estimates import ProjectionLoss, estimate_projection_loss
from dplib.graphs.statistics.network_sensitivity import Bounding, Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import Results, make_results
from dplib.jobs.network_statistics.noisy_graph_tables import read_whole_graph, write_published_graph
from dplib.jobs.network_statistics.tables import Tables
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.page.guarantee import Promise
from dplib.page.number_text import count_text
from dplib.release.staging import MEASUREMENT


def write_tables(design: Design, directory: Path) -> tuple[Results, WholeGraph]:
    """Write ``estimates/`` and ``published/`` from ``measurement/``."""
    tables = Tables(directory, design)
    parts = read_whole_graph(tables)
    results = make_results(design, tables.read(MEASUREMENT, "noisy"), parts)
    tables.write_estimates(results.estimate, results.std_error)
    tables.write_published(results.count)
    adjacency = Statistic.ADJACENCY
    edges, errors = results.estimate.get(adjacency), results.std_error.get(adjacency)
    write_published_graph(tables, parts, edges, errors)
    return results, parts


def projection_loss(design: Design, results: Results) -> ProjectionLoss | None:
    """What the projection may have cut off, guessed from the noisy histogram; None without either."""
    reaches = design.last_bin == design.largest_degree
    if not design.projected or not reaches or Statistic.DEGREE_HISTOGRAM not in results.estimate:
        return None
    return estimate_projection_loss(results.estimate[Statistic.DEGREE_HISTOGRAM], design.n_vertices)


def promise(design: Design) -> Promise:
    """What the release promises, in the job's own words."""
    bounding, caps = design.bound.bounding, "none: an edge counts once, however many rows name it"
    if bounding is not Bounding.NONE:
        caps = f"at most {count_text(design.largest_degree)} edges at a vertex ({bounding})"
    return Promise(
        caps=caps,
        invariants=tuple(invariants(design)),
        public_settings="Vertices, statistics with their weights, bins, degree bound and budget",
    )


def invariants(design: Design) -> list[str]:
    """The public facts on which the guarantee is conditional, in words."""
    facts = [f"The graph has {design.n_vertices} declared vertices; their names and number are public."]
    if design.bound.bounding is Bounding.PROMISED:
        facts.append(
            f"No vertex has more than {design.largest_degree} edges, by the way the graph was collected; this is "
            "promised, not checked: where it is false, the guarantee does not hold."
        )
    if design.reported is not None:
        facts.append("Which vertices sent a report is public; the measurement names those that did not.")
    return facts


def manifest_fields(design: Design) -> dict[str, Any]:
    """What the manifest says besides the fields that every job has."""
    graph = design.config.graph
    return {
        "sensitivities": {
            each.statistic: {"l1": each.sensitivity.l1, "l2_squared": each.sensitivity.l2_squared}
            for each in design.measurements
        },
        "mechanisms": [event.to_dict() for event in design.events],
        "solver": {
            "name": "unbiased estimates from reports" if design.local else "least squares, isotonic regression",
            "integer_tables": "controlled rounding",
        },
        "domain": {
            "n_vertices": design.n_vertices,
            "directed": False,
            "degree_bound": graph.degree_bound.model_dump(mode="json"),
            "last_bin": design.last_bin,
            "stars": graph.stars,
        },
        "details": {
            "shares": {each.statistic: each.share for each in design.measurements},
            "model": design.config.privacy.model,
            "reports": design.reported is not None,
        },
    }
