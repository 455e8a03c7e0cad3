"""Fixtures of the tests of whole jobs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dplib.page import drawing
from dplib.page.few_pictures import one_too_many
from tests.support.interpreted import interpreting, planning_once
from tests.support.rows_in_python import count_in_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark(spark: "SparkSession") -> "Iterator[SparkSession]":
    """The session, which interprets expressions here: for few rows compiling them takes longer than all else.

    Compiled, and planned anew between tasks, as users run them, they are tested in `tests.spark`, on a cluster, behind
    Spark Connect and by runs in processes of their own.
    """
    with interpreting(spark), planning_once(spark):
        yield spark


@pytest.fixture(scope="module", autouse=True)
def without_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pages whose pictures are empty: drawing them takes longer than all else that a small run does.

    Modules marked `pictures`, and tests that take `pictures`, draw them; what they show is tested in `tests.unit.page`.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not request.node.get_closest_marker("pictures"):
            patch.setattr(drawing, "one_too_many", lambda _: True)
        yield


@pytest.fixture
def rows_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of the main job count their rows in this process: `tests.support.rows_in_python`."""
    count_in_python(monkeypatch)


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with all their pictures."""
    monkeypatch.setattr(drawing, "one_too_many", one_too_many)
