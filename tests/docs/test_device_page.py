"""The guide's page about reports of devices: its settings resolve, its program runs, its text is what is sent."""

import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dplib.config.load import check
from dplib.guide import read_page
from dplib.jobs.kmeans.config import KMeansConfig
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.report_text import VERSION, ReportReader

PAGE = read_page("device-reports")


def _blocks() -> list[str]:
    """Indented blocks of the page."""
    return [re.sub(r"(?m)^    ", "", block) for block in re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", PAGE)]


def test_the_page_s_settings_and_program_make_a_report_that_counts() -> None:
    settings = YAML(typ="safe", pure=True).load(
        next(block for block in _blocks() if block.strip().startswith("input:"))
    )
    settings |= {"config_version": 1, "job": "kmeans", "dataset": "points"}
    collection = Design.resolve(check(KMeansConfig, settings), Path()).collection
    known: dict[str, Any] = {"document": collection.to_json(), "key": bytes(range(32))}
    exec(next(block for block in _blocks() if "report_of" in block), known)  # noqa: S102
    assert ReportReader(collection).read([known["text"]])[0][0] >= 0
    assert re.fullmatch(rf"{VERSION}:{collection.fingerprint}:[0-9]+:[0-9a-f]+", known["text"])
    assert f"{VERSION}:COLLECTION:QUESTION:HEX" in PAGE
