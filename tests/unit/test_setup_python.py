"""Which Python the set-up takes (`scripts/python.sh`)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def chosen(*folders: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the script says where only these folders are on the path."""
    path = os.pathsep.join(map(str, folders))
    words = ["/bin/bash", str(ROOT / "scripts" / "python.sh")]
    return subprocess.run(words, env={"PATH": path, **variables}, capture_output=True, text=True, check=False)


def pythons(folder: Path, **told: str) -> Path:
    """A folder of programs that tell how they were built; of version 3.12 is the name ``python3_12``."""
    folder.mkdir()
    for name, answer in told.items():
        program = folder / name.replace("_", ".")
        program.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
        program.chmod(0o755)
    return folder


QUICK, SLOW, UNUSABLE = "echo quick", "echo slow", "exit 1"


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        ({"python3_12": SLOW, "python3": SLOW}, {"python3_11": QUICK}, "second/python3.11"),
        ({"python3_11": QUICK}, {"python3_12": QUICK}, "second/python3.12"),
        ({"python3_12": UNUSABLE, "python3_13": SLOW}, {"python3": SLOW}, "first/python3.13"),
        ({"python3_11": SLOW}, {"python3_11": SLOW}, "first/python3.11"),
    ],
)
def test_a_quick_build_is_taken_before_the_first_of_the_path(
    first: dict[str, str], second: dict[str, str], taken: str, tmp_path: Path
) -> None:
    found = chosen(pythons(tmp_path / "first", **first), pythons(tmp_path / "second", **second))
    assert (found.returncode, found.stdout) == (0, f"{tmp_path / taken}\n")


def test_the_one_that_is_named_is_taken(tmp_path: Path) -> None:
    assert chosen(pythons(tmp_path / "bin", python3=QUICK), PYTHON="/my/python").stdout == "/my/python\n"


def test_without_one_a_sentence_says_what_is_missing(tmp_path: Path) -> None:
    found = chosen(pythons(tmp_path / "bin", python3=UNUSABLE))
    assert (found.returncode, found.stdout) == (1, "")
    assert "Python 3.11, 3.12 or 3.13 with its venv module must be on PATH (or set PYTHON)" in found.stderr


def test_a_real_python_tells_how_it_was_built(tmp_path: Path) -> None:
    """The one that runs the tests is usable, so the script prints it."""
    (tmp_path / "python3").symlink_to(sys.executable)
    assert chosen(tmp_path).stdout == f"{tmp_path / 'python3'}\n"
