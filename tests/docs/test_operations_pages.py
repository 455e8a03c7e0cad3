"""The pages on recovery and vulnerabilities quote what is said and name what shows it."""

import re
from pathlib import Path

import pytest

from dplib.guide import read_page
from dplib.ledger.leases import LEASE_SECONDS

ROOT = Path(__file__).resolve().parents[2]


def test_what_the_pages_quote_stands_in_the_code() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "dplib").rglob("*.py"))
    quoted = re.findall(r"`([a-z.]+ must [a-z ]*?)(?: \.\.\.)?`", read_page("recovery"))
    assert len(quoted) >= 4
    for sentence in quoted:
        name, rule = sentence.split(" must ")
        parts = rf'"{re.escape(name)}",\s+\(?\s*f?"{re.escape(rule)}'
        assert sentence in code or re.search(parts, code), sentence
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


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-airflow.lock"])
def test_locks_hold_a_hash_of_every_package_and_no_address(name: str) -> None:
    lock = (ROOT / name).read_text(encoding="utf-8")
    pinned = re.findall(r"^\S+==[^\n]*", lock, re.MULTILINE)
    assert len(pinned) > 50
    assert len(re.findall(r"^\S+==[^\n]*\\\n +--hash=sha256:", lock, re.MULTILINE)) == len(pinned)
    assert "://" not in lock
