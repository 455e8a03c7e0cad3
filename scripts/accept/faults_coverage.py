"""How often stated 95 % intervals hold the truth, in every job.

Noise comes from the exact samplers and goes through the jobs' own estimators; nothing starts Spark.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.jobs.consistent_histograms import errors as consistent
from dplib.jobs.consistent_histograms.estimate import estimate
from dplib.jobs.minimum_cuts.cut_margin import number_margin
from dplib.jobs.network_statistics.estimate import half_width, std_error
from dplib.jobs.range_histograms import estimate as ranges
from dplib.mechanisms.cuts.cut_statistics import GRID
from dplib.privacy.noise_quantile import DrawLaw
from scripts.accept.claims import Check, Result, at_least, at_most
from tests.statistical.test_coverage_of_graphs import CUTS
from tests.statistical.test_coverage_of_histograms import CASES, N_KEYS, range_design, range_noise, shop
from tests.support.clustering_coverage import cases, coverage
from tests.support.coverage_of_intervals import HIGHEST, LOWEST, covered, drawn
from tests.support.minimum_cuts import design_of as cut_design
from tests.support.network_statistics import design_of as network_design

NARROW = 20.0
"""From this standard error on the steps of whole numbers no longer widen an interval."""
BUDGETS: tuple[dict[str, Any], ...] = ({"epsilon": 1}, {"epsilon": "1/20"}, {"rho": "1/2"})
RUNS = 1500
LAPLACE, GAUSSIAN = (Fraction(1, 2), Fraction(2)), (Fraction(1, 50), Fraction(3, 10))
CLUSTERS = (
    *((method, 2, LAPLACE, 5) for method in ("grid", "quadtree", "lloyd_laplace", "local_search")),
    *((method, 2, GAUSSIAN, 5) for method in ("lloyd_gaussian", "max_cover")),
    # The coreset states a loss where all counts are far above their noise: in few runs of few coordinates.
    ("tree_coreset", 2, GAUSSIAN, 20),
    ("lloyd_laplace", 12, LAPLACE, 5),
    ("tree_coreset", 12, GAUSSIAN, 5),
)
"""Method, most coordinates, budgets, keys of each set."""


def held(job: str, answers: Sequence[tuple[npt.NDArray[np.floating], float]]) -> Iterator[Result]:
    """The least coverage of all intervals, and the most where steps are narrow.

    Args:
        job: for the claim.
        answers: errors of an answer under many keys, and its stated half width.
    """
    found = [(covered(errors, half), float(errors.std())) for errors, half in answers]
    what = f"{job}: {len(found)} stated 95 % intervals over {N_KEYS:,} draws"
    yield at_least(f"{what}, the least covered", min(part for part, _ in found), LOWEST)
    narrow = [part for part, error in found if error >= NARROW]
    if narrow:
        yield at_most(f"{what}, the most covered where steps are narrow", max(narrow), HIGHEST)


def coverage_of_ranges() -> Iterator[Result]:
    """Ranges of `range-histograms`, in both laws and several trees."""
    answers = []
    for method, n_bins in (("dwork", 30), ("blue", 60), ("lue_dptree", 40)):
        for budget in BUDGETS:
            design = range_design(method, n_bins, budget)
            tree, errors = design.strategy.tree, ranges.Errors(design)
            values = tree_blue_deep(tree, range_noise(design), design.variance[:, None])[tree.leaf_nodes]
            for lo, hi in ((0, 1), (1, 4), (0, n_bins)):
                half = errors.half_widths(np.array([lo]), np.array([hi]))[0]
                answers.append((values[lo:hi].sum(axis=0), float(half)))
    yield from held("range-histograms", answers)


def coverage_of_days() -> Iterator[Result]:
    """Days, months and all days of items and totals of `consistent-histograms`, by its own solvers."""
    found = []
    for case in ("none", "measured", "changing", "packages"):
        domain = {"items": ["a", "b", "c", "d"], "first_day": "2024-01-01", "last_day": "2024-01-20"}
        design = shop(CASES[case], {"epsilon": "1/4"}, domain=domain, tree={"branching": [4, 5]})
        errors, shape = consistent.Errors(design), (design.tree.n_nodes, len(design.series))
        noise = np.zeros((RUNS, *shape))
        for level, each in enumerate(design.measurements):
            if each is not None:
                nodes = design.tree.level_slice(level)
                size = RUNS * (nodes.stop - nodes.start) * shape[1]
                noise[:, nodes] = drawn(DrawLaw.of(each.noise), size, case, level).reshape(RUNS, -1, shape[1])
        solver = design.config.publish.solver
        days = np.stack([estimate(design, each, solver).values for each in noise])
        days = days[:, design.tree.leaf_nodes]
        for number in range(shape[1]):
            for lo, hi in ((0, 20), (5, 6), (2, 9)):
                half = float(errors.half_widths(lo, hi, np.array([number]))[0])
                found.append(covered(days[:, lo:hi, number].sum(axis=1), half))
    what = f"consistent-histograms: {len(found)} stated 95 % intervals, {RUNS:,} keys each, solved key by key"
    mean = float(np.mean(found))
    yield Result(f"{what}, mean", f"{LOWEST:g} to {HIGHEST:g}", f"{mean:.4f}", LOWEST <= mean <= HIGHEST)
    # 1,500 keys scatter by 0.56 %: four of these beside the half percent.
    yield at_least(f"{what}, the least covered", min(found), LOWEST - 0.0225)


def coverage_of_graphs() -> Iterator[Result]:
    """Numbers and runs of degrees of `network-statistics`, numbers and cuts of `minimum-cuts`."""
    numbers, cuts = [], []
    for budget in BUDGETS:
        design = network_design(("edge_count", "largest_degree", "degree_histogram"), budget, last_bin=30)
        for each in design.measurements:
            assert each.noise is not None
            law = DrawLaw.of(each.noise)
            noise = drawn(law, each.size * N_KEYS, str(each.statistic)).reshape(each.size, N_KEYS)
            found = noise - noise.mean(axis=0) if each.size > 1 else noise
            for bins in (1, 3) if each.size > 1 else (1,):
                error = std_error(design, each.statistic, bins)
                numbers.append((found[:bins].sum(axis=0), half_width(design, each.statistic, error, bins)))
        made = cut_design(dict(CUTS), budget)
        for part in made.measurements:
            assert part.noise is not None
            noise = drawn(DrawLaw.of(part.noise), N_KEYS, part.release)
            unit = GRID if part.release == "soft_cut_count" else 1
            cuts.append((noise / unit, number_margin(made, part.release)))
    yield from held("network-statistics", numbers)
    yield from held("minimum-cuts", cuts)


def coverage_of_clusters() -> Iterator[Result]:
    """Centers, weights and losses of `kmeans` over unequal, even and tight sets, two budgets and five keys or more."""
    for method, dimension, budgets, n_keys in CLUSTERS:
        for name, (inside, of) in coverage(method, cases(dimension), budgets, n_keys).items():
            if of < 20:
                continue
            share, room = inside / of, 1.5 * (0.05 * 0.95 / of) ** 0.5
            least, most = 0.92 - room, 1.0 if name == "loss" else min(0.99 + room, 1.0)
            claim = f"{method}, {'2' if dimension == 2 else '5 and 12'} coordinates: intervals of {name} that hold"
            yield Result(f"{claim}, of {of:,}", f"{least:.3f} to {most:.3f}", f"{share:.3f}", least <= share <= most)


CHECKS: tuple[Check, ...] = (coverage_of_ranges, coverage_of_days, coverage_of_graphs, coverage_of_clusters)
