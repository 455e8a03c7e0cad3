"""The guide's page on k-means has parts that experiments write: their command line, and where they put their tables."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.marked import with_marked

PAGE = Path(__file__).resolve().parents[2] / "dplib" / "guide" / "kmeans.md"


def run_and_render(
    story: str | None, part: str, stored: Path, fill: Callable[[Any, Path | None], None], render: Callable[[Any], str]
) -> None:
    """The command line of a script that stores results as it goes and writes them into a part of the guide's page.

    Args:
        story: what the script says of itself.
        part: of the page.
        stored: file of the results.
        fill: adds what is missing to the results, given the folder of point sets, and stores it.
        render: the results as Markdown.
    """
    parser = argparse.ArgumentParser(description=story, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=Path)
    parser.add_argument("--render", action="store_true")
    settings = parser.parse_args()
    results: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
    if not settings.render:
        fill(results, settings.points)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_marked(page, part, render(results)), encoding="utf-8")
