"""Configurations of all jobs, drawn by a seed: sound shapes with extreme numbers, odd names and every option.

A drawn configuration need not be allowed. What must hold: it is refused with a sentence before anything is spent, or
its whole publication succeeds (`tests.unit.jobs.test_drawn_configurations`).
"""

from collections.abc import Callable
from typing import Any, get_args

from dplib.jobs.consistent_histograms.solver_config import Method
from tests.support.drawing import DELTAS, EPSILONS, Draw, Settings


def _frame(draw: Draw, job: str, columns: Settings, privacy: Settings, **middle: Any) -> Settings:
    publish = middle.pop("publish", {})
    publish |= {"output": {"path": draw.one("releases", "a b", "größe"), "csv": draw.chance(0.4)}}
    dataset = draw.one("shop", "a", "A.b-c_d", "9" * 64) if draw.chance(0.3) else "shop"
    return {
        "config_version": 1,
        "job": job,
        "dataset": dataset,
        "input": {"path": "none.csv", "columns": columns} | middle.pop("input", {}),
        "privacy": {"budget": draw.budget()} | privacy,
        "publish": publish,
    } | middle


def _rows(draw: Draw, columns: Settings) -> Settings:
    """Unit, caps and neighbours of rows."""
    privacy: Settings = {"unit": draw.one("event", "order", "customer", "a b_c-d", "x" * 200)}
    draw.maybe(privacy, "noise", 0.3, "auto", "discrete_laplace", "discrete_gaussian")
    draw.maybe(privacy, "neighbors", 0.3, "add_remove", "replace_one")
    if privacy["unit"] != "event":
        columns["unit"] = "who"
        privacy["max_rows_per_unit"] = draw.one(1, 2, 7, 1000, 1_000_000)
    return privacy


def _constraints(draw: Draw, items: list[str], first: str, rows_are_packages: bool) -> list[Settings]:
    """Packages, totals and equations of items."""
    constraints: list[Settings] = []
    if rows_are_packages:
        many = draw.one(1, 2, 5, 1000, 2**31, 2**62, 10**19) if draw.chance(0.3) else draw.one(1, 2, 3)
        packages = {
            name: dict.fromkeys(draw.random.sample(items, draw.random.randint(1, len(items))), many)
            for name in draw.names(1, 3)
        }
        constraints.append({"packages": packages})
    for _ in range(draw.one(0, 0, 1, 2)):
        members = draw.random.sample(items, draw.random.randint(1, len(items)))
        total: Settings = {"totals": {draw.one("all", "sum [x]", "[/x]", "Σ", *items): members}}
        draw.maybe(total, "measured", 0.6, True, False)
        if draw.chance(0.2):
            total["from"] = first
        constraints.append(total)
    if draw.chance(0.1):
        coefficients = dict.fromkeys(items[:3], draw.one(1, -1, "1/3", 2**62, "1e30"))
        constraints.append({"equations": {"e": {"coefficients": coefficients, "value": draw.number()}}})
    return constraints


