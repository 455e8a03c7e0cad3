"""Every line of Python of the guide's page on reading runs, on releases that have what it names."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest

import dplib
from dplib.errors import ConfigError
from dplib.guide import read_page
from dplib.reading.release import Release
from tests.support.stored_releases import stored_release
from tests.support.stream_shop import new_stream

matplotlib.use("agg")
DRINKS = "item,region,kind\ntea,north,hot\ncoffee,north,hot\nlemonade,north,cold\ncola,south,cold\n"
DAYS = [f"2024-03-{day:02d}" for day in range(4, 18)]
SECTIONS = {
    heading.partition("\n")[0]: "\n".join(re.findall(r"^ {4}(?!dplib )(.*)$", heading, re.MULTILINE))
    for heading in re.split(r"^#+ ", read_page("reading"), flags=re.MULTILINE)
}


@pytest.fixture(scope="module")
def drinks(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Drinks with their region and kind on the days of two weeks."""
    folder = tmp_path_factory.mktemp("drinks")
    (folder / "drinks.csv").write_text(DRINKS, encoding="utf-8")
    shop = new_stream(
        folder,
        input__columns={"day": "day", "item": "item"},
        privacy={"unit": "event", "budget": {"rho": 1}},
        domain={"items": {"file": "drinks.csv", "columns": ["item"], "attributes": ["region", "kind"]}},
        constraints=[],
        stream={"horizon": [DAYS[0], DAYS[-1]], "levels": ["week", "day"]},
    )
    shop.counts = np.full((len(DAYS), 4), 20)
    return dplib.open_release(shop.day(*DAYS))


def test_every_example_runs(drinks: Release, tmp_path: Path) -> None:
    histograms = stored_release("range-histograms", tmp_path / "ranges")
    count = stored_release("consistent-histograms", tmp_path / "counts")
    named = {"releases/shop-000002": drinks, "a": count, "b": _measured_again(count)}
    module = SimpleNamespace(open_release=named.__getitem__, combine=dplib.combine)
    tables: list[pd.DataFrame] = []
    space: dict[str, Any] = {
        "dplib": module,
        "a": "a",
        "b": "b",
        "spark": SimpleNamespace(createDataFrame=tables.append),
    }
    answers = 0
    for title, code in SECTIONS.items():
        space["release"] = histograms if title == "Histograms" else drinks
        for line in code.splitlines():
            if not line.strip() or line.startswith("import "):
                continue
            ran = _run(line, space)
            answers += isinstance(ran, pd.DataFrame) and len(ran) > 0
    with pytest.raises(ConfigError, match="did you mean where kind=hot"):
        drinks.query("hot")
    assert answers >= 6
    assert len(tables) == 1


def _run(line: str, space: dict[str, Any]) -> Any:
    try:
        return eval(line.strip(), space)  # noqa: S307 - the guide is the code under test
    except SyntaxError:
        return exec(line, space)  # noqa: S102


def _measured_again(release: Release) -> Release:
    """As if it had been measured once more."""
    files = [entry.model_copy(update={"sha256": entry.sha256[::-1]}) for entry in release.manifest.files]
    update = {"release_id": "anew", "reservation": "", "files": files}
    return Release(release.path, release.manifest.model_copy(update=update))
