"""Texts are numbers by a grammar, and days by a pattern that loses none."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dplib.errors import ConfigError
from dplib.spark.rows.resolve import number_column
from dplib.spark.rows.timestamps import check_date_format

NUMBERS = ["5", "+5", "-5.", ".5", "5e2", "1E-3", " 7 ", "1e400", "05", "Infinity", "-inf"]
NO_NUMBERS = [
    "5f", "5D", "1F", "2d", "0x5", "2L", "NaN", "nan", "infin", "++inf", "1,000", "1_0", "0x1p3", "٣", "", ".", "e5",
    "1e", "--1", "1-2", "1 2", "True", "½", "5e2.5", "1.2.3",
]  # fmt: skip


def test_only_plain_decimal_numbers_are_numbers(spark: SparkSession) -> None:
    texts = spark.createDataFrame([(text,) for text in NUMBERS + NO_NUMBERS], "t string")
    found = [row[0] for row in texts.select(number_column(F.col("t"), "string")).collect()]
    assert found == [float(text) for text in NUMBERS] + [None] * len(NO_NUMBERS)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("yyyy-MM-DD", "did you mean yyyy-MM-dd"),
        ("DD/MM/YYYY", "did you mean dd/MM/yyyy"),
        ("dd/mm/yyyy", "did you mean dd/MM/yyyy"),
        ("YYYY-MM-dd", "did you mean yyyy-MM-dd"),
        ("yyyy-MM-dd HH:MM", "did you mean yyyy-MM-dd HH:mm"),
        ("dd.MM.yyyy hh:mm", "did you mean HH"),
        ("MM/dd/yyyy HH:mm a", "did you mean hh"),
        ("yyyy-MM-dd dd", "hold the day of the month .* once"),
        ("yyyy-MM", "hold year, month"),
        ("MMM d", "hold year, month"),
        *((pattern, "") for pattern in ("foo", "yyyy-MM-dd'T", "HH:mm", "", "E d MMM yyyy")),
    ],
)
def test_patterns_that_lose_days_are_refused_with_the_one_that_is_meant(
    pattern: str, said: str, spark: SparkSession
) -> None:
    with pytest.raises(ConfigError, match=rf"^input.date_format must .*{said}"):
        check_date_format(spark, pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "yyyy-DDD",
        "MM/dd/yyyy hh:mm a",
        "d MMM yyyy",
        "[yyyy-MM-dd][dd/MM/yyyy]",
        "yyyy-MM-dd'T'HH:mm:ss.SSSX",
        "yyMMdd HH",
        "d.M.yy",
        "dd/MM/yyyy HH:mm",
        "yyyy-MM-dd'T'HH:mm:ssXXX",
    ],
)
def test_patterns_that_lose_none_are_accepted(pattern: str, spark: SparkSession) -> None:
    check_date_format(spark, pattern)
