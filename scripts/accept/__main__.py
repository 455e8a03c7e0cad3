"""``python -m scripts.accept NAME [PART]``: check the claims of an issue, or those whose check's name holds PART."""

import sys

from scripts.accept import kmeans, main_job, minimum_cuts, network_statistics, operations, range_histograms
from scripts.accept.claims import accept

ISSUES = {
    "main-job": main_job.CHECKS,
    "range-histograms": range_histograms.CHECKS,
    "network-statistics": network_statistics.CHECKS,
    "minimum-cuts": minimum_cuts.CHECKS,
    "kmeans": kmeans.CHECKS,
    "operations": operations.CHECKS,
}


def main() -> int:
    """Run the checks named on the command line."""
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ISSUES:
        sys.exit(f"usage: python -m scripts.accept {'|'.join(ISSUES)} [PART]")
    part = sys.argv[2] if len(sys.argv) == 3 else ""
    chosen = [check for check in ISSUES[sys.argv[1]] if part in getattr(check, "__name__", "")]
    return accept(sys.argv[1], chosen)


if __name__ == "__main__":
    sys.exit(main())
