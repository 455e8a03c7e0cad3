"""Acceptance of keys that are not known, and of releases that analysts can read."""

from scripts.accept import keys_audit, keys_selection, reading
from scripts.accept.claims import Check

CHECKS: tuple[Check, ...] = (*keys_selection.CHECKS, *keys_audit.CHECKS, *reading.CHECKS)
