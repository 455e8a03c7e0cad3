"""Acceptance of the faults that outside readers found: each module `faults_*` reproduces those of one subject."""

from importlib import import_module
from pathlib import Path

from scripts.accept.claims import Check

MODULES = tuple(
    import_module(f"scripts.accept.{path.stem}") for path in sorted(Path(__file__).parent.glob("faults_*.py"))
)
CHECKS: tuple[Check, ...] = tuple(check for module in MODULES for check in module.CHECKS)
