"""The Java that Spark runs on: where it is found, and the archive of classes that it starts from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dplib.errors import ConfigError
from dplib.spark.engine.java import class_archive, java_options, prepare_java

START = """
import sys
from dplib.config.sections import SparkSettings
from dplib.spark.engine import java
from dplib.spark.engine.session import start_session, stop
from pathlib import Path

java.class_archive = lambda: Path(sys.argv[1])
conf = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
spark = start_session("archive", SparkSettings(master="local[1]", conf=conf))
print(spark.sparkContext.defaultParallelism)
stop(spark)
"""


def test_java_is_looked_for_in_three_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="JAVA_HOME must name a folder with bin/java"):
        prepare_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(ConfigError, match="JAVA_HOME must name a Java 17 or newer"):
        prepare_java()
    java = tmp_path / "jre" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("")
    prepare_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "jre")


def test_an_archive_of_classes_is_used_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "an environment"))
    without = java_options()
    class_archive().parent.mkdir()
    class_archive().touch()
    assert java_options() == [
        *without,
        "-Xshare:auto",
        f"'-XX:SharedArchiveFile={tmp_path}/an environment/spark-classes.jsa'",
    ]


@pytest.mark.spark
def test_an_archive_that_does_not_fit_is_passed_over_in_silence(tmp_path: Path) -> None:
    archive = tmp_path / "other classes.jsa"
    archive.write_text("no archive of classes")
    done = subprocess.run([sys.executable, "-c", START, str(archive)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n"
    assert not [line for line in done.stderr.splitlines() if "incubator" not in line], done.stderr
