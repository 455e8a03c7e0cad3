"""Fixtures of the tests of reading and counting on Spark."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.interpreted import interpreting, planning_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def interpreted(spark: "SparkSession") -> "Iterator[None]":
    """Expressions are interpreted in a module that uses this; a test that takes `compiled` compiles them all the same.

    What a module looks at is compiled at least once, by the test that meets most kinds of values.
    """
    with interpreting(spark):
        yield


@pytest.fixture(scope="module")
def planned_once(spark: "SparkSession") -> "Iterator[None]":
    """Queries are planned once in a module that uses this; for a test that takes `compiled` as users' queries are."""
    with planning_once(spark):
        yield


@pytest.fixture
def compiled(spark: "SparkSession") -> "Iterator[SparkSession]":
    """The session as users have it: expressions are compiled, queries planned anew between tasks."""
    with interpreting(spark, wanted=False), planning_once(spark, wanted=False):
        yield spark