def consistent_histograms(draw: Draw) -> Settings:
    """A configuration of ``consistent-histograms``."""
    items, (first, last) = draw.names(1, 8), draw.days(400)
    columns: Settings = {"day": "day"}
    rows_are_packages = draw.chance(0.25)
    columns["package" if rows_are_packages else "item"] = "what"
    privacy = _rows(draw, columns)
    if draw.chance(0.4):
        columns["quantity"] = "many"
        privacy["max_quantity"] = draw.one(1, 2, 100, 1_000_000)
    draw.maybe(privacy, "max_rows_per_day", 0.3, 1, 3, 1_000_000)
    constraints = _constraints(draw, items, first, rows_are_packages)
    tree: Settings | str = "auto"
    if draw.chance(0.6):
        tree = draw.one(
            {"levels": "calendar"},
            {"levels": draw.one(["day"], ["month", "day"], ["year", "quarter", "month", "day"], ["week"], ["year"])},
            {"branching": draw.one(2, 3, 16, 1000, 10**12)},
            {"branching": draw.one([2], [2, 7], [30, 12], [2] * 9, [2] * 40)},
        )
        assert isinstance(tree, dict)
        draw.maybe(tree, "root", 0.4, True, False)
        draw.maybe(tree, "shares", 0.2, [1], [1, 2], [1, 1, 1], ["1e-9", 1], ["1e300", 1], [0, 1])
    solver: Settings = {}
    draw.maybe(solver, "method", 0.5, *get_args(Method))
    draw.maybe(solver, "tol", 0.2, 1e-9, 1e-300, 0.9)
    draw.maybe(solver, "max_rounds", 0.3, 1, 5, 100)
    draw.maybe(solver, "layout", 0.3, "auto", "driver", "blocks", "reference")
    settings = _frame(draw, "consistent-histograms", columns, privacy, publish={"solver": solver})
    settings |= {"domain": {"items": items, "first_day": first, "last_day": last}, "tree": tree}
    settings["constraints"] = constraints
    if draw.chance(0.4):
        settings["queries"] = draw.random.sample(
            ["day", "week", "month", "quarter", "year", "total"], draw.one(0, 1, 3, 6)
        )
    if draw.chance(0.1):
        settings["queries"] = ["day", {"range": "week", "weight": draw.one(2, "1/3", "1e-9", 10**6, 0)}]
    draw.maybe(settings, "measure", 0.4, "auto", "auto", {"shares": [1]}, {"shares": [2, 1]}, {"shares": [1, 0, "1/3"]})
    return settings


def range_histograms(draw: Draw) -> Settings:
    """A configuration of ``range-histograms``."""
    columns: Settings = {"value": "value"}
    privacy = _rows(draw, columns)
    kind, histogram = draw.one("even", "edges", "days", "categories"), Settings()
    n_bins = draw.one(1, 2, 3, 8, 17, 50, 100)
    if kind == "even":
        start, width = draw.number(), draw.one("1/3", 1, 0.1, 5, "1e-300", "1e300", "1e-9")
        histogram["edges"] = {"start": start, "stop": draw.one(n_bins, draw.number()), "width": width}
        if draw.chance(0.7):
            histogram["edges"] = {"start": 0, "stop": n_bins, "width": 1}
    elif kind == "edges":
        histogram["edges"] = draw.one(
            [0, 1, 2.5, 10], [-1e308, 0, 1e308], ["1e-300", "2e-300", 1], [0, "1e-17", 1], [0, 1]
        )
    elif kind == "days":
        first, last = draw.days(120)
        histogram["days"] = {"first": first, "last": last, "days_per_bin": draw.one(1, 2, 7, 10**6, 10**18)}
    else:
        histogram["categories"] = draw.names(1, 40)
    draw.maybe(histogram, "outside", 0.2, "drop", "clamp")
    draw.maybe(histogram, "total_is_public", 0.3, True, False)
    if draw.chance(0.5):
        columns["group"] = "site"
        histogram["groups"] = draw.names(1, 6)
    tree: Settings = {}
    methods = (
        "auto", "blue", "workload_aware", "adaptive", "lue_dptree", "boost", "boost_un", "hierarchical_bins", "dwork",
        "no",
    )  # fmt: skip
    draw.maybe(tree, "method", 0.6, *methods)
    draw.maybe(tree, "branching", 0.3, 2, 3, 16, 10**9)
    law = {"starts": draw.one([1.0] * n_bins, [0.0] * n_bins, [1e300] * n_bins), "ends": [1.0] * n_bins}
    ranges = {"ranges": draw.one([[0, 1]], [[0, n_bins]], [[0, 1], [0, 1]], [[1, 0]], [[0, 10**6]], [])}
    draw.maybe(tree, "queries", 0.4, "uniform", "prefix", {"length": draw.one(1, 2, 10**6)}, ranges, law)
    publish: Settings = {}
    draw.maybe(publish, "layout", 0.3, "auto", "driver", "blocks")
    return _frame(draw, "range-histograms", columns, privacy, histogram=histogram, tree=tree, publish=publish)


