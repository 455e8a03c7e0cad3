"""The Java that Spark runs on, and the options that a JVM of ours gets.

A small local run spends many of its seconds on a JVM that loads and checks thousands of Spark's classes. Set-up keeps
them in an archive beside the environment (`scripts/class_archive.py`); a JVM that finds it maps them instead. Java
itself compares the archive with its own version and with every jar, and does without it where anything differs.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

from dplib.errors import ConfigError

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def prepare_java() -> None:
    """Find a Java: JAVA_HOME, then the one that set-up linked into this environment, then PATH."""
    given = os.environ.get("JAVA_HOME")
    if given:
        if not (Path(given) / "bin" / "java").exists():
            raise ConfigError("JAVA_HOME", "name a folder with bin/java", given)
        return
    linked = Path(sys.prefix) / "jre"
    if (linked / "bin" / "java").exists():
        os.environ["JAVA_HOME"] = str(linked)
    elif shutil.which("java") is None:
        raise ConfigError("JAVA_HOME", "name a Java 17 or newer, which Spark needs", "nothing and no java on PATH")


def class_archive() -> Path:
    """Where set-up keeps Spark's classes for this environment; the file need not be there."""
    return Path(sys.prefix) / "spark-classes.jsa"


def archive_options() -> list[str]:
    """Options that let a JVM start from the archive of classes; none where there is none."""
    archive = class_archive()
    return ["-Xshare:auto", shlex.quote(f"-XX:SharedArchiveFile={archive}")] if archive.is_file() else []


def java_options(own: str = "") -> list[str]:
    """Options of a JVM that we start: log settings, the archive of classes, and no words of Java's own on stdout.

    Args:
        own: the options that the settings give it.
    """
    quiet = ["-Xlog:disable", "-Xlog:all=error:stderr"]
    # Batches wait for no pause: the collector with the highest throughput, unless the user named one.
    named = [own, *(os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"))]
    collector = [] if "GC" in " ".join(named) else ["-XX:+UseParallelGC"]
    return [f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}", *collector, *quiet, *archive_options()]
