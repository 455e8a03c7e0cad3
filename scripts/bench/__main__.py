"""``make bench``: every benchmark in turn, each in a process of its own."""

import subprocess
import sys

BENCHMARKS = (
    "noise", "range_histograms", "minimum_cuts", "network_counting", "million_days", "thousand_groups", "speed",
    "suite",
)  # fmt: skip


def main() -> int:
    """Run the benchmarks named on the command line, or all."""
    chosen = sys.argv[1:] or BENCHMARKS
    codes = []
    for name in chosen:
        print(f"== {name}", flush=True)
        codes.append(subprocess.run([sys.executable, "-m", f"scripts.bench.{name}"], check=False).returncode)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
