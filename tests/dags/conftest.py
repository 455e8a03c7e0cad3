"""A real Airflow with a database of its own; where the environment holds none, nothing here is collected.

`make test-airflow` runs these tests in the environment of requirements-airflow.lock, which cannot import dplib.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HAS_AIRFLOW = importlib.util.find_spec("airflow") is not None
collect_ignore_glob = [] if HAS_AIRFLOW else ["test_*.py"]

if HAS_AIRFLOW:
    # Airflow reads its settings when it is imported.
    HOME = Path(tempfile.mkdtemp(prefix="dplib-airflow-"))
    for name in [name for name in os.environ if name.startswith("AIRFLOW_")]:
        del os.environ[name]
    os.environ |= {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(HOME / "checkout" / "jobs" / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[1]"}',
        "AIRFLOW_CONN_SPARK_CLUSTER": '{"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}',
        "DPLIB_SCHEDULES": str(HOME / "schedules.yaml"),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    }
    if (ROOT / ".venv" / "jre").exists():
        os.environ.setdefault("JAVA_HOME", str(ROOT / ".venv" / "jre"))

    # A checkout with one job more than this one.
    shutil.copytree(ROOT / "jobs", HOME / "checkout" / "jobs")
    (HOME / "checkout" / "jobs" / "rows_by_day.py").write_text(
        "from dplib.cli.main import submit\n"
        "from tests.support.rows_by_day.__main__ import register\n"
        "register()\n"
        'submit("rows-by-day")\n',
        encoding="utf-8",
    )
    sys.path.append(str(HOME / "checkout" / "jobs" / "dags"))
    sys.path.append(str(ROOT))

    from airflow_place import World

    @pytest.fixture(scope="session")
    def world() -> Iterator[World]:
        """The database, the pool, and the jobs that the schedule file of these tests names."""
        yield World(HOME)
        shutil.rmtree(HOME, ignore_errors=True)  # a process that was killed may still write its log
