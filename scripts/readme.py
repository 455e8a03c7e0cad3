"""The README's job in full: ``python -m scripts.readme`` runs its commands and writes what they print.

The rows are public and the secret is fixed, so the same code prints the same numbers; the tests run it again.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.make_data import flights
from scripts.marked import marked, with_marked

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PART = "example"
CONFIG = "conf/nycflights13.yaml"
RELEASE = "releases/nycflights13-consistent-histograms-undated-000002"
COMMANDS = (
    f"dplib init --config {CONFIG} --budget 10 --yes",
    f"dplib plan consistent-histograms --config {CONFIG}",
    f"dplib run consistent-histograms --config {CONFIG}",
    f'dplib query {RELEASE} --item "all UA" --item "EWR UA" --from 2013-07-01 --to 2013-07-31',
    "dplib ledger show",
)
DAY = "2026-01-05"
"""Shown as the day of the run, which the ledger notes."""
PUBLIC_SECRET = hashlib.sha256(b"the README of dplib").hexdigest()
"""For the example only: anyone who knows a secret can remove the noise."""


def example(folder: Path, commands: tuple[str, ...] = COMMANDS) -> str:
    """Run the commands one after the other in an empty folder; each command with what it prints."""
    (folder / "conf").mkdir()
    (folder / "data").mkdir()
    shutil.copy(ROOT / CONFIG, folder / CONFIG)
    flights(folder / "data")
    (folder / "dplib.key").touch(mode=0o600)
    (folder / "dplib.key").write_text(PUBLIC_SECRET, encoding="utf-8")
    return "\n\n".join(f"$ {command}\n{_output(command, folder)}".strip() for command in commands)


def _output(command: str, folder: Path) -> str:
    words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)[1:]]
    # The digest of the ledger's tip covers when its entries were written.
    said = re.sub(r"Tip: (\d+):[0-9a-f]{64}", r"Tip: \1:...", _said(words, folder).replace(f"{folder.resolve()}/", ""))
    said = re.sub(r"\d{4}-\d\d-\d\d(?=  published)", DAY, said)
    lines = [line.rstrip() for line in said.splitlines()]
    return "\n".join(lines)


def _said(words: list[str], folder: Path) -> str:
    """What a command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "dplib.cli.main", *words],
        cwd=folder,
        env=os.environ | {"COLUMNS": "110", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def shown(text: str) -> str:
    """The example of a README."""
    return marked(text, PART).removeprefix("```text").removesuffix("```").strip()


def main() -> None:
    """Write the example into the README."""
    with tempfile.TemporaryDirectory() as name:
        made = example(Path(name))
    page = README.read_text(encoding="utf-8")
    README.write_text(with_marked(page, PART, f"```text\n{made}\n```"), encoding="utf-8")


if __name__ == "__main__":
    main()
