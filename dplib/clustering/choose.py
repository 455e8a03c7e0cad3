"""Which method runs, by name or by rule.

`plan_method` decides from settings alone and says why.

The rule, from point sets that no published figure uses (`scripts/experiments/kmeans_rules.py`; the guide's page kmeans
shows the outcome): up to 3 dimensions the noisy grid; from 4 dimensions on `tree_coreset` where a delta (or rho) is
given, else `local_search`. (Before the grid dropped cells that do not stand out from the noise, format 1, ``auto`` took
the quadtree from ``n~ epsilon / k`` of `QUADTREE_FROM` on; stored measurements are still read so.)

References:
    Su, Cao, Li, Bertino, Jin: Differentially private k-means clustering. CODASPY 2016 (grids win in few dimensions).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dplib.clustering.central.grid import COUNT_SHARE, grid, measure_count
from dplib.clustering.central.kvariates import kvariates
from dplib.clustering.central.lloyd import lloyd_gaussian, lloyd_laplace
from dplib.clustering.central.local_search import local_search
from dplib.clustering.central.max_cover import MAX_DIMENSION as MAX_COVERED
from dplib.clustering.central.max_cover import max_cover
from dplib.clustering.central.privgene import privgene
from dplib.clustering.central.quadtree import MAX_DIMENSION as MAX_CUBED
from dplib.clustering.central.quadtree import quadtree
from dplib.clustering.central.sample_aggregate import sample_aggregate
from dplib.clustering.central.tree_coreset import tree_coreset
from dplib.clustering.problem import Clustering, Method, Problem
from dplib.clustering.rejected_methods import refuse
from dplib.clustering.source import NoiseSource, PointSource
from dplib.privacy.budget import ZCDP, Budget, PureDP, rho_of
from dplib.privacy.noise import Law
from dplib.privacy.rounding import sqrt_below
from dplib.validate import one_of, require

_BY_NAME: Mapping[str, Method] = {
    "grid": grid,
    "quadtree": quadtree,
    "tree_coreset": tree_coreset,
    "local_search": local_search,
    "max_cover": max_cover,
    "kvariates": kvariates,
    "privgene": privgene,
}
METHODS = (
    "grid",
    "quadtree",
    "tree_coreset",
    "lloyd",
    "local_search",
    "max_cover",
    "sample_aggregate",
    "kvariates",
    "privgene",
)
FEW_DIMENSIONS = 3
QUADTREE_FROM = 4.0
"""In n epsilon / k, of format 1."""
_MAX = {"grid": 20, "quadtree": MAX_CUBED, "max_cover": MAX_COVERED}


@dataclass(frozen=True)
class Plan:
    """What will run.

    Attributes:
        method: one of `METHODS`, or ``grid or quadtree`` where a noisy number of points decides.
        noise: Laplace for a pure epsilon, Gaussian for rho.
        reason: why, in words.
        amount: epsilon or rho that it spends.
    """

    method: str
    noise: Law
    reason: str
    amount: Fraction


def plan_method(problem: Problem, budget: Budget, method: str = "auto", noise: Law | None = None) -> Plan:
    """Decide from settings alone; the method's own law where ``noise`` is None, a choice for two methods only.

    Raises:
        ConfigError: if the method is unknown, refused, needs another budget, or does not go with the dimension.
    """
    refuse(method)
    one_of("method", method, ("auto", *METHODS))
    d, pure = problem.space.dimension, isinstance(budget, PureDP)
    if method == "auto":
        require(noise is None, "noise", "be auto where the method is auto", noise)
        return _automatic(d, pure, budget, problem.format)
    limit = _MAX.get(method, d)
    require(d <= limit, "dimension", f"be at most {limit} for {method} (use tree_coreset)", d)
    law = _law(method, noise, d, pure)
    return Plan(method, law, "the settings name it", _amount(budget, law))


def run_plan(source: PointSource, noise: NoiseSource, problem: Problem, plan: Plan) -> Clustering:
    """Run what `plan_method` decided."""
    match plan.method:
        case "grid or quadtree":  # what `auto` took in format 1
            return _grid_or_quadtree(source, noise, problem, plan.amount)
        case "lloyd":
            lloyd = lloyd_laplace if plan.noise is Law.LAPLACE else lloyd_gaussian
            return lloyd(source, noise, problem, plan.amount)
        case "sample_aggregate":
            gaussian = plan.noise is Law.GAUSSIAN
            few = problem.space.dimension <= FEW_DIMENSIONS
            start = tree_coreset if gaussian else (grid if few else local_search)
            return sample_aggregate(source, noise, problem, plan.amount, start, gaussian)
        case _:
            return _BY_NAME[plan.method](source, noise, problem, plan.amount)


def _automatic(d: int, pure: bool, budget: Budget, rules: int) -> Plan:
    if d <= FEW_DIMENSIONS:
        name, law = ("grid" if rules > 1 else "grid or quadtree"), Law.LAPLACE
        reason = f"{d} dimensions: a noisy grid; adaptive unless the noisy number of points says that there are too few"
        if rules > 1:
            plural = "s" if d > 1 else ""
            reason = f"{d} dimension{plural}: a noisy grid, of which the cells are kept that stand out from noise"
    elif pure:
        name, law = "local_search", Law.LAPLACE
        reason = f"{d} dimensions and a pure epsilon: exchanges on private candidates; a delta would allow tree_coreset"
    else:
        name, law = "tree_coreset", Law.GAUSSIAN
        reason = f"{d} dimensions and a delta: coreset of a hashing tree, refined by Gaussian rounds"
    return Plan(name, law, reason, _amount(budget, law))


def _law(method: str, noise: Law | None, d: int, pure: bool) -> Law:
    if method in ("lloyd", "sample_aggregate"):
        law = noise or (Law.LAPLACE if pure or d <= FEW_DIMENSIONS else Law.GAUSSIAN)
    else:
        law = Law.GAUSSIAN if method in ("tree_coreset", "max_cover") else Law.LAPLACE
        require(noise in (None, law), "noise", f"be auto or {law} for {method}", noise)
    rule = f"have a delta or be a rho for {method} with Gaussian noise"
    require(law is Law.LAPLACE or not pure, "budget", rule, "a pure epsilon")
    return law


def _amount(budget: Budget, law: Law) -> Fraction:
    """Epsilon of a pure method or rho of a Gaussian one that a budget pays."""
    if law is Law.GAUSSIAN:
        assert not isinstance(budget, PureDP)
        return rho_of(budget)
    if isinstance(budget, ZCDP):
        # Pure epsilon costs epsilon^2 / 2 of rho.
        return sqrt_below(2 * budget.rho, 12)
    return budget.epsilon


def _grid_or_quadtree(source: PointSource, noise: NoiseSource, problem: Problem, epsilon: Fraction) -> Clustering:
    n, counted = measure_count(source, noise, problem, epsilon * COUNT_SHARE)
    rest = epsilon * (1 - COUNT_SHARE)
    if n * float(rest) / problem.rows / problem.n_clusters >= QUADTREE_FROM:
        return quadtree(source, noise, problem, epsilon, counted=(n, counted))
    return grid(source, noise, problem, epsilon, counted=(n, counted))
