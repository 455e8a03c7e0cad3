"""The documents' figures by one command each, at small sizes: tables, pictures, and claims worked out anew."""

import csv
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.accept.claims import Check, Result, at_least
from scripts.accept.runs import ROOT, script
from scripts.marked import marked

PAGE = ROOT / "scripts" / "experiments" / "README.md"
FIGURES = {
    "multiple_consistency": ("figure_1", "figure_2", "figure_3", "figure_4", "grand_total"),
    "range_histogram": tuple(f"figure_3_{number}" for number in range(10, 20)),
}
PARTS = {"multiple_consistency": "multiple_consistency", "range_histogram": "range_histograms"}


def figures() -> Iterator[Result]:
    """Every figure is made, as a table and as a picture, and the page says of each whether the claim holds."""
    for name, made in FIGURES.items():
        with tempfile.TemporaryDirectory() as folder:
            script(f"scripts.experiments.{name}_figures", folder, "--quick")
            tables = [_rows(Path(folder, f"{figure}.csv")) for figure in made]
            pictures = [figure for figure in made if Path(folder, f"{figure}.png").stat().st_size > 10_000]
            yield at_least(f"{name}: tables with rows", sum(rows > 1 for rows in tables), len(made))
            yield at_least(f"{name}: pictures", len(pictures), len(made))
            said = Path(folder, "page.md").read_text(encoding="utf-8")
        page = marked(PAGE.read_text(encoding="utf-8"), PARTS[name])
        for where, text in (("the small run", said), ("the page", page)):
            verdicts = re.findall(r"\*\*[^*]*(?:[Hh]olds|not hold)[^*]*\*\*", text)
            least = 3 if name == "multiple_consistency" else len(made)
            yield at_least(f"{name}: claims with a verdict in {where}", len(verdicts), least)


def _rows(path: Path) -> int:
    with path.open(encoding="utf-8", newline="") as file:
        return len(list(csv.reader(file)))


CHECKS: tuple[Check, ...] = (figures,)
