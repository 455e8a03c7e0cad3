"""What the page of network statistics draws and says besides numbers, without Spark or a ledger."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import Results
from dplib.jobs.network_statistics.measure import measure_edges
from dplib.jobs.network_statistics.noisy_graph_page import (
    model_callout,
    noisy_graph_blocks,
    other_charts,
    planned_tables,
)
from dplib.jobs.network_statistics.publish import write_tables
from dplib.jobs.network_statistics.rehearse import generate
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.ledger.runs import Run, RunKey, RunState
from dplib.page.blocks import Block, DataTable, Figure
from dplib.secret.secret import Secret
from dplib.workflow.run_keys import RunKeys
from tests.support.network_statistics import design_of

N = 40


def released(folder: Path, *statistics: str, **changes: Any) -> tuple[Design, Results, WholeGraph]:
    design = design_of(statistics, {"epsilon": 4}, n=N, **changes)
    run = Run(2, RunKey("page", "network-statistics", "", "0" * 64), Fraction(1), RunState.RESERVED)
    measure_edges(design, generate(N, 120, 1), RunKeys.derive(Secret(bytes(range(32))), run), folder)
    return design, *write_tables(design, folder)


def captions(blocks: list[Block]) -> list[str]:
    return [block.caption for block in blocks if isinstance(block, DataTable)]


@pytest.mark.parametrize(
    ("statistics", "title", "banded"),
    [
        (("cumulative_histogram", "sorted_degrees"), "Cumulative degree distribution", True),
        (("sorted_degrees",), "Sorted degrees", False),
    ],
)
def test_charts_without_a_histogram(tmp_path: Path, statistics: tuple[str, ...], title: str, banded: bool) -> None:
    design, results, _ = released(tmp_path, *statistics)
    (section,) = other_charts(design, results)
    (figure,) = section.blocks
    assert isinstance(figure, Figure)
    assert figure.title == title
    assert ("95 % interval" in figure.svg) is banded


def test_no_chart_of_single_numbers(tmp_path: Path) -> None:
    design, results, parts = released(tmp_path, "edge_count")
    assert other_charts(design, results) == ()
    assert noisy_graph_blocks(design, parts, results) == []
    assert model_callout(design) == ()
    assert captions(planned_tables(design))[0].startswith("Standard error")


def test_tables_of_blocks_and_choices(tmp_path: Path) -> None:
    coverage = {"candidates": {"first": [0, 1], "last": [38, 39]}}
    adjacency = {"blocks": {"low": list(range(20)), "high": list(range(20, N))}}
    made = released(tmp_path, "adjacency", "coverage", adjacency=adjacency, coverage=coverage)
    blocks, chosen = (block for block in noisy_graph_blocks(made[0], made[2], made[1]) if isinstance(block, DataTable))
    assert [row[0] for row in blocks.rows] == ["the whole graph", "inside high", "high – low", "inside low"]
    assert chosen.rows[0][1] in coverage["candidates"]
    assert chosen.rows[0][2] == "2"
    assert len(captions(planned_tables(made[0]))) == 3


def test_the_local_model_is_called_by_its_name(tmp_path: Path) -> None:
    design, _, _ = released(tmp_path, "degree_sequence", "adjacency", privacy={"model": "local"})
    (callout,) = model_callout(design)
    assert callout.tone == "warning"
    assert "edge is reported once" in str(callout.text)
    assert "half of the epsilon of degrees" in str(callout.text)
    one = released(tmp_path / "one", "degree_sequence", privacy={"model": "local"}, local={"counting": "one_end"})[0]
    assert "earlier end alone" in str(model_callout(one)[0].text)
    assert [str(each.statistic) for each in one.derived] == ["edge_count"]
