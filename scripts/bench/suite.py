"""What the test suite takes on this machine, beside what it took before its target was set, in the same hour.

``python -m scripts.bench.suite`` runs the tests of this checkout, then those of commit `BEFORE` in a checkout and an
environment of their own, and writes the processor time of each, of all processes together, to
``build/bench/suite.json``, where ``make accept NAME=speed`` reads it. Both with nothing else on the machine: some 40
minutes on two cores.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.accept.runs import ROOT
from scripts.bench.speed import processor_seconds

RECORD = ROOT / "build" / "bench" / "suite.json"
BEFORE = "9dc4fc7"
"""The last commit before the work of which the target is a part; the target was written against 14 minutes."""
QUICK = "not slow and not cluster and not connect and not postgres"
ITS_TESTS = [".venv/bin/pytest", "-n", "2", "--dist", "loadfile", "-m", QUICK]
"""What ``make test`` ran in that commit, beside lint and types."""
TESTS = ["make", "suite"]
"""The same today."""


def before(folder: Path) -> float:
    """Processor seconds of the old suite, in an environment of its own with its own lock, by the same Python."""
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(folder)], check=True)
    subprocess.run(["git", "checkout", "--quiet", BEFORE], cwd=folder, check=True)
    python = getattr(sys, "_base_executable", sys.executable)
    subprocess.run(["make", "setup"], cwd=folder, env=os.environ | {"PYTHON": python}, check=True)
    return processor_seconds(ITS_TESTS, folder)


def main() -> None:
    """Measure both and write them down."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    now = processor_seconds(TESTS, ROOT)
    print(f"processor seconds of {commit}: {now:.0f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="dplib-suite-") as folder:
        then = before(Path(folder))
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    found = {"commit": commit, "now": now, "before": then, "ratio": now / then}
    RECORD.write_text(json.dumps(found, indent=2), encoding="utf-8")
    print(f"processor seconds of {BEFORE}: {then:.0f}; ratio {now / then:.3f}")


if __name__ == "__main__":
    main()
