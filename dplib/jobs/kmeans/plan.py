"""What a run will cost and how much noise to expect, from settings alone: reads no rows, spends nothing."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

from dplib.clustering.central.grid import COUNT_SHARE, cells_an_axis
from dplib.clustering.central.quadtree import levels_around
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.methods import WARNINGS, method_text, reason_text
from dplib.mechanisms.local.choose_oracle import choose_oracle, rare_variance
from dplib.mechanisms.local.vector_sums import VectorSums
from dplib.workflow.plan import JobPlan, PlanFrame

_LARGE = 1 << 12
ROWS_SHOWN = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


@dataclass(frozen=True)
class ExpectedAccuracy:
    """What to expect of this many points.

    Attributes:
        n_points: how many.
        method: what ``auto`` would take.
        detail: sizes that follow from n.
        relative_noise: what `relative_noise_text` says.
        enough: whether that is small enough (`noise_limit_text`).
    """

    n_points: int
    method: str
    detail: str
    relative_noise: float
    enough: bool


@dataclass(frozen=True)
class Plan(JobPlan):
    """Everything that can be said before a row is read."""

    n_clusters: int
    coordinates: tuple[str, ...]
    space: str
    method: str
    what: str
    why: str
    spent_as: str
    relative_noise: str
    collection: dict[str, Any] | None
    expected_accuracy: tuple[ExpectedAccuracy, ...]

    def stated_errors(self) -> dict[str, float]:
        """The relative noise by number of points."""
        return {f"noise with {each.n_points} points": each.relative_noise for each in self.expected_accuracy}


def make_plan(design: Design, settings_hash: str) -> Plan:
    """Make the plan of a design."""
    caps = {"rows a unit": design.config.privacy.rows_per_unit}
    return Plan(
        frame=PlanFrame.of(design, caps, plan_notes(design), settings_hash),
        n_clusters=design.problem.n_clusters,
        coordinates=design.coordinates,
        space=space_text(design),
        method=design.method,
        what=method_text(design.method),
        why=reason_text(design),
        spent_as=f"{'rho' if design.gaussian else 'epsilon'} {float(design.budget):.6g}",
        relative_noise=relative_noise_text(design),
        collection=design.collection.to_dict() if design.local else None,
        expected_accuracy=tuple(_expected_accuracy(design, n) for n in ROWS_SHOWN),
    )


def relative_noise_text(design: Design) -> str:
    """What the expected accuracy's noise is."""
    if design.local:
        if design.collection.projected:
            return "noise on a center of n / k users, all coordinates together, in radii of the space"
        return "noise on the weight of a cell with n / k points, as a part of it"
    return "noise on a center if it were one noisy mean of n / k points at the whole budget, in radii of the space"


def noise_limit_text(design: Design) -> str:
    """From where on the expected accuracy's noise is too much."""
    if design.local:
        if design.collection.projected:
            return "Above a fifth centers say little; and the first round must have told the clusters apart."
        return "Above a half even the heaviest cells are hard to tell from noise."
    return "Methods divide the budget, so theirs is larger; above a twentieth of the radius centers say little."


def space_text(design: Design) -> str:
    """The public space in words."""
    frame, clustering, d = design.frame, design.config.clustering, len(design.coordinates)
    if clustering.bounds is None:
        middle = "0" if clustering.center is None else "the given center"
        if design.radius_is_private:
            return f"a ball of a privately found radius around {middle} in {d} coordinates"
        return f"the ball of radius {float(frame.space.unit * (1 << 16)):.6g} around {middle} in {d} coordinates"
    scaled = ", distances in half widths of the bounds" if clustering.scale == "bounds" else ""
    return f"the box of the given bounds of {d} coordinate{'s' if d > 1 else ''}{scaled}"


