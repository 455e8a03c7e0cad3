"""Acceptance of streams: releases that grow day by day under one budget."""

from scripts.accept import streams_audit, streams_errors, streams_flights, streams_ranges, streams_units
from scripts.accept.claims import Check

CHECKS: tuple[Check, ...] = (
    *streams_errors.CHECKS,
    *streams_audit.CHECKS,
    *streams_units.CHECKS,
    *streams_flights.CHECKS,
    *streams_ranges.CHECKS,
)
