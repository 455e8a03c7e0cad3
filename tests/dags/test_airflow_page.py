"""The guide's page on Airflow: its commands parse, its keys and defaults are the schedule file's, its codes dplib's."""

import re
import shlex
from dataclasses import MISSING, fields
from pathlib import Path

from airflow.cli.cli_parser import get_parser
from airflow_place import ROOT
from dplib_operators import REFUSALS
from dplib_schedules import PRESETS, Schedule

PAGE = (ROOT / "dplib" / "guide" / "airflow.md").read_text(encoding="utf-8")
CODE = re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)
LINES = [line.strip() for block in CODE for line in block.replace("\\\n", " ").splitlines()]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")]


def test_every_airflow_command_parses() -> None:
    commands = [line for line in LINES if line.startswith("airflow ")]
    assert len(commands) >= 5
    for command in commands:
        get_parser().parse_args(shlex.split(command)[1:])


def test_the_keys_and_their_defaults_are_those_of_the_schedule_file() -> None:
    stated: dict[str, str] = {}
    for row in ROWS:
        names = re.findall(r"`(\w+)`", row[0])
        values = row[-1].split(", ")
        stated |= dict(zip(names, values * len(names) if len(values) == 1 else values, strict=True)) if names else {}
    for field in fields(Schedule):
        default = stated[field.name]
        if field.default is MISSING:
            assert default == "-"
        elif field.default is None:
            assert default in ("no end", "none")
        else:
            assert default == str(field.default).lower().replace("utc", "UTC")
    assert all(f"`{preset}`" in PAGE for preset in PRESETS)


def test_the_exit_codes_are_those_that_are_not_tried_again() -> None:
    codes = {row[0]: row[-1] for row in ROWS if row[0].partition(",")[0].isdecimal()}
    assert {int(code) for code, does in codes.items() if does == "failed without retry"} == set(REFUSALS)
    assert codes["1, killed, lost"] == "retried"


def test_every_file_named_exists() -> None:
    named = set(re.findall(r"\b(?:conf|jobs|scripts)/[a-z_/.]+[a-z]", PAGE))
    assert {"conf/airflow/schedules.yaml", "scripts/airflow.sh", "jobs/dags/dplib_schedules.py"} <= named
    for name in named:
        assert (ROOT / name).exists(), name
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+)", PAGE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert Path(ROOT / "jobs" / "dags" / ".airflowignore").exists()