def plan_notes(design: Design) -> tuple[str, ...]:
    """Sentences about what the settings mean."""
    privacy, clustering = design.config.privacy, design.config.clustering
    notes = [
        "Bounds, number of clusters and method are public and must not be chosen by looking at the rows. Points "
        "outside the bounds count as the nearest point inside."
    ]
    if design.radius_is_private:
        share = float(100 * clustering.radius_share)
        notes.append(
            f"{share:g} % of the budget finds the radius. With few rows no radius stands out: the release then says "
            "so, costs the same, and its centers mean nothing. Bounds that are known are better."
        )
    warning = WARNINGS.get(design.method)
    if warning is not None:
        notes.append(warning)
    notes += _model_notes(design)
    if privacy.rows_per_unit > 1:
        notes.append(f"One {privacy.unit} counts with at most {privacy.rows_per_unit} rows; noise grows with this cap.")
    if clustering.missing != "drop":
        notes.append("Rows without a readable number in some coordinate count with the given numbers in its place.")
    if clustering.bounds is not None and clustering.scale == "none" and _uneven(design):
        notes.append(
            "The bounds of the coordinates differ tenfold or more: without clustering.scale: bounds the narrow ones "
            "hardly matter for distances, and get as much noise as the wide ones."
        )
    return tuple(notes)


def _model_notes(design: Design) -> list[str]:
    """Sentences about whom the guarantee is for."""
    notes = []
    if design.local and design.collection.projected:
        notes.append(
            "Above 6 coordinates the tree works in a public projection to 3, and a second round brings centers back. "
            "With a million users, 8 clusters and 7 to 20 coordinates its loss was 3 to 6 times that of k-means "
            "without privacy at epsilon 1, and 1.3 to 3.3 times at epsilon 2 and 4; fewer users or more clusters need "
            "a larger epsilon. dplib rehearse shows the loss for these settings."
        )
    if design.from_reports:
        notes.append(
            "Units made their reports themselves, from the public document that dplib plan --json shows as "
            "collection; this job adds them up. That a unit reports is public."
        )
    elif design.local:
        notes.append(
            "This simulates the local model: anyone who runs the job holds the rows. The guarantee is for readers of "
            "what is stored, not against anyone who runs it. That a unit reports at all is public."
        )
    elif not design.gaussian and design.config.privacy.budget.delta is not None:
        notes.append("This method needs no delta: the release is private for epsilon alone.")
    return notes


def _uneven(design: Design) -> bool:
    halves = design.frame.space.half_widths
    return max(halves) >= 10 * min(halves)


def _expected_accuracy(design: Design, n: int) -> ExpectedAccuracy:
    relative_noise = _relative_noise(design, n)
    method, detail = design.method, ""
    share = float(design.budget * (1 - COUNT_SHARE)) / design.rows
    if method == "grid":
        detail = f"{cells_an_axis(n, share, len(design.coordinates))} cells an axis"
    elif method == "quadtree":
        first, last = levels_around(n, share, len(design.coordinates))
        detail = f"sides 1/{1 << first} to 1/{1 << last}"
    elif method == "ldp_tree":
        detail = f"{_levels(design)} levels"
    return ExpectedAccuracy(n, method, detail, relative_noise, relative_noise < _max_relative_noise(design))


def _max_relative_noise(design: Design) -> float:
    if not design.local:
        return 0.05
    return 0.2 if design.collection.projected else 0.5


def _levels(design: Design) -> int:
    return len(design.collection.rounds.question_names(0))


def _relative_noise(design: Design, n: int) -> float:
    """What `relative_noise_text` says, for n points."""
    space, d, k = design.frame.space, len(design.coordinates), design.problem.n_clusters
    if design.local:
        if design.collection.projected:
            # Half of the users answer for all.
            noise = VectorSums(k, d, space.norm_squared, design.budget).deviation * sqrt(2 * n * d)
            return noise * k / n / sqrt(space.norm_squared)
        shares = _levels(design) if design.method == "ldp_tree" else 1
        return sqrt(shares * n * rare_variance(choose_oracle(_LARGE, design.budget))) * k / n
    radius = sqrt(space.norm_squared)
    if design.gaussian:
        noise = sqrt(d) * radius * design.rows / sqrt(2 * float(design.budget))
    else:
        noise = sqrt(2 * d) * space.l1 * design.rows / float(design.budget)
    return noise * k / n / radius
