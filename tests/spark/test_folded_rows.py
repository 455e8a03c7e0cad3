"""Rows in Spark are folded as the names of settings are."""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.fold import fold_key
from dplib.spark.rows.fold import fold_columns
from tests.spark.rows import table_of
from tests.support.folding import FOLDS, ODD


def test_rows_in_spark_are_folded_as_names_are(spark: SparkSession) -> None:
    texts = [f"{a}{b} {a}" for a in ODD for b in ODD] + ["", "STRASSE", "Straße"]
    texts += [f"{a}\x1f{b}{a}\x1f" for a in ODD for b in ODD]  # in several columns: each by itself
    frame = table_of(spark, list(enumerate(texts)), "number int, name string").repartition(3)
    broken = spark.sql("SELECT -1 AS number, CAST(X'C3DF41' AS STRING) AS name UNION ALL SELECT -2, NULL")
    every, octets = frame.unionByName(broken), F.col("name").cast("binary")
    of_each = [
        fold_columns(every, ["name"], fold).select(F.lit(place).alias("fold"), "number", octets)
        for place, fold in enumerate(FOLDS)
    ]
    rows = reduce(DataFrame.union, of_each).collect()
    for place, fold in enumerate(FOLDS):
        found = {row["number"]: row["name"] for row in rows if row["fold"] == place}
        assert found[-2] is None
        assert bytes(found[-1]) == b"\xc3\xdf\x41"
        for number, text in enumerate(texts):
            assert bytes(found[number]).decode() == fold_key(text, fold)
    assert fold_columns(frame, ["name"], None) is frame
