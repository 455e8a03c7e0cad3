"""Settings of conf/spark are real ones of this Spark, explained, the private ones alike; the script takes the right."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from dplib.spark.engine.session import PINNED, QUIET

ROOT = Path(__file__).parents[2]
KINDS = ("kubernetes", "local", "standalone", "yarn")
ENTRIES = (
    "org.apache.spark.internal.config.package$",
    "org.apache.spark.internal.config.Network$",
    "org.apache.spark.internal.config.Python$",
    "org.apache.spark.internal.config.UI$",
    "org.apache.spark.sql.internal.SQLConf$",
    "org.apache.spark.deploy.yarn.config.package$",
    "org.apache.spark.deploy.k8s.Config$",
)
"""Spark's classes that declare settings."""
PRIVACY = re.compile(r"^# --- Privacy: .*?(?=^# --- )", re.MULTILINE | re.DOTALL)


def text_of(kind: str) -> str:
    return (ROOT / "conf" / "spark" / f"{kind}.conf").read_text(encoding="utf-8")


def settings_of(kind: str) -> dict[str, str]:
    lines = [line.split() for line in text_of(kind).splitlines() if line and not line.startswith("#")]
    assert all(len(line) == 2 for line in lines)
    settings = dict(lines)
    assert len(settings) == len(lines)
    return settings


@pytest.fixture(scope="module")
def known(spark: SparkSession) -> JavaObject:
    """Spark's register of settings, filled."""
    java = spark.sparkContext._jvm
    assert java is not None
    for name in ENTRIES:
        java.java.lang.Class.forName(name)
    return getattr(getattr(java.org.apache.spark.internal.config, "ConfigEntry$"), "MODULE$")


@pytest.fixture(scope="module")
def deprecated(spark: SparkSession) -> set[str]:
    """Names that Spark still takes and warns of."""
    java = spark.sparkContext._jvm
    assert java is not None
    core = getattr(getattr(java.org.apache.spark, "SparkConf$"), "MODULE$")
    sql = getattr(getattr(java.org.apache.spark.sql.internal, "SQLConf$"), "MODULE$")
    found: set[str] = set()
    for names in (core.deprecatedConfigs(), sql.deprecatedSQLConfigs(), sql.removedSQLConfigs()):
        iterator = names.keysIterator()
        while iterator.hasNext():
            found.add(iterator.next())
    return found


def is_known(known: JavaObject, key: str) -> bool:
    """Whether this Spark declares the setting; names that it only translates are not declared."""
    return known.findEntry(key) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_is_one_of_this_spark(kind: str, known: JavaObject, deprecated: set[str]) -> None:
    keys = settings_of(kind).keys()
    assert {key for key in keys if not is_known(known, key)} == set()
    assert keys & deprecated == set()


def test_wrong_and_old_names_are_found(known: JavaObject, deprecated: set[str]) -> None:
    assert not is_known(known, "spark.ui.enable")
    assert not is_known(known, "spark.yarn.access.namenodes")
    assert is_known(known, "spark.yarn.jars")
    assert is_known(known, "spark.kubernetes.namespace")
    assert {"spark.blacklist.enabled", "spark.sql.execution.arrow.enabled"} <= deprecated


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_is_explained_by_a_sentence(kind: str) -> None:
    paragraphs = [part.splitlines() for part in text_of(kind).split("\n\n")]
    for lines in paragraphs:
        comment = [line for line in lines if line.startswith("# ")]
        settings = [line for line in lines if not line.startswith("#")]
        assert lines == comment + settings
        # One setting a paragraph, below what is said of it.
        assert len(settings) <= 1
        assert comment
        assert comment[-1].endswith((".", "off.", "---")), comment
        assert all(len(line) <= 120 for line in lines)


def test_what_keeps_rows_private_is_alike_everywhere() -> None:
    parts = {kind: PRIVACY.findall(text_of(kind)) for kind in KINDS}
    assert all(len(found) == 1 for found in parts.values())
    assert len({found[0] for found in parts.values()}) == 1
    shared = dict(line.split() for line in parts["local"][0].splitlines() if line and not line.startswith("#"))
    # What the jobs insist on where they start Spark, but for Arrow, which hides nothing; and the encryption of spills.
    insisted = QUIET.keys() - {"spark.sql.execution.arrow.pyspark.enabled"}
    assert shared == {key: QUIET[key] for key in insisted} | {"spark.io.encryption.enabled": "true"}
    for kind in KINDS:
        assert settings_of(kind).keys() & PINNED.keys() == set()


