"""What runs, what it does and why, in words; the choice itself is `dplib.clustering.choose`."""

from dataclasses import replace

from dplib.clustering.choose import QUADTREE_FROM, run_plan
from dplib.clustering.problem import Clustering
from dplib.clustering.source import NoiseSource, PointSource
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.radius import ResolvedSpace

_WHAT = {
    "grid or quadtree": "a noisy quadtree, or a uniform noisy grid where n epsilon / k is below "
    f"{QUADTREE_FROM:g} by a noisy number of points n",
    "grid": "a noisy histogram over a uniform grid, sized by a noisy number of points, and k-means of the cells that "
    "stand out from the noise",
    "quadtree": "noisy counts of cells that are cut up where points are, and k-means of the cells",
    "local_search": "exchanges of centers among private candidates by the exponential mechanism (Balcan et al. 2017)",
    "tree_coreset": "noisy counts and means of a hashing tree's leaves, k-means of them, then noisy Lloyd rounds",
    "lloyd": "Lloyd's iterations on noisy counts and sums from a public start (DPLloyd, Su et al. 2016)",
    "kvariates": "k-means++ whose draws are hidden by noise for the worst case (Nock et al. 2016)",
    "max_cover": "balls that cover the most points, drawn by the exponential mechanism (Nguyen et al. 2021)",
    "sample_aggregate": "k-means in many blocks of rows from a private common start, averaged with noise",
    "privgene": "genetic search by the exponential mechanism (Zhang et al. 2013)",
    "ldp_tree": "one randomized report a user about the cell of their point at one level of a tree (Chang et al. 2021)",
    "ldp_hash_rounds": "randomized reports about hashed cells, then about the nearest candidates, in four rounds "
    "(Stemmer 2020)",
    "noisy_coordinates": "noise on every user's own coordinates, and k-means of the noisy points",
}
WARNINGS = {
    "lloyd": "Its start knows nothing of the points: in many dimensions it stays in poor local optima.",
    "kvariates": "Its noise is as wide as the space unless epsilon is above 2 k: about as good as random centers.",
    "sample_aggregate": "It is for comparison; its error is far above that of the default method.",
    "privgene": "It is for comparison; slow, and its error is several times that of the default method.",
    "max_cover": "It is for comparison; the grid has less error.",
    "noisy_coordinates": "It is for comparison: k-means parts the noise, and more users do not help.",
}
"""What to know before taking a named method."""


def cluster_points(design: Design, resolved: ResolvedSpace, source: PointSource, noise: NoiseSource) -> Clustering:
    """Cluster by the design's central method.

    Args:
        design: the design, not of the local model.
        resolved: its bounds, found.
        source: the points; none where the noise replays stored numbers.
        noise: exact noise.
    """
    found = run_plan(source, noise, replace(design.problem, space=resolved.frame.space), resolved.plan)
    return replace(
        found, events=(*resolved.events, *found.events), choices=dict(resolved.choices) | dict(found.choices)
    )


def method_text(method: str) -> str:
    """What a method does, in a phrase."""
    return _WHAT[method]


def reason_text(design: Design) -> str:
    """Why this method, in a sentence."""
    if design.config.clustering.method != "auto":
        return f"The settings name the method {design.method}."
    if design.central is None:
        if design.collection.projected:
            return "In the local model it is the one above 6 coordinates whose error falls with the number of users."
        return "In the local model it needs one round and has the least error of those that are offered."
    reason = design.central.reason
    return f"{reason[0].upper()}{reason[1:]}."


def weights_text(method: str) -> str:
    """Why a method states no errors of its weights, or no weights, in a sentence."""
    if method == "noisy_coordinates":
        return "A weight is a number of noisy points; how many true ones it stands for depends on where these are."
    if method in ("ldp_tree", "ldp_hash_rounds"):
        return "A weight is a number of reports from cubes; how many of their points lie nearest is not told by noise."
    if method in ("kvariates", "privgene"):
        return f"The method {method} measures no number of points, so that there are no weights and no errors."
    if method == "sample_aggregate":
        return "Weights are those of the start, whose centers are not the released ones."
    if method in ("grid", "quadtree"):
        return "Where the middle of no cell is nearest to a center, nothing tells how many points are."
    return f"The method {method} states none."


def errors_text(clustering: Clustering) -> str:
    """What the stated errors are errors of, in sentences."""
    match clustering.method:
        case "grid" | "quadtree":
            return (
                "Errors are of the mean and the number of the points that are nearest to the released center. They "
                "hold the noise and, by a model, that nothing tells where in its cell a point is."
            )
        case "tree_coreset" if clustering.choices.get("rounds") == 0:
            return "Errors are of the mean and the number of the points in the leaves that a center was made from."
        case "lloyd" | "local_search" | "max_cover" | "tree_coreset":
            return (
                "Errors are of the mean and the number of the points that the last question assigned to a center: "
                "those nearest to where it was before that question. They hold the noise of the sum and of the count."
            )
        case "sample_aggregate":
            return "Errors are of the average of the centers of all blocks; they hold the noise."
        case "kvariates" | "privgene":
            return "No error is stated: nothing is measured of any one center."
        case "noisy_coordinates":
            return "No error of a center is stated: how far it is from a mean of points depends on where these are."
    return "No error is stated: the noise of the cubes does not tell which points are nearest to a center."
