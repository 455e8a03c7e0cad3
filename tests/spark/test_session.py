import os
import subprocess
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
from dplib.spark.engine.session import (
    JAVA_OPTIONS,
    PINNED,
    deploy_mode,
    open_session,
    pin_session,
    quiet_spark_errors,
    start_session,
)
from tests.support.jobs import SECRET, new_shop

VALUE, NAME = "SECRETVALUE", "SHOP_SECRET_VARIABLE"
NOISY_RUN = """
import gc
import os
import sys
from pathlib import Path
import pyarrow as pa
import pyspark
from pyspark import SparkContext
from pyspark.sql import functions as F
from dplib.config.event_input import Columns, Input
from dplib.config.sections import EventPrivacySettings, SparkSettings
from dplib.errors import DplibError
from dplib.jobs.consistent_histograms.job import JOB
from dplib.spark.rows.contributions import bound_rows
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.read import open_rows
from dplib.spark.rows.resolve import resolve_rows
from dplib.spark.rows.row_domain import RowDomain
from dplib.spark.engine.session import java_holds, quiet_spark_errors, start_session, stop
import datetime as dt

folder, config, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
JOB.prepare(config)
conf = {"spark.sql.shuffle.partitions": "1", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
spark = start_session("noisy", SparkSettings(master="local[1]", conf=conf))
columns = Columns(day="day", item="item", quantity="n", unit="unit")
source = Input(path="rows.csv", options={"header": "true"}, columns=columns)
privacy = EventPrivacySettings.model_validate({"unit": "order", "max_rows_per_unit": 1, "budget": {"epsilon": 1}})
resolved = resolve_rows(open_rows(spark, source, folder), source, privacy, RowDomain(dt.date(2020, 1, 1), 1, ["naan"]))
print("counts", count_cells(bound_rows(resolved, 1, 1, bytes(32)), 1, 1).tolist())

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

print("worker", spark.range(1).mapInArrow(look, "seen string").collect()[0]["seen"])
print("java", held_by(SparkContext._gateway.proc.pid), java_holds(name), java_holds("PATH"))
text = spark.read.text(str(folder / "rows.csv"))
jobs = {
    "cast": lambda: text.select(F.col("value").cast("int")).collect(),
    "python": lambda: text.mapInArrow(fail, "value string").collect(),
    "failfast": lambda: spark.read.csv(str(folder / "rows.csv"), schema="n int", mode="FAILFAST").collect(),
    "header": lambda: spark.read.csv(
        str(folder / "rows.csv"), schema="a string", header=True, enforceSchema=False
    ).collect(),
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
def noisy_run(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """What a process prints whose session, started as users' sessions are, fails at values of rows."""
    folder = tmp_path_factory.mktemp("noisy")
    shop = new_shop(folder).set(secret=f"env:{NAME}")
    lines = ["day,item,n,unit", "2020-01-01,naan,1,u1"]
    lines += [f"{VALUE},naan,1,u2", f"2020-01-01,{VALUE},1,u", f"2020-01-01,naan,{VALUE},u", f'"{VALUE},,', VALUE]
    (folder / "rows.csv").write_text("\n".join(lines))
    words = [sys.executable, "-c", NOISY_RUN, str(folder), str(shop.config), NAME]
    known = os.environ | {NAME: SECRET.hex()}
    done = subprocess.run(words, env=known, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.spark
def test_no_value_reaches_the_screen(noisy_run: subprocess.CompletedProcess[str]) -> None:
    printed = noisy_run.stdout.splitlines()
    assert printed[0] == "counts [[1]]"
    # All five jobs do fail, and each would have printed the value.
    assert [line.split()[:2] for line in printed[3:]] == [
        ["cast", "DplibError"], ["python", "DplibError"], ["failfast", "SchemaError"], ["header", "SchemaError"],
        ["column", "SchemaError"],
    ]  # fmt: skip
    assert VALUE not in noisy_run.stdout + noisy_run.stderr
    # Java's notice about a module is all that may stand on stderr.
    assert [line for line in noisy_run.stderr.splitlines() if "incubator" not in line] == []


@pytest.mark.spark
def test_workers_start_with_what_they_need(noisy_run: subprocess.CompletedProcess[str]) -> None:
    # Only the process that dplib has workers forked from takes what it loaded out of their search for garbage; modules
    # are compiled ones of the installed package, not those of Spark's archive.
    assert noisy_run.stdout.splitlines()[1].split(" ", 2)[2] == f"True {pyspark.__file__}"


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not show environments")
def test_neither_java_nor_a_worker_gets_the_variable_of_a_secret(noisy_run: subprocess.CompletedProcess[str]) -> None:
    """Also where the secret is never read, as when a stored measurement is published."""
    _, worker, java = noisy_run.stdout.splitlines()[:3]
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