def kmeans(draw: Draw) -> Settings:
    """A configuration of ``kmeans``."""
    d = draw.one(1, 2, 2, 2, 3, 5, 12)
    columns: Settings = {"coordinates": (draw.names(d, d) if draw.chance(0.4) else [f"x{i}" for i in range(d)])}
    privacy = _rows(draw, columns)
    methods = ("auto", "grid", "quadtree", "local_search", "kvariates", "privgene", "lloyd", "sample_aggregate")
    methods += ("tree_coreset", "max_cover", "wishart", "ldp_tree", "ldp_hash_rounds", "noisy_coordinates")
    clustering: Settings = {"n_clusters": draw.one(1, 2, 3, 8, 20), "method": draw.one(*methods)}
    if clustering["method"].startswith(("ldp", "noisy")) and draw.chance(0.8):
        privacy |= {"neighbors": "local", "unit": "person", "max_rows_per_unit": 1}
        privacy["budget"] = {"epsilon": draw.one(*EPSILONS)}
        privacy.pop("noise", None)
        columns["unit"] = "who"
        oracles = ("auto", "generalized_response", "unary_encoding", "hadamard_response", "local_hashing")
        clustering["local"] = {"oracle": draw.one(*oracles), "expected_users": draw.one(1, 1000, 10**6, 10**12)}
    shape = draw.random.random()
    if shape < 0.6:
        low, high = (draw.number(), draw.number()) if draw.chance(0.3) else (0, draw.one(1, 10, "1/3", 1e6))
        clustering["bounds"] = [[low, high]] * d
    else:
        clustering["radius"] = draw.one("private", 1, 5, draw.number())
        draw.maybe(clustering, "radius_share", 0.3, "0.05", "1e-9", "0.999999")
    draw.maybe(clustering, "center", 0.3, [draw.number()] * d, [0] * d)
    draw.maybe(clustering, "scale", 0.3, "none", "bounds")
    draw.maybe(clustering, "missing", 0.2, "drop", [draw.number()] * d)
    draw.maybe(clustering, "seed", 0.2, 0, 7, 2**63 - 1)
    publish: Settings = {}
    draw.maybe(publish, "picture", 0.2, {"x": 0, "y": d - 1}, {"x": columns["coordinates"][0], "y": 0}, {"x": 99})
    return _frame(draw, "kmeans", columns, privacy, clustering=clustering, publish=publish)


def _vertices(draw: Draw, most: int) -> Any:
    if draw.chance(0.4):
        return draw.names(2, min(most, 50))
    return {"count": draw.one(0, 1, 2, 3, 4, 8, most)} | (
        {"first": draw.one(1, 10**6, 2**60)} if draw.chance(0.3) else {}
    )


