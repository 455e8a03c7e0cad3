"""Every `dplib` command of the README runs, in its order; its example prints what the README shows."""

import csv
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dplib.cli.main import app
from dplib.page import drawing
from dplib.spark.rows.inspection import Inspection
from dplib.terminal.output import out
from scripts import readme
from tests.support.rows_in_python import count_in_python, inspect_in_python

README = readme.README.read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    dplib (.*?)(?:\s+#.*)?$", README, re.MULTILINE)
JOB_FILE = re.compile(r"> (\S+)$")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with conf/, and rows of the example's configuration; plans read no rows."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(readme.ROOT / "conf", folder / "conf")
    with (folder / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["date", "product", "quantity", "order_id"])
        rows.writerows([f"2024-03-{day:02}", product, 2, day] for day in range(1, 29) for product in ("bread", "tea"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def invoked(words: list[str]) -> Result:
    """A command in this process, without Spark and without pictures; a rehearsal is a run of few rows.

    What Spark does for these commands is tested with each of them (`tests.jobs`).
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "one_too_many", lambda _: True)
        count_in_python(patch)
        if words[0] == "rehearse":
            words = [*words, "--rows", "20"]
        if words[0] == "doctor":
            patch.setattr("dplib.workflow.doctor.check_spark", lambda *_: [])
        if words[0] == "inspect":
            run = "dplib.jobs.consistent_histograms.run"
            inspect_in_python(patch, run, "inspect_rows", lambda *_: Inspection([]))
        return CliRunner().invoke(app, words)


def test_every_command_runs(place: Path) -> None:
    release = ""
    assert {line.split()[0] for line in COMMANDS} >= {"example", "plan", "run", "query", "verify", "ledger", "guide"}
    for line in COMMANDS:
        words = JOB_FILE.sub("", line).replace("RELEASE", release).replace("JOB", "kmeans").split()
        done = invoked(words)
        assert done.exit_code == 0, (line, done.output)
        if target := JOB_FILE.search(line):
            (place / target[1]).write_text(done.stdout, encoding="utf-8")
        if words[0] == "run":
            release = done.stdout.splitlines()[-1]
            assert (Path(release) / "manifest.json").exists()


def test_the_plan_of_the_example_is_todays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings' part, which reads no rows; the slow test runs the rest, each command in a process of its own."""

    def said(words: list[str], folder: Path) -> str:
        monkeypatch.chdir(folder)
        # A console that was made before keeps its width.
        monkeypatch.setattr(out, "_width", 110)
        return CliRunner().invoke(app, words).stdout

    monkeypatch.setattr(readme, "flights", lambda _: None)
    monkeypatch.setattr(readme, "_said", said)
    assert readme.example(tmp_path, readme.COMMANDS[:2]) in readme.shown(README)


@pytest.mark.slow
def test_the_example_is_what_its_commands_print() -> None:
    with tempfile.TemporaryDirectory() as name:
        assert readme.example(Path(name)) == readme.shown(README)
