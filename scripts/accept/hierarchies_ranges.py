"""Acceptance of range histograms whose groups add up: dense oracle, shares against a search, errors against noise."""

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from dplib.config.load import check as checked
from dplib.config.load import read_yaml
from dplib.config.measure import Measure
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors, estimate_sums
from dplib.jobs.range_histograms.kinds import errors_by_kind, kind_errors
from dplib.jobs.range_histograms.measure import noisy_block
from dplib.workflow.kind_errors import mean_error
from scripts.accept.claims import Check, Result, at_least, at_most
from scripts.accept.runs import ROOT
from tests.support.dense_ranges import DenseRanges

BUDGETS: tuple[dict[str, Any], ...] = ({"rho": "1/2"}, {"epsilon": 1}, {"epsilon": 4})
GROUPINGS: dict[str, list[list[str]]] = {"nested": [["region"], []], "crossing": [["region"], ["kind"], []]}
QUERIES: list[Any] = ["bin", {"range": {"length": 7}, "weight": 2}, "total"]
COPIES = 400


def design_of(folder: Path, n_groups: int, n_bins: int, groupings: list[list[str]], **more: Any) -> Design:
    """Shops in three regions and four kinds."""
    lines = [f"s{n:03},r{n * 3 // n_groups},k{n % 4}" for n in range(n_groups)]
    (folder / "shops.csv").write_text("\n".join(["shop,region,kind", *lines]), encoding="utf-8")
    groups = {"file": "shops.csv", "columns": ["shop"], "attributes": ["region", "kind"]}
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "shops",
        "input": {"path": "none", "columns": {"value": "v", "group": "g", "unit": "u"}},
        "histogram": {
            "edges": {"start": 0, "stop": n_bins, "width": 1},
            "groups": groups,
            "groupings": groupings,
        },
        "queries": QUERIES,
        "measure": "auto",
    }
    return Design.resolve(checked(RangeHistogramsConfig, settings | more), folder)


def _cases(n_groups: int, n_bins: int) -> Iterator[tuple[str, Design]]:
    with tempfile.TemporaryDirectory() as name:
        for (case, groupings), budget in product(GROUPINGS.items(), BUDGETS):
            privacy = {"unit": "buyer", "max_rows_per_unit": 2, "budget": budget}
            yield f"{case} groupings, {budget}", design_of(Path(name), n_groups, n_bins, groupings, privacy=privacy)


def oracle() -> Iterator[Result]:
    """Every stated error of histograms, of sums of groups and of ranges, against dense least squares."""
    for case, made in _cases(8, 20):
        dense, errors, tree = DenseRanges(made), Errors(made), made.strategy.tree
        every, worst = np.arange(len(made.series)), 0.0
        sums = [*every[:, None], every[:3], every[[0, 5]], every[:8], every[[1, -1]]]
        for lo, hi in [*zip(tree.lo.tolist(), tree.hi.tolist(), strict=True), (0, 7), (3, 17), (6, 20)]:
            worst = max(worst, *(abs(errors.sum_std_error(lo, hi, own) / dense.error(lo, hi, own) - 1) for own in sums))
        noisy = np.random.default_rng(3).normal(50, 20, (len(made.series), tree.n_nodes))
        gap = np.abs(estimate_sums(made, noisy).estimates - dense.estimates(noisy)).max()
        yield at_most(f"range histograms, {case}: stated errors against the dense oracle", worst, 1e-9)
        yield at_most(f"range histograms, {case}: estimates against the dense oracle", float(gap), 1e-9)


def shares() -> Iterator[Result]:
    """Shares of levels and of kinds of histograms found by `auto` beside the best product of a numeric search."""
    for case, made in _cases(12, 60):
        assert made.sums is not None
        kinds, weights = len(made.sums.names), np.array([float(each.weight) for each in made.config.questions])

        def value(given: Design, kinds: int = kinds, weights: np.ndarray = weights) -> float:
            return float(np.average(np.log(errors_by_kind(given, kinds)).mean(axis=1), weights=weights))

        def at(logarithms: np.ndarray, made: Design = made) -> float:
            whole = np.exp(logarithms - logarithms.max())
            parts = [round(1000 * float(part)) for part in whole / whole.sum()]
            parts[0] = max(parts[0], 1)
            return value(Design.of(made.config, made.strategy, Measure(shares=parts)))

        starts = [np.array([0.0, *rest]) for rest in product((0.0, -9.0), repeat=kinds - 1)]
        best = min(
            scipy.optimize.minimize(
                at, start, method="Nelder-Mead", options={"maxfev": 160, "xatol": 1e-2, "fatol": 1e-5}
            ).fun
            for start in starts
        )
        claim = f"range histograms, {case}: geometric mean of errors over the best product"
        yield at_most(claim, float(np.exp(value(made) - best)), 1.02)


def coverage() -> Iterator[Result]:
    """Estimates from drawn noise, many times: how often intervals hold the truth, and how large errors are."""
    for case, made in _cases(8, 20):
        true = made.with_totals(np.zeros((8, 20), dtype=np.int64))
        errors, ranges = Errors(made), [(0, 20), (2, 9), (4, 5)]
        sums = [np.array([0]), np.array([len(made.series) - 1]), np.arange(3)]
        met = np.zeros((COPIES, len(sums), len(ranges)))
        for copy in range(COPIES):
            key = copy.to_bytes(32, "big")
            noisy = np.concatenate(
                [
                    np.stack([each.noisy for each in noisy_block(made, block, true[slice(*bounds)], key)])
                    for block, bounds in enumerate(zip(made.group_bounds[:-1], made.group_bounds[1:], strict=True))
                ]
            )
            leaves = made.plan.values(noisy.T.astype(np.float64))[made.strategy.tree.leaf_nodes]
            met[copy] = [[leaves[lo:hi, own].sum() for lo, hi in ranges] for own in sums]
        stated = np.array([[errors.sum_std_error(lo, hi, own) for lo, hi in ranges] for own in sums])
        halves = np.array([[errors.sum_half_width(lo, hi, own) for lo, hi in ranges] for own in sums])
        # A whole number on its bound is inside, however both were rounded.
        held = float((np.abs(met) <= halves + 1e-9).mean())
        ratio = float(np.sqrt((met**2 / stated**2).mean()))
        yield Result(f"{case}: 95 % intervals hold the truth", "93 to 98 %", f"{100 * held:.1f} %", 0.93 < held < 0.98)
        yield Result(f"{case}: met over stated errors", "0.93 to 1.07", f"{ratio:.3f}", 0.93 < ratio < 1.07)


def example() -> Iterator[Result]:
    """The shipped example is better than with shops alone."""
    made = Design.resolve(checked(RangeHistogramsConfig, read_yaml(ROOT / "conf/bakery_days.yaml")), ROOT / "conf")
    kinds, _ = kind_errors(made)
    claim = "bakery_days: geometric mean of errors, shops alone over this example"
    yield at_least(claim, mean_error(kinds, "items_only") / mean_error(kinds), 1.1, "x")


CHECKS: tuple[Check, ...] = (oracle, shares, coverage, example)
