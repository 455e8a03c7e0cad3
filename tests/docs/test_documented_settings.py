"""Settings that the guide shows in tables: each is taken by the job whose page it stands on, and plans."""

import re
from pathlib import Path

import pytest

from dplib.config.yaml_text import parse_yaml
from dplib.guide import read_page
from dplib.jobs.table import job_named
from tests.jobs.test_range_histograms import new_visits
from tests.support.jobs import new_shop

ROWS = re.compile(r"^\| `((?:tree|queries|measure): [^`]+)` \|", re.MULTILINE)
MONTHS = {"items": ["bread", "milk", "tea"], "first_day": "2024-01-01", "last_day": "2024-12-29"}
SUMS = {
    "edges": {"start": 0, "stop": 14, "width": 1},
    "groups": ["north", "south"],
    "totals": [{"totals": {"all": ["north", "south"]}}],
}


@pytest.mark.parametrize(("page", "least"), [("consistent-histograms", 10), ("range-histograms", 7)])
def test_tables_of_settings_hold(page: str, least: int, tmp_path: Path) -> None:
    shown = ROWS.findall(read_page(page))
    assert len(shown) >= least
    for number, text in enumerate(shown):
        settings = parse_yaml(text, page)
        if page == "consistent-histograms":
            place = new_shop(tmp_path / str(number)).set(**{"domain": MONTHS, "tree": "auto"} | settings)
        else:
            sums = {"histogram": SUMS} if "measure" in settings else {}
            place = new_visits(tmp_path / str(number)).set(**{"tree": "auto"} | sums | settings)
        assert job_named(page).prepare(place.config).design.events, text
