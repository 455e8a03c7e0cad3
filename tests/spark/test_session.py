import os
import re
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dplib.config.sections import SparkSettings
from dplib.errors import ConfigError, DplibError, SchemaError
from dplib.spark.engine import session
from dplib.spark.engine.java import class_archive
from dplib.spark.engine.session import (
    JAVA_OPTIONS,
    PINNED,
    deploy_mode,
    open_session,
    pin_session,
    quiet_spark_errors,
    start_session,
)
from tests.support.bad_rows import CANARY, EVERY_KIND, NUMBER, nearly_exact, require_counted, texts_of
from tests.support.every_job import OWN_SPARK
from tests.support.jobs import ROOT, SECRET, Outcome, new_shop, python_process

VALUE, NAME = "SECRETVALUE", "SHOP_SECRET_VARIABLE"
NOISY_RUN = """
import gc
import os
import runpy
import sys
from pathlib import Path
import pyarrow as pa
import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from dplib.errors import DplibError
from dplib.jobs.consistent_histograms.job import JOB
from dplib.spark.engine import java, session
from dplib.spark.engine.session import java_holds, quiet_spark_errors

program, config, rows, name = sys.argv[1:]
JOB.prepare(Path(config))
archive = Path(rows).with_name("the classes.jsa")
java.class_archive = lambda: archive
# The job's program starts the session, which goes on after it.
stop, session.stop = session.stop, lambda _: None
sys.argv = [program, "--config", "shop.yaml"]
try:
    runpy.run_path(program, run_name="__main__")
except SystemExit as ended:
    assert not ended.code, ended.code
spark = SparkSession.getActiveSession()

def fail(batches):
    for batch in batches:
        raise ValueError(str(batch.to_pydict()))
    yield batch

def held_by(pid):
    place = Path(f"/proc/{pid}/environ")
    return place.exists() and name in place.read_text()

def look(batches):
    for batch in batches:
        held = name in os.environ or held_by("self") or held_by(os.getppid())
        seen = pa.array([f"{held} {gc.get_freeze_count() > 0} {pyspark.__file__}"] * batch.num_rows)
        yield pa.RecordBatch.from_arrays([seen], ["seen"])

options = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
print("archive", archive.exists() == (f"-XX:SharedArchiveFile={archive}" in list(options)))
print("worker", spark.range(1).mapInArrow(look, "seen string").collect()[0]["seen"])
print("java", held_by(SparkContext._gateway.proc.pid), java_holds(name), java_holds("PATH"))
text = spark.read.text(rows)
jobs = {
    "cast": lambda: text.select(F.col("value").cast("int")).collect(),
    "python": lambda: text.mapInArrow(fail, "value string").collect(),
    "failfast": lambda: spark.read.csv(rows, schema="n int", mode="FAILFAST").collect(),
    "header": lambda: spark.read.csv(rows, schema="a string", header=True, enforceSchema=False).collect(),
    "column": lambda: text.select("absent").collect(),
}
for name, job in jobs.items():
    try:
        with quiet_spark_errors():
            job()
    except DplibError as error:
        print(name, type(error).__name__, error)
stop(spark)
"""


