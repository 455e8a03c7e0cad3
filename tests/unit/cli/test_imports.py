"""What a command loads: nothing that it does not use."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stored_releases import STORED

WATCHED = (
    "jinja2", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "pyspark", "scipy.linalg",
    "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats", "sqlalchemy",
)  # fmt: skip
"""Libraries that take a tenth of a second to load, or more, and those that bring them."""
NUMBERS = {"numpy", "pyarrow", "scipy.linalg", "scipy.sparse"}
RELEASE = "releases/shop-consistent-histograms-undated-000002"
LOADED = {
    "--help": set[str](),
    "guide": set[str](),
    "report RELEASE": {"numpy"},
    "ledger show": {"numpy", "sqlalchemy"},
    "query RELEASE": NUMBERS,
    "verify RELEASE": {*NUMBERS, "sqlalchemy"},
    # It looks for the best shares, to compare.
    "plan consistent-histograms --config shop.yaml": {*NUMBERS, "scipy.optimize", "scipy.special", "sqlalchemy"},
}
"""By command: what of them it may load."""
SCRIPT = f"""
import sys
from dplib.cli.main import main
try:
    main()
except SystemExit as end:
    print(end.code or 0, *(name for name in {WATCHED!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with its ledger and release."""
    folder = tmp_path_factory.mktemp("stored")
    shutil.unpack_archive(STORED / "consistent-histograms.zip", folder)
    return folder


@pytest.mark.parametrize("command", LOADED)
def test_a_command_loads_nothing_that_it_does_not_use(command: str, place: Path) -> None:
    words = command.replace("RELEASE", RELEASE).split()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], cwd=place, capture_output=True, text=True, check=False
    )
    code, *loaded = done.stderr.splitlines()[-1].split()
    assert (code, set(loaded) - LOADED[command]) == ("0", set()), done.stderr
