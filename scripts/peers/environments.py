"""The peers' environments, one a folder below ``build/peers``, made once and again where their packages change."""

import os
import subprocess
import sys
from pathlib import Path

from scripts.accept.runs import ROOT

FOLDER = ROOT / "build" / "peers"
PACKAGES = {
    "tumult": ("tmlt-analytics==0.21.0",),
    "pipeline-dp": ("pipeline-dp==0.3.1", "pyspark==4.3.0", "setuptools<81"),
    "opendp": ("opendp[polars]==0.16.0",),
    "graphs": ("igraph==1.0.0", "networkx==3.6.1", "networkit>=11.2", "scipy"),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.5.2"),
    "osqp": ("osqp==1.1.3", "scipy==1.17.1"),
}
"""What is installed in each; ``own`` is this project's environment, which has plain Spark and scikit-learn too."""
NOT_INSTALLED = {
    "Google's clustering": "published as source that Bazel builds, not as a package",
}
"""Peers without an environment, and why."""


def interpreter(name: str) -> Path:
    """The Python of an environment."""
    return Path(sys.executable) if name == "own" else FOLDER / name / "bin" / "python"


def python() -> str:
    """The one of this project, so that all run by the same build, if it is the newest that all peers take."""
    return getattr(sys, "_base_executable", sys.executable) if sys.version_info[:2] == (3, 11) else "3.11"


def make(name: str) -> str:
    """Make an environment, unless it is there with these packages.

    Returns:
        Why it could not be made; empty where it is there.
    """
    if name == "own":
        return ""
    stamp, wanted = FOLDER / name / ".packages", "\n".join(PACKAGES[name])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return ""
    uv = str(Path(sys.executable).with_name("uv"))
    environment = os.environ | {"VIRTUAL_ENV": str(FOLDER / name)}
    for words in (
        ["venv", "--quiet", "--clear", "--python", python(), str(FOLDER / name)],
        ["pip", "install", "--quiet", *PACKAGES[name]],
    ):
        done = subprocess.run([uv, *words], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines()
            return said[0] if said else f"uv ended with {done.returncode}"
    stamp.write_text(wanted, encoding="utf-8")
    return ""
