"""Acceptance of hierarchies: many items in groupings, shares of the budget by question, the paper's alternation."""

from scripts.accept import (
    hierarchies_alternation,
    hierarchies_auto,
    hierarchies_experiments,
    hierarchies_groupings,
    hierarchies_ranges,
    hierarchies_scale,
)
from scripts.accept.claims import Check

CHECKS: tuple[Check, ...] = (
    *hierarchies_scale.CHECKS,
    *hierarchies_groupings.CHECKS,
    *hierarchies_auto.CHECKS,
    *hierarchies_ranges.CHECKS,
    *hierarchies_alternation.CHECKS,
    *hierarchies_experiments.CHECKS,
)
