"""Files that are named one by one are those that Spark would list."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dplib.errors import SchemaError
from dplib.spark.engine.session import SPARK_ERRORS
from dplib.spark.rows.input_files import list_files, local_name
from dplib.spark.rows.named_files import named_files
from tests.spark.reading import source, write

LINE = "day,item\n2024-01-01,a\n"
NAMES = ["b.csv", "a %20+[1] {x}?#.csv", "sub/../sub/c;d.csv", "caf\xe9.csv"]


def test_files_named_one_by_one_are_those_that_spark_lists(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys([*NAMES, "sub/c;d.csv"], LINE))
    for paths in (NAMES[:1], NAMES[:3], NAMES):
        section = source(path=paths)
        listed = spark.read.text(section.paths(tmp_path)).inputFiles()
        files = list_files(spark, section, tmp_path).files
        assert sorted(map(local_name, files)) == sorted(map(local_name, listed))
        assert len(named_files(spark, section.places(tmp_path))) == (0 if paths is NAMES else len(paths))


def test_a_named_file_that_the_reader_passes_over_is_no_input(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"_in": LINE})
    with pytest.raises(SchemaError, match=r"^input.path must name at least one file, got _in"):
        list_files(spark, source(path="_in"), tmp_path)


def test_a_session_whose_paths_lie_elsewhere_lists_them_itself(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"in": LINE})
    assert named_files(spark, [str(tmp_path / "in")])
    spark.conf.set("fs.defaultFS", "elsewhere://x")
    try:
        with pytest.raises(SPARK_ERRORS):
            list_files(spark, source(), tmp_path)
    finally:
        spark.conf.unset("fs.defaultFS")
