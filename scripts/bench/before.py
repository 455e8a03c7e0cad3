"""This project as it was before the work on its speed: what its machine's own speed is told by.

Targets in seconds were set on another machine, where this commit took the seconds that they were set against.
"""

import subprocess
from pathlib import Path

from scripts.accept.runs import ROOT

BEFORE = "9dc4fc7"
"""The last commit before that work."""
FOLDER = ROOT / "build" / "before"


def before() -> Path:
    """A checkout of that commit with the environment that its own set-up makes, once."""
    if not FOLDER.is_dir():
        part = FOLDER.with_suffix(".part")
        subprocess.run(["rm", "-rf", str(part)], check=True)
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(part)], check=True)
        subprocess.run(["git", "checkout", "--quiet", BEFORE], cwd=part, check=True)
        part.rename(FOLDER)
    subprocess.run(["make", "setup"], cwd=FOLDER, check=True)
    return FOLDER
