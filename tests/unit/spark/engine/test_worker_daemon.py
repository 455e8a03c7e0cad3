"""Where Python workers look for modules: not in Spark's archives of what is installed."""

from dplib.spark.engine.worker_daemon import without_archives


def test_archives_of_an_installed_spark_are_left_out_and_those_of_another_are_not() -> None:
    given = "files", "env/lib/pyspark/python/lib/pyspark.zip", "env/lib/pyspark/jars/core.jar", "env/lib"
    other = "spark/python/lib/pyspark.zip", "spark/python/lib/py4j-src.zip", "env/other.zip"
    assert without_archives([*given, *other]) == ["files", "env/lib", *other]
    assert without_archives(list(other)) == list(other)
