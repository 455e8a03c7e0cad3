"""The guide's page about k-means: its tables are those of stored results, its names and passes those of the code."""

import json
import os
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dplib.clustering.choose import METHODS, plan_method, run_plan
from dplib.clustering.problem import Problem
from dplib.clustering.rejected_methods import REFUSED
from dplib.clustering.source import Blocks, Keyed, Summary
from dplib.clustering.space import Space
from dplib.guide import read_page
from dplib.jobs.kmeans.config import LOCAL_METHODS
from dplib.privacy.budget import ZCDP, Budget, PureDP
from scripts.experiments import kmeans_rules, kmeans_table
from scripts.marked import marked
from tests.docs.test_guide_figures import table
from tests.support.clustering import keyed, mixture

PAGE = read_page("kmeans")


def test_measured_tables_are_those_of_the_stored_results() -> None:
    stored = json.loads(kmeans_table.STORED.read_text(encoding="utf-8"))
    assert marked(PAGE, "kmeans_table") == kmeans_table.render(stored).strip()
    assert len(stored["data"]) == 6
    rules = json.loads(kmeans_rules.STORED.read_text(encoding="utf-8"))
    assert marked(PAGE, "kmeans_rules") == kmeans_rules.render(rules).strip()


def test_every_algorithm_of_the_survey_is_a_method_or_refused_by_name() -> None:
    algorithms = table(PAGE, "reference |")
    for _, _, here in algorithms:
        assert set(re.findall(r"`(\w+)`", here)) <= {*METHODS, *LOCAL_METHODS, *REFUSED}
    named = set(re.findall(r"`(\w+)`", " ".join(here for *_, here in algorithms)))
    assert named >= set(REFUSED)
    assert {name for (name, *_) in table(PAGE, "method | what it does")} == {f"`{name}`" for name in METHODS}


@pytest.mark.skipif("DPLIB_SHARED" not in os.environ, reason="needs the shared folder")
def test_the_table_holds_every_algorithm_that_the_survey_cites() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(os.environ["DPLIB_SHARED"], "seeds").glob("004_*")]
    (text,) = texts
    # The third chapter is about algorithms; numbers in brackets are references.
    chapter = text.split("### 3 ")[1].split("## 4 ")[0]
    cited = {int(number) for group in re.findall(r"\[([\d, \-]+)\]", chapter) for number in numbers_of(group)}
    listed = {int(number) for row in table(PAGE, "reference |") for number in row[0].split(",")}
    # Tools that an algorithm uses: candidate centers, non-private k-means and k-means++, projection, extension, heavy
    # hitters, nets.
    tools = {2, 20, 37, 43, 44, 49, 51, 53}
    assert cited - tools <= listed


def numbers_of(group: str) -> list[str]:
    """28,30-36 as its numbers."""
    found: list[str] = []
    for part in group.replace(" ", "").split(","):
        low, _, high = part.partition("-")
        found += [str(number) for number in range(int(low), int(high or low) + 1)] if low else []
    return found


class Counted:
    """Points that count how often someone goes over them."""

    def __init__(self, points: Blocks) -> None:
        self._points, self.passes = points, 0

    def total(self, summary: Summary) -> Keyed:
        self.passes += 1
        return self._points.total(summary)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_makes_as_many_passes_as_the_page_says(method: str) -> None:
    (told,) = (cells[3] for cells in table(PAGE, "method | what it does") if cells[0] == f"`{method}`")
    k, space = 5, Space.ball([0.0, 0.0], 1.0)
    told = told.replace("min(k, 20)", str(k)).replace("2 k", str(2 * k)).replace("the start's", "2")
    fewest, _, most = told.partition(" to ")
    points, problem = Blocks(space.to_units(mixture(400, 2, 4, 1))), Problem(space, k)
    for epsilon in (Fraction(1, 10), Fraction(20)):
        pure = method not in ("tree_coreset", "max_cover")
        budget: Budget = PureDP(epsilon) if pure else ZCDP(epsilon)
        source = Counted(points)
        run_plan(source, keyed(1), problem, plan_method(problem, budget, method))
        assert total(fewest) <= source.passes <= total(most or fewest)


def total(text: str) -> int:
    """A sum such as 5 + 3."""
    return sum(int(number) for number in text.split("+"))
