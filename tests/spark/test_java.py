"""The Java that Spark runs on: where it is found, and the archive of classes that it starts from."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dplib.errors import ConfigError
from dplib.spark.engine import java
from dplib.spark.engine.java import class_archive, java_options, prepare_java


def test_java_is_looked_for_in_three_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="JAVA_HOME must name a folder with bin/java"):
        prepare_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(ConfigError, match="JAVA_HOME must name a Java 17 or newer"):
        prepare_java()
    program = tmp_path / "jre" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("")
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


def test_an_archive_that_does_not_fit_is_passed_over_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Java itself; that Spark's Java gets the options is seen in `tests.spark.test_session`."""
    archive = tmp_path / "other classes.jsa"
    archive.write_text("no archive of classes")
    monkeypatch.setattr(java, "class_archive", lambda: archive)
    prepare_java()
    options = shlex.split(" ".join(java_options("-XX:+UseSerialGC")))
    assert f"-XX:SharedArchiveFile={archive}" in options
    command = [Path(os.environ["JAVA_HOME"]) / "bin" / "java", *options, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("openjdk")
