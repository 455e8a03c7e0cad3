"""The group of what is not listed: in lists, in tables, refused by name."""

from pathlib import Path
from typing import Any

import pytest

from dplib.errors import ConfigError
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.table import job_named
from tests.jobs.test_range_histograms import new_visits
from tests.support.jobs import Shop

SHOPS = "shop,region\nnorth,city\nsouth,coast\n"
TABLE = {"file": "shops.csv", "columns": ["shop"], "attributes": ["region"]}
EDGES = {"edges": {"start": 0, "stop": 14, "width": 1}}


def place(folder: Path, **histogram: Any) -> Shop:
    made = new_visits(folder).set(histogram=EDGES | {"groups": ["north", "south"]} | histogram)
    (folder / "shops.csv").write_text(SHOPS)
    return made


def test_the_other_group_is_one_of_the_groups(tmp_path: Path) -> None:
    job = job_named("range-histograms")
    listed = job.prepare(place(tmp_path / "a", other="rest").config)
    same = job.prepare(place(tmp_path / "b", other="rest", groups=["north", "south", "rest"]).config)
    without = job.prepare(place(tmp_path / "c", groups=["north", "south", "rest"]).config)
    assert listed.key.settings_hash == same.key.settings_hash != without.key.settings_hash
    row = {"shop": "rest", "region": "coast"}
    table = job.prepare(place(tmp_path / "d", groups=TABLE, groupings=[["region"]], other=row).config)
    for prepared in (listed, table):
        design = prepared.design
        assert isinstance(design, Design)
        domain = design.bins.row_domain
        assert domain.groups is not None
        assert domain.other is not None
        assert domain.groups[domain.other] == "rest"
        assert Design.of(design.config).bins.other == "rest"


@pytest.mark.parametrize(
    ("histogram", "sentence"),
    [
        ({"groups": TABLE, "other": "nort"}, "be a group of the table, or a row for it, got nort; did you mean north?"),
        ({"groups": TABLE, "other": {"shop": "x"}}, "must give a value of each of shop, region, got none of region"),
        ({"other": " x"}, "histogram.other must hold names without blanks at their ends"),
    ],
)
def test_wrong_other_groups_are_refused(tmp_path: Path, histogram: dict[str, Any], sentence: str) -> None:
    wrong = place(tmp_path, **histogram)
    with pytest.raises(ConfigError) as refused:
        job_named("range-histograms").prepare(wrong.config)
    assert sentence in str(refused.value)
