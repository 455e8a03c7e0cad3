"""The pages of the guide name files that exist, and leave no mechanism and no job out."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dplib.guide import read_page, titles
from jobs.main import JOBS, app

ROOT = Path(__file__).resolve().parents[2]
NOT_MECHANISMS = {"__init__", "choose_oracle", "clustering_noise", "frequency_oracle", "partition"}
"""Choices from settings, and what only hands draws on."""


@pytest.mark.parametrize("page", titles())
def test_every_file_and_make_target_a_page_names_exists(page: str) -> None:
    text = read_page(page)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert text.startswith("# ")
    for name in re.findall(r"`((?:dplib|jobs|conf|scripts|tests)/[A-Za-z0-9_/.-]+)`", text):
        assert (ROOT / name).exists(), name
    for target in re.findall(r"`make ([a-z-]+)", text):
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target


def test_every_mechanism_and_every_job_has_its_proof() -> None:
    text = read_page("proofs")
    mechanisms = {path.stem for path in (ROOT / "dplib" / "mechanisms").glob("*.py")} - NOT_MECHANISMS
    assert {name for name in mechanisms if f"`dplib/mechanisms/{name}.py`" not in text} == set()
    assert {job for job in JOBS if f"**`{job}`.**" not in text} == set()


def test_the_command_lists_and_prints_pages_and_refuses_others() -> None:
    runner = CliRunner()
    listed = runner.invoke(app, ["guide"])
    assert listed.exit_code == 0
    assert all(page in listed.output for page in titles())
    assert runner.invoke(app, ["guide", "proofs"]).output == read_page("proofs")
    assert runner.invoke(app, ["guide", "nothing"]).exit_code == 2
