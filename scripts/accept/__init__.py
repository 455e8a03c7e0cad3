"""Acceptance of an issue: every claim it makes is measured and compared with its target."""
