"""What the test suite takes on this machine.

``python -m scripts.bench.suite`` runs the tests of ``make test``, without lint and types, and writes the processor time
of all processes together to ``build/bench/suite.json``, where ``make accept NAME=speed`` reads it. With nothing else on
the machine: some ten minutes.
"""

import json
import subprocess

from scripts.accept.runs import ROOT
from scripts.bench.speed import processor_seconds

RECORD = ROOT / "build" / "bench" / "suite.json"
TESTS = ["make", "suite"]


def main() -> None:
    """Measure and write it down."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    seconds = processor_seconds(TESTS, ROOT)
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps({"commit": commit, "seconds": seconds}, indent=2), encoding="utf-8")
    print(f"processor seconds of the tests of {commit}: {seconds:.0f}")


if __name__ == "__main__":
    main()
