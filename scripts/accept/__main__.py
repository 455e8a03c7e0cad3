"""``python -m scripts.accept NAME [PART ...]``: check the claims of an issue, or the checks whose names hold a PART.

A check's name is module.function: ``operations operations_ledger``, ``kmeans whole_speed``.
"""

import sys

from scripts.accept import (
    faults,
    hierarchies,
    house,
    keys_and_reading,
    kmeans,
    main_job,
    minimum_cuts,
    network_statistics,
    operations,
    range_histograms,
    speed,
    streams,
)
from scripts.accept.claims import Check, accept

ISSUES = {
    "main-job": main_job.CHECKS,
    "range-histograms": range_histograms.CHECKS,
    "network-statistics": network_statistics.CHECKS,
    "minimum-cuts": minimum_cuts.CHECKS,
    "kmeans": kmeans.CHECKS,
    "operations": operations.CHECKS,
    "faults": faults.CHECKS,
    "hierarchies": hierarchies.CHECKS,
    "house": house.CHECKS,
    "keys-and-reading": keys_and_reading.CHECKS,
    "speed": speed.CHECKS,
    "streams": streams.CHECKS,
}


def main() -> int:
    """Run the checks named on the command line."""
    if len(sys.argv) < 2 or sys.argv[1] not in ISSUES:
        sys.exit(f"usage: python -m scripts.accept {'|'.join(ISSUES)} [PART ...]")
    parts = sys.argv[2:] or [""]
    chosen = [check for check in ISSUES[sys.argv[1]] if any(part in _name(check) for part in parts)]
    return accept(sys.argv[1], chosen)


def _name(check: Check) -> str:
    return f"{check.__module__.rpartition('.')[2]}.{getattr(check, '__name__', '')}"


if __name__ == "__main__":
    sys.exit(main())
