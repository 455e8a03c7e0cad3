"""What commands and reading load: nothing that they do not use."""

import shutil
import subprocess
import sys

import pytest

from tests.support.every_job import JOBS
from tests.support.stored_releases import STORED

WATCHED = (
    "jinja2", "matplotlib", "numba", "numpy", "numpy.f2py.f2py2e", "pandas", "pyarrow", "pyarrow.compute",
    "pyarrow.dataset", "pyspark", "rich.progress", "ruamel.yaml", "scipy.linalg", "scipy.optimize",
    "scipy.sparse", "scipy.special", "scipy.stats", "sqlalchemy", "unittest",
)  # fmt: skip
"""Libraries that take long to load, and those that bring them."""
NUMBERS = {"numpy", "pyarrow", "scipy.sparse"}
ABSENT = ("pyspark", "sqlalchemy", "psycopg", "cryptography", "jinja2", "typer", "rich")
"""What reading a release does without."""
RELEASE = "releases/shop-consistent-histograms-undated-000002"
LOADED = {
    "--help": set[str](),
    "guide": set[str](),
    "report RELEASE": {"numpy"},
    "ledger show": {"numpy", "sqlalchemy"},
    "query RELEASE": NUMBERS,
    "verify RELEASE": {*NUMBERS, "sqlalchemy"},
    # It tries to write a release.
    "plan consistent-histograms --config shop.yaml": {*NUMBERS, "ruamel.yaml", "sqlalchemy"},
}
"""By command: what of them it may load."""
RUN = """
import os, sys
import dplib
assert len(sys.modules) < 200 and "numpy" not in sys.modules
from dplib.cli.main import main

def write_to(name):
    for stream, end in ((1, "out"), (2, "err")):
        os.dup2(os.open(name.replace("/", " ") + "." + end, os.O_WRONLY | os.O_CREAT), stream)

for command, aside in COMMANDS:
    if aside and os.fork():
        os.wait()
        continue
    write_to(command)
    sys.argv = ["dplib", *command.replace("RELEASE", RELEASE).split()]
    try:
        main()
    except SystemExit as end:
        print(end.code or 0, *(name for name in WATCHED if name in sys.modules), file=sys.stderr, flush=True)
    if aside:
        os._exit(0)

for name in list(sys.modules):
    if name.split(".")[0] in ("dplib", *ABSENT):
        del sys.modules[name]
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ABSENT:
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
write_to("reading")
import dplib
for path in RELEASES:
    print(len(dplib.open_release(path).query()), len(dplib.open_release(path).to_pandas()), file=sys.stderr)
"""
"""One process runs the commands: each may load what those before it may, or it has a fork of its own. Then it reads the
releases, with the package loaded anew and nothing there but what reading needs."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What commands and reading wrote beside their output, where there are a configuration, its ledger and release."""
    folder = tmp_path_factory.mktemp("stored")
    for job in JOBS:
        shutil.unpack_archive(STORED / f"{job}.zip", folder / job)
    releases = [str(path) for path in sorted(folder.glob("*/releases/*"))]
    commands = [
        (command, not all(own <= other for other in list(LOADED.values())[number:]))
        for number, (command, own) in enumerate(LOADED.items())
    ]
    place = folder / "consistent-histograms"
    names = {"COMMANDS": commands, "WATCHED": WATCHED, "ABSENT": ABSENT, "RELEASE": RELEASE, "RELEASES": releases}
    script = "".join(f"{name} = {value!r}\n" for name, value in names.items()) + RUN
    subprocess.run([sys.executable, "-c", script], cwd=place, check=False)
    return {path.stem: path.read_text() for path in place.glob("*.err")}


@pytest.mark.parametrize("command", LOADED)
def test_a_command_loads_nothing_that_it_does_not_use(command: str, said: dict[str, str]) -> None:
    code, *loaded = said[command].splitlines()[-1].split()
    assert (code, set(loaded) - LOADED[command]) == ("0", set()), said[command]


def test_reading_needs_the_small_core_alone(said: dict[str, str]) -> None:
    read = said["reading"].splitlines()
    assert len(read) == len(JOBS), said["reading"]
    assert all(int(number) for line in read for number in line.split()), read