def submitted(tmp_path: Path, *words: str, **variables: str) -> tuple[int, list[str], dict[str, str], str]:
    """What the script would run: exit code, arguments, variables of Spark, standard error."""
    spark_submit = tmp_path / "bin" / "spark-submit"
    spark_submit.parent.mkdir(exist_ok=True)
    spark_submit.write_text('#!/bin/sh\nenv | grep -E "^(PYSPARK|SPARK)_"\necho --\nprintf "%s\\n" "$@"\n')
    spark_submit.chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK", "DPLIB_"))}
    done = subprocess.run(
        [ROOT / "scripts" / "submit.sh", *words],
        env=clean | {"SPARK_HOME": str(tmp_path), "DPLIB_WHEEL": "the.whl"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    cut = lines.index("--") if "--" in lines else 0
    found = dict(line.split("=", 1) for line in lines[:cut])
    return done.returncode, lines[cut + 1 :], found, done.stderr


JOB = ("jobs/kmeans.py", "--config", "x.yaml", "--master", "belongs-to-the-job")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ((), "local"),
        (("--master", "local[3]"), "local"),
        (("--master=spark://h:7077",), "standalone"),
        (("--py-files", "other.py", "--master", "spark://h:7077"), "standalone"),
        (("-v", "--conf", "spark.master=yarn"), "yarn"),
        (("--master", "k8s://https://h:6443"), "kubernetes"),
    ],
)
def test_the_script_takes_the_settings_of_the_master(words: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    code, arguments, variables, err = submitted(tmp_path, *words, *JOB)
    assert code == 0, err
    assert arguments[:3] == [
        "--properties-file",
        str(ROOT / "conf" / "spark" / f"{kind}.conf"),
        "--load-spark-defaults",
    ]
    # Options given on the command line stand last, so they win; the job's own follow.
    assert arguments[-len(words + JOB) :] == [*words, *JOB]
    assert arguments[arguments.index("--py-files") + 1] == "the.whl"
    assert ("local[*]" in arguments) == (words == ())
    assert variables["PYSPARK_DRIVER_PYTHON"] == str(ROOT / ".venv" / "bin" / "python")
    if kind == "kubernetes":
        assert variables["PYSPARK_PYTHON"].startswith("/opt/dplib/")
    else:
        assert variables["PYSPARK_PYTHON"] == variables["PYSPARK_DRIVER_PYTHON"]


def test_a_packed_environment_is_the_python_of_executors(tmp_path: Path) -> None:
    packed = tmp_path / "environment.tar.gz"
    packed.touch()
    code, arguments, variables, err = submitted(tmp_path, "--master", "yarn", *JOB, DPLIB_ENVIRONMENT=str(packed))
    assert code == 0, err
    assert arguments[arguments.index("--archives") + 1] == f"{packed}#environment"
    assert variables["PYSPARK_PYTHON"] == "./environment/bin/python"
    assert variables["PYSPARK_DRIVER_PYTHON"] == str(ROOT / ".venv" / "bin" / "python")
    in_cluster = ("--master", "yarn", "--deploy-mode", "cluster")
    _, _, variables, _ = submitted(tmp_path, *in_cluster, *JOB, DPLIB_ENVIRONMENT=str(packed))
    assert variables["PYSPARK_DRIVER_PYTHON"] == "./environment/bin/python"
    # In local mode there are no executors elsewhere.
    _, arguments, variables, _ = submitted(tmp_path, *JOB, DPLIB_ENVIRONMENT=str(packed))
    assert "--archives" not in arguments
    assert variables["PYSPARK_PYTHON"] == variables["PYSPARK_DRIVER_PYTHON"]


def test_on_kubernetes_in_cluster_mode_the_image_holds_the_packages(tmp_path: Path) -> None:
    words = ("--master", "k8s://https://h:6443", "--deploy-mode", "cluster", "local:///opt/dplib/jobs/kmeans.py")
    code, arguments, variables, err = submitted(tmp_path, *words)
    assert code == 0, err
    assert "--py-files" not in arguments
    assert variables["PYSPARK_DRIVER_PYTHON"] == variables["PYSPARK_PYTHON"]


@pytest.mark.parametrize(
    ("words", "variables", "sentence"),
    [
        (("--master", "mesos://h"), {}, "--master must be local, local[N], spark://HOST:PORT, yarn or k8s://URL, got"),
        (("--master", "spark://h:1", "--deploy-mode", "cluster"), {}, "--deploy-mode must be client on a standalone"),
        (("--master", "yarn"), {"DPLIB_ENVIRONMENT": "none"}, "DPLIB_ENVIRONMENT must name a packed environment"),
    ],
)
def test_the_script_refuses_with_one_sentence(
    words: tuple[str, ...], variables: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    code, arguments, _, err = submitted(tmp_path, *words, *JOB, **variables)
    assert (code, arguments) == (2, [])
    assert err.startswith(f"submit: {sentence}")
    assert err.count("\n") == 1
