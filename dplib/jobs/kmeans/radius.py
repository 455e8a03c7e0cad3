"""The radius of the public ball, where the settings leave it to a noisy histogram of distances.

A stated share of the budget finds it (`dplib.clustering.central.bounds`) before the method's own questions, which get
the rest. Where no count stands out from the noise there is no answer: the settings' `FALLBACK` is taken, everything
goes on and costs the same, and the release says that its centers mean nothing.

Everything a method does is in units of the radius, so that questions and noise are the same whatever the radius is.
"""

from dataclasses import dataclass, replace

from dplib.clustering.central.bounds import private_radius
from dplib.clustering.choose import Plan as MethodPlan
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.source import Keyed, NoiseSource
from dplib.clustering.space import Space
from dplib.jobs.kmeans.design import Design
from dplib.privacy.events import Event
from dplib.privacy.rounding import sqrt_below

FALLBACK = 1.0
"""Radius where none was found."""


@dataclass(frozen=True)
class ResolvedSpace:
    """What the method works with.

    Attributes:
        frame: bounds and scales.
        plan: the method with the budget that is left.
        events: what finding the radius cost; empty where it is a setting.
        choices: what was found, for the report.
    """

    frame: PointFrame
    plan: MethodPlan
    events: tuple[Event, ...] = ()
    choices: tuple[tuple[str, str | int | float], ...] = ()


def find_bounds(design: Design, counted: Keyed, noise: NoiseSource) -> ResolvedSpace:
    """The bounds of a central design; a question to the noise where its radius is private.

    ``counted`` are totals of `dplib.clustering.central.bounds.RadiusClasses`, ignored where the radius is a setting.
    """
    assert design.central is not None
    if not design.radius_is_private:
        return ResolvedSpace(design.frame, design.central)
    share = design.config.clustering.radius_share
    amount = design.budget * share
    epsilon = sqrt_below(2 * amount, 12) if design.gaussian else amount
    found = private_radius(counted, noise, epsilon, design.rows)
    radius = FALLBACK if found.radius is None else found.radius
    space = Space.ball(design.frame.space.center, radius)
    said: tuple[tuple[str, str | int | float], ...] = (("radius", radius), ("rows inside", round(found.inside, 4)))
    if found.radius is None:
        said = (("radius", f"not found, {FALLBACK:g} taken: the centers mean nothing"),)
    plan = replace(design.central, amount=design.budget - amount)
    return ResolvedSpace(replace(design.frame, space=space), plan, (found.event,), said)
