"""Algorithms for private k-means that are not offered, by name, with the reason and what to use instead.

They are those of the survey by Yuan, Xu and Zhang (Operations Research Transactions 26(3), 2022) that have no method of
their own here, and variants of offered methods whose privacy or use does not hold up. The guide's page ``kmeans`` says
of every algorithm of the survey what became of it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from dplib.errors import ConfigError

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "ghazi_2020": (
            "its steps (densest balls over a net, a private coreset of k^O(1/alpha^2) points) take a time that no"
            " computer has, and no program of it is published. Use tree_coreset, its practical relative"
        ),
        "feldman_2009": (
            "the error of its coreset grows exponentially with the number of coordinates, as the authors say later. Use"
            " grid or quadtree in few dimensions, tree_coreset in many"
        ),
        "feldman_2017": (
            "it looks for small balls one after the other, each with passes and a share of the budget of its own. Use"
            " tree_coreset, which gets all balls from one noisy tree"
        ),
        "huang_liu_2018": (
            "what it promises holds for well separated data, which cannot be checked for free, or in few dimensions for"
            " a search by exchanges. Use tree_coreset, or local_search for such a search"
        ),
        "wang_2015": "it finds subspaces, not centers: another problem. Use tree_coreset for centers",
        "noisy_average": (
            "the noisy mean of Nissim, Stemmer and Vadhan gives none where a noisy count is small, so the number of"
            " centers would change. Use max_cover, where such a center stays in its public place"
        ),
        "kvariates_paper": (
            "its noise, about R / (epsilon + ln n), is private only for data of small spread and monotonicity, which is"
            " a property of the private data. Use kvariates, calibrated to the worst case"
        ),
        "local_search_survey": (
            "T = 100 k log(n / beta) exchanges leave each next to no budget, the true n decides T, and the candidates"
            " are taken as public. Use local_search: T = min(k, 20), private candidates"
        ),
        "gupt": (
            "centers of blocks have no common order, so averaging them (or sorting them by one coordinate) gives none"
            " of them. Use sample_aggregate, where all blocks start from the same private centers"
        ),
        "lloyd_until_convergence": (
            "a number of rounds that depends on convergence is a release by itself, and the budget of a round would"
            " depend on it. Use lloyd, whose rounds follow from settings and a noisy number of points"
        ),
        "nissim_stemmer_2018": (
            "its error in the local model grows with n^(2/3), and that of its successors with about the root of n. Use"
            " ldp_tree or ldp_hash_rounds in the local model, tree_coreset in the central one"
        ),
        "kaplan_stemmer_2018": (
            "its error in the local model grows with n^(2/3), and that of its successors with about the root of n. Use"
            " ldp_tree or ldp_hash_rounds in the local model, tree_coreset in the central one"
        ),
    }
)
"""Names of algorithms that are not offered, and why."""


def refuse(method: str) -> None:
    """Refuse a method that is known and not offered.

    Raises:
        ConfigError: with the reason.
    """
    if method in REFUSED:
        raise ConfigError("method", "be one that is offered", f"{method}: {REFUSED[method]}")