def network_statistics(draw: Draw) -> Settings:
    """A configuration of ``network-statistics``."""
    privacy: Settings = {}
    draw.maybe(privacy, "unit", 0.3, "friendship", "edge", "a b")
    draw.maybe(privacy, "neighbors", 0.4, "edge", "vertex")
    draw.maybe(privacy, "noise", 0.3, "auto", "discrete_laplace", "discrete_gaussian")
    draw.maybe(privacy, "model", 0.25, "central", "local")
    known = ["edge_count", "largest_degree", "degree_histogram", "cumulative_histogram", "sorted_degrees", "k_stars"]
    known += ["triangles", "adjacency", "degree_sequence"]
    asked = draw.random.sample(known, draw.one(1, 1, 2, 3, 6))
    vertices = _vertices(draw, 300)
    graph: Settings = {"vertices": vertices, "statistics": {name: draw.share() for name in asked}}
    draw.maybe(graph, "last_bin", 0.3, 1, 2, 10, 10**6)
    if draw.chance(0.4):
        bound: Settings = {"bounding": draw.one("none", "promised", "projected", "top_edges")}
        draw.maybe(bound, "largest", 0.8, 1, 2, 5, 100, 10**12)
        graph["degree_bound"] = bound
    draw.maybe(graph, "stars", 0.3, 2, 3, 20)
    draw.maybe(graph, "star_mechanism", 0.3, "auto", "ladder", "global")
    if draw.chance(0.4):
        graph["triangles"] = {
            "mechanism": draw.one("auto", "ladder", "smooth", "global"),
            "rungs": draw.one("second_degree", "common_neighbors", "exact"),
        }
    named = vertices if isinstance(vertices, list) else list(range(vertices["count"]))[:6]
    if draw.chance(0.3):
        adjacency: Settings = {"threshold": draw.one("match_edges", 1, 5, 10**9), "steps": draw.one(1, 64, 4096)}
        if named and draw.chance(0.5):
            adjacency["blocks"] = {draw.one("a", "[/x]", "日本"): named[: draw.one(1, 2, 3)], "b": named[3:5]}
        graph["adjacency"] = adjacency
    if named and draw.chance(0.2):
        graph["split"] = {
            "candidates": {
                "one": {"left": named[:1], "right": named[1:]},
                "[/two]": {"left": named[:2], "right": named[2:]},
            },
            "resolution": draw.one(0, 1, "1/3", "1e9"),
        }
        graph["statistics"]["split"] = 1
    if named and draw.chance(0.2):
        graph["coverage"] = {"candidates": {"one": named[:2], "two": named[1:4]}}
        graph["statistics"]["coverage"] = 1
    counting: Settings = {}
    draw.maybe(counting, "layout", 0.2, "auto", "driver", "spark")
    columns = {"source": "one", "target": "other"}
    if privacy.get("model") == "local" and draw.chance(0.4):
        columns = {"vertex": "who", draw.one("degree", "bits"): "told"}
    return _frame(draw, "network-statistics", columns, privacy, graph=graph, counting=counting)


def minimum_cuts(draw: Draw) -> Settings:
    """A configuration of ``minimum-cuts``."""
    privacy: Settings = {"weight_cap": draw.one(1, 2, 1000, 10**9)}
    draw.maybe(privacy, "unit", 0.3, "contact", "edge")
    draw.maybe(privacy, "noise", 0.3, "auto", "discrete_laplace", "discrete_gaussian")
    k = draw.one(1, 2, 10, 100, 10_000)
    asked: Settings = {
        "minimum_cut_value": {},
        "synthetic_graph": {},
        "top_cuts": {
            "k": k,
            "method": draw.one("peeling", "oneshot"),
            "values_share": draw.one("1/2", 0, "0.999", "1e-9"),
        },
        "sampled_cuts": {"k": k, "when_small": draw.one("refuse", "pad"), "values_share": draw.one("1/2", 0, "0.9")},
        "minimum_cut_count": {},
        "soft_cut_count": {"eta": draw.one(1, "1/3", "1e-9", "1e9", 100)},
    }
    chosen = draw.random.sample(list(asked), draw.one(1, 1, 2, 3))
    releases = {name: asked[name] | {"share": draw.share()} for name in chosen}
    if "sampled_cuts" in releases and draw.chance(0.8):
        privacy["budget"] = {"epsilon": draw.one(0.5, 1, 2, 14), "delta": draw.one(*DELTAS)}
    cuts: Settings = {"releases": releases}
    draw.maybe(cuts, "method", 0.3, "auto", "packing", "karger", "karger-stein")
    draw.maybe(cuts, "failure", 0.2, "1e-12", "1e-300", "0.5")
    graph: Settings = {"vertices": _vertices(draw, draw.one(12, 16, 30, 60))}
    weights: Settings = {"capped": draw.one("row", "pair", "promised")} if draw.chance(0.3) else {}
    draw.maybe(weights, "largest", 0.4, 1, 9, 10**9)
    draw.maybe(weights, "repeats", 0.3, "sum", "once")
    graph["weights"] = weights
    publish: Settings = {}
    draw.maybe(publish, "factor", 0.2, 1, "11/10", 2, "1e9")
    draw.maybe(publish, "most_cuts", 0.2, 1, 10, 100_000)
    columns = {"source": "one", "target": "other"} | ({"weight": "times"} if draw.chance(0.6) else {})
    return _frame(draw, "minimum-cuts", columns, privacy, graph=graph, cuts=cuts, publish=publish)