@pytest.fixture(scope="module")
def noisy_run(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """What a process prints that runs a job's file on bad rows, and whose session fails then at values of others."""
    folder = tmp_path_factory.mktemp("noisy")
    shop = nearly_exact(new_shop(folder / "shop", budget="900"), EVERY_KIND).set(spark=OWN_SPARK)
    rows = folder / "rows.csv"
    rows.write_text(f"{CANARY},naan,1\n" * 3)
    if class_archive().exists():
        rows.with_name("the classes.jsa").symlink_to(class_archive())
    program, other = ROOT / "jobs" / "consistent_histograms.py", new_shop(folder / "other").set(secret=f"env:{NAME}")
    words = [str(program), str(other.config), str(rows), NAME]
    found = python_process("-c", NOISY_RUN, *words, cwd=shop.folder, **{NAME: SECRET.hex()})
    assert found.code == 0, found.err
    return found


@pytest.mark.spark
def test_bad_values_count_by_the_rule_and_are_seen_nowhere(noisy_run: Outcome) -> None:
    lines = noisy_run.out.splitlines()
    release = Path(lines[-9])
    require_counted(release)
    # All five jobs do fail, and each would have printed the value.
    assert [line.split()[:2] for line in lines[-5:]] == [
        ["cast", "DplibError"], ["python", "DplibError"], ["failfast", "SchemaError"], ["header", "SchemaError"],
        ["column", "SchemaError"],
    ]  # fmt: skip
    text = noisy_run.out + noisy_run.err + texts_of(release)
    assert CANARY not in text
    assert NUMBER not in text
    # What the run says of itself and Java's notice about a module are all that may stand on stderr.
    said = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z |.*incubator")
    assert [line for line in noisy_run.err.splitlines() if not said.match(line)] == []


@pytest.mark.spark
def test_java_gets_the_archive_of_classes_where_there_is_one(noisy_run: Outcome) -> None:
    """Its path has a blank here."""
    assert noisy_run.out.splitlines()[-8] == "archive True"


@pytest.mark.spark
def test_workers_start_with_what_they_need(noisy_run: Outcome) -> None:
    # Only the process that dplib has workers forked from takes what it loaded out of their search for garbage; modules
    # are compiled ones of the installed package, not those of Spark's archive.
    assert noisy_run.out.splitlines()[-7].split(" ", 2)[2] == f"True {pyspark.__file__}"


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not show environments")
def test_neither_java_nor_a_worker_gets_the_variable_of_a_secret(noisy_run: Outcome) -> None:
    """Also where the secret is never read, as when a stored measurement is published."""
    worker, java = noisy_run.out.splitlines()[-7:-5]
    assert worker.split()[:2] == ["worker", "False"]
    # The looking itself works: Java has a PATH.
    assert java.split() == ["java", "False", "False", "True"]


def test_spark_errors_become_sentences(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(VALUE,)], "text string")
    with (
        pytest.raises(DplibError, match=r"^Spark must be able to try it, got NumberFormatException ") as caught,
        quiet_spark_errors("try it"),
    ):
        frame.select(F.col("text").cast("int")).collect()
    assert VALUE not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(SchemaError, match="UNRESOLVED_COLUMN"), quiet_spark_errors():
        frame.select("absent").collect()
    with pytest.raises(ZeroDivisionError), quiet_spark_errors():
        _ = 1 // 0


def test_the_session_is_local_quiet_and_pinned(spark: SparkSession) -> None:
    assert deploy_mode(spark) == "local"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.conf.get("spark.eventLog.enabled") == "false"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.conf.get("spark.driver.maxResultSize") == "0"  # no size of a result ends a run
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    pin_session(spark)
    assert {key: spark.conf.get(key) for key in PINNED} == PINNED
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_a_session_of_others_has_its_own_settings_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    before = spark.conf.getAll
    conf = {"spark.sql.shuffle.partitions": "17", "spark.sql.files.maxRecordsPerFile": "9", JAVA_OPTIONS: "-Xmx2g"}
    with suppress(ZeroDivisionError), open_session("guest", SparkSettings(conf=conf)) as guest:
        assert guest.conf.get("spark.sql.shuffle.partitions") == "17"
        assert guest.conf.get("spark.sql.session.timeZone") == PINNED["spark.sql.session.timeZone"]
        _ = 1 // 0
    # Also where the start ends half way.
    monkeypatch.setattr(session, "_ship_package", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError), open_session("guest", SparkSettings(conf=conf)):
        pass
    after = spark.conf.getAll
    pin_session(spark)
    assert {key for key in before | after if before.get(key) != after.get(key)} <= {JAVA_OPTIONS, "spark.app.name"}


def test_a_setting_that_decides_counts_is_refused() -> None:
    settings = SparkSettings(conf={"spark.sql.session.timeZone": "Europe/London"})
    with pytest.raises(ConfigError, match=r"spark.conf must not change spark.sql.session.timeZone, .* Europe/London"):
        start_session("refused", settings)


def test_the_interpreter_of_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/cluster/python")
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    session._set_python("spark://master:7077")
    assert (os.environ["PYSPARK_PYTHON"], os.environ["PYSPARK_DRIVER_PYTHON"]) == ("/cluster/python", sys.executable)
    session._set_python("local[*]")
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
