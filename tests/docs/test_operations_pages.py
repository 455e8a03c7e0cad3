"""The pages on secrets, recovery and threats: their commands and options exist, and what they quote is what is said."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from dplib.guide import read_page, titles
from dplib.release.leases import LEASE_SECONDS
from jobs.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("secrets", "recovery", "threat-model", "known-vulnerabilities")


@pytest.mark.parametrize("text", [*PAGES, "SECURITY.md"])
def test_commands_and_options_exist(text: str) -> None:
    page = (ROOT / text).read_text(encoding="utf-8") if text.endswith(".md") else read_page(text)
    commands = get_command(app).commands  # type: ignore[attr-defined]
    found = re.findall(r"`dplib\s([^`]*)`", page) + re.findall(r"^    dplib (.*?)(?:\s+#.*)?$", page, re.MULTILINE)
    assert found
    for line in found:
        words = line.split()
        command = commands[words[0]]
        if hasattr(command, "commands"):
            command = command.commands[words[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line
        if words[0] == "guide":
            assert words[1] in titles(), line


def test_what_the_pages_quote_stands_in_the_code() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "dplib").rglob("*.py"))
    quoted = re.findall(r"`([a-z.]+ must [a-z ]*?)(?: \.\.\.)?`", read_page("recovery"))
    assert len(quoted) >= 4
    for sentence in quoted:
        assert sentence in code, sentence
    assert LEASE_SECONDS == 3 * 60
    for name in (".staging-", ".old-", ".probe", ".lock"):
        assert f'"{name}' in code, name


def test_each_vulnerability_names_what_shows_its_state() -> None:
    page = read_page("known-vulnerabilities")
    attacks = page[: page.index("## Advisories")]
    rows = [
        line for line in attacks.splitlines() if line.startswith("|") and "---" not in line and "| here |" not in line
    ]
    assert len(rows) >= 20
    for row in rows:
        state = row.split("|")[3]
        assert re.search(r"`(dplib|tests)/", state) or re.search(r"\*open\*|not used|no statistic|no code of", state), (
            row
        )
