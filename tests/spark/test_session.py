import os
import subprocess
import sys
import traceback
from contextlib import suppress

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

VALUE = "SECRETVALUE"
NOISY_RUN = """
import gc
import sys
from pathlib import Path
import pyarrow as pa
import pyspark
from pyspark.sql import functions as F
from dplib.config.event_input import Columns, Input
from dplib.config.sections import EventPrivacySettings, SparkSettings
from dplib.errors import DplibError
from dplib.spark.rows.contributions import bound_rows
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.read import open_rows
from dplib.spark.rows.resolve import resolve_rows
from dplib.spark.rows.row_domain import RowDomain
from dplib.spark.engine.session import quiet_spark_errors, start_session, stop
import datetime as dt

folder = Path(sys.argv[1])
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

def look(batches):
    for batch in batches:
        seen = pa.array([f"{gc.get_freeze_count() > 0} {pyspark.__file__}"] * batch.num_rows)
        yield pa.RecordBatch.from_arrays([seen], ["seen"])

print("worker", spark.range(1).mapInArrow(look, "seen string").collect()[0]["seen"])
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
    lines = ["day,item,n,unit", "2020-01-01,naan,1,u1"]
    lines += [f"{VALUE},naan,1,u2", f"2020-01-01,{VALUE},1,u", f"2020-01-01,naan,{VALUE},u", f'"{VALUE},,', VALUE]
    (folder / "rows.csv").write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-c", NOISY_RUN, str(folder)], capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.spark
def test_no_value_reaches_the_screen(noisy_run: subprocess.CompletedProcess[str]) -> None:
    printed = noisy_run.stdout.splitlines()
    assert printed[0] == "counts [[1]]"
    # All five jobs do fail, and each would have printed the value.
    assert [line.split()[:2] for line in printed[2:]] == [
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
    assert noisy_run.stdout.splitlines()[1] == f"worker True {pyspark.__file__}"


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
