"""What a command loads: nothing that it does not use."""

import shutil
import subprocess
import sys

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
SCRIPT = """
import importlib, os, sys
from dplib.cli.main import main
for number, (command, *loaded) in enumerate(COMMANDS):
    for name in loaded:
        importlib.import_module(name)
    if os.fork():
        os.wait()
        continue
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{number}.{name}", os.O_WRONLY | os.O_CREAT), stream)
    sys.argv = ["dplib", *command.split()]
    try:
        main()
    except SystemExit as end:
        print(end.code or 0, *(name for name in WATCHED if name in sys.modules), file=sys.stderr, flush=True)
    finally:
        os._exit(0)
"""
"""Each command runs in a process of its own, forked after imports of what this and all later ones may load."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command wrote beside its output, run where there are a configuration, its ledger and release."""
    folder = tmp_path_factory.mktemp("stored")
    shutil.unpack_archive(STORED / "consistent-histograms.zip", folder)
    allowed = list(LOADED.values())
    commands = [
        (command.replace("RELEASE", RELEASE), *sorted(set.intersection(*allowed[number:])))
        for number, command in enumerate(LOADED)
    ]
    script = f"COMMANDS, WATCHED = {commands!r}, {WATCHED!r}\n{SCRIPT}"
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
    return {command: (folder / f"{number}.err").read_text() for number, command in enumerate(LOADED)}


@pytest.mark.parametrize("command", LOADED)
def test_a_command_loads_nothing_that_it_does_not_use(command: str, said: dict[str, str]) -> None:
    code, *loaded = said[command].splitlines()[-1].split()
    assert (code, set(loaded) - LOADED[command]) == ("0", set()), said[command]
