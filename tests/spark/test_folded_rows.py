"""Rows in Spark are folded as the names of settings are."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dplib.config.fold import fold_key
from dplib.spark.rows.fold import fold_columns
from tests.support.folding import FOLDS, ODD


def test_rows_in_spark_are_folded_as_names_are(spark: SparkSession) -> None:
    texts = [f"{a}{b} {a}" for a in ODD for b in ODD] + ["", "STRASSE", "Straße"]
    texts += [f"{a}\x1f{b}{a}\x1f" for a in ODD for b in ODD]  # in several columns: each by itself
    frame = spark.createDataFrame([(number, text) for number, text in enumerate(texts)], "number int, name string")
    frame = frame.repartition(3)
    broken = spark.sql("SELECT -1 AS number, CAST(X'C3DF41' AS STRING) AS name UNION ALL SELECT -2, NULL")
    for fold in FOLDS:
        rows = fold_columns(frame.unionByName(broken), ["name"], fold)
        found = {row["number"]: row["name"] for row in rows.select("number", F.col("name").cast("binary")).collect()}
        assert found[-2] is None
        assert bytes(found[-1]) == b"\xc3\xdf\x41"
        for number, text in enumerate(texts):
            assert bytes(found[number]).decode() == fold_key(text, fold)
    assert fold_columns(frame, ["name"], None) is frame
