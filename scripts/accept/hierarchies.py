"""Acceptance of hierarchies: many items in groupings, shares of the budget by question, the paper's alternation."""

from importlib import import_module
from importlib.util import find_spec

from scripts.accept.claims import Check

PARTS = ("scale", "groupings", "auto", "alternation", "experiments")
"""Each a module of this folder with its checks."""


def _checks(part: str) -> tuple[Check, ...]:
    name = f"scripts.accept.hierarchies_{part}"
    return tuple(import_module(name).CHECKS) if find_spec(name) else ()


CHECKS: tuple[Check, ...] = tuple(check for part in PARTS for check in _checks(part))