def key_selection(draw: Draw) -> Settings:
    """A configuration of ``key-selection``; not among `JOBS`, whose numbers say which faults were found."""
    columns: Settings = {"keys": ["word", "shop"]} if draw.chance(0.3) else {"key": "word"}
    privacy: Settings = {"unit": draw.one("event", "customer", "a b_c-d")}
    privacy["budget"] = {
        draw.one("epsilon", "epsilon", "rho"): draw.one("1e-9", "0.1", 1, 14),
        "delta": draw.one(*DELTAS),
    }
    if privacy["unit"] != "event":
        columns["unit"] = "who"
        privacy["max_keys_per_unit"] = draw.one(1, 2, 10)
    selection: Settings = {}
    draw.maybe(selection, "mechanism", 0.7, "auto", "table", "truncated_geometric", "gaussian", "laplace")
    draw.maybe(selection, "rounds", 0.2, 1, 3)
    draw.maybe(selection, "even", 0.2, True, False)
    draw.maybe(selection, "max_keys", 0.3, 1, 1_000_000)
    return _frame(draw, "key-selection", columns, privacy, selection=selection)


JOBS: tuple[Callable[[Draw], Settings], ...] = (
    consistent_histograms, range_histograms, kmeans, network_statistics, minimum_cuts,
)  # fmt: skip


def _with_quality(draw: Draw, settings: Settings) -> None:
    """A share for the quality of the input, mostly one that is allowed."""
    privacy = settings["privacy"]
    nobody_counts = "local" in (privacy.get("neighbors"), privacy.get("model")) or privacy.get("neighbors") == "vertex"
    if ("delta" in privacy["budget"] or nobody_counts) and draw.chance(0.9):
        return
    privacy["quality_share"] = draw.one("0.02", "0.02", "1/3", "1e-6", "0.5", 0)
    if privacy.get("unit", "event") != "event" and "max_rows_per_unit" in privacy:
        draw.maybe(privacy, "quality_rows", 0.4, 1, 3, 1000)


def _enlarge(draw: Draw, settings: Settings) -> None:
    """Far more days, items, bins, groups or vertices than a trial of the whole could take."""
    if settings["job"] == "consistent-histograms":
        domain, many = settings["domain"], draw.one(60, 600)
        domain["items"] = [*domain["items"], *(f"item {number}" for number in range(many))]
        if draw.chance(0.5):
            domain["first_day"], domain["last_day"] = draw.one(
                ("2000-01-01", "2029-12-31"), ("0001-01-01", "0030-12-31"), ("9960-01-01", "9999-12-31")
            )
        if draw.chance(0.3):
            members = draw.random.sample(domain["items"], many // 2)
            settings["constraints"].append({"totals": {"half of all": members}, "measured": draw.chance(0.5)})
    elif settings["job"] == "range-histograms":
        histogram = settings["histogram"]
        if "groups" in histogram:
            histogram["groups"] = [*histogram["groups"], *(f"group {n}" for n in range(draw.one(50, 20_000)))]
        if "categories" in histogram:
            histogram["categories"] = [*histogram["categories"], *(f"category {n}" for n in range(500))]
        elif "edges" in histogram:
            histogram["edges"] = draw.one(
                {"start": 0, "stop": 30_000, "width": 1}, {"start": "-1e300", "stop": "1e300", "width": "1e297"}
            )
    elif settings["job"] == "kmeans":
        settings["clustering"]["n_clusters"] = draw.one(50, 200)
    else:
        vertices, many = settings["graph"]["vertices"], draw.one(1_000, 2_000, 100_000, 10**7)
        if isinstance(vertices, list):
            settings["graph"]["vertices"] = [*vertices, *(f"vertex {number}" for number in range(2_000))]
        else:
            vertices["count"] = many


def configuration(number: int) -> Settings:
    """The drawn configuration of a number; the jobs take turns."""
    settings = JOBS[number % len(JOBS)](Draw(number))
    if number // len(JOBS) % 4 == 0:  # the other rounds stay: faults were found in them
        more = Draw(number + 1)
        if more.chance(0.6):
            _with_quality(more, settings)
        if more.chance(0.5):
            _enlarge(more, settings)
    return settings
