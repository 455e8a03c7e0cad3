"""A world for the DAGs: jobs with their rows and ledgers, a schedule file, and Airflow's answers about a run.

``home`` is a stand-in for a checkout: its two programs do what a script tells them, and without a script what the real
ones do. So failures can be played that no real run shows on demand.
"""

import datetime as dt
import hashlib
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from airflow.dag_processing.dagbag import BundleDagBag
from airflow.models import DagRun, TaskInstance
from airflow.models.pool import Pool
from airflow.sdk import DAG
from airflow.utils.db import initdb
from airflow.utils.session import create_session
from sqlalchemy import select

from tests.support.release_bytes import unreserved

ROOT = Path(__file__).resolve().parents[2]
DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")
ROWS = "date,product,quantity,order_id,age\n" + "".join(
    f"{day},{item},1,{order}{day},{age}\n"
    for day in DAYS
    for order, item, age in (("a", "bread", 3), ("b", "milk", 5), ("c", "tea", 12), ("d", "tea", 19))
)
FAST = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "spark.sql.shuffle.partitions": 1}
COMMON: dict[str, Any] = {
    "config_version": 1,
    "dataset": "shop",
    "privacy": {"unit": "order", "max_rows_per_unit": 3, "budget": {"epsilon": 1}},
    "publish": {"output": {"path": "releases"}},
    "ledger": "sqlite:///ledger.db",
    "secret": "file:shop.key",
}
COUNTS = COMMON | {
    "job": "consistent-histograms",
    "input": {
        "path": "orders.csv",
        "format": "csv",
        "options": {"header": "true"},
        "columns": {"day": "date", "item": "product", "quantity": "quantity", "unit": "order_id"},
    },
    "privacy": COMMON["privacy"] | {"max_quantity": 5},
    "domain": {"items": ["bread", "milk", "tea"], "first_day": "{date}", "last_day": "{date}"},
    "tree": {"levels": ["day"]},
}
AGES = COMMON | {
    "job": "range-histograms",
    "input": {
        "path": "orders-{date}.csv",
        "format": "csv",
        "options": {"header": "true"},
        "columns": {"value": "age", "unit": "order_id"},
    },
    "histogram": {"edges": {"start": 0, "stop": 20, "width": 1}},
}
VISITS = {key: value for key, value in AGES.items() if key != "histogram"} | {
    "job": "rows-by-day",
    "input": {**AGES["input"], "columns": {"value": "date", "unit": "order_id"}},
    "days": {"first": "2024-01-01", "last": "2024-01-14"},
}
KEYS = {key: value for key, value in COUNTS.items() if key not in ("domain", "tree")} | {
    "job": "key-selection",
    "input": {**AGES["input"], "columns": {"key": "product", "unit": "order_id"}},
    # Two units are enough for a key.
    "privacy": {"unit": "order", "max_keys_per_unit": 1, "budget": {"epsilon": 20, "delta": 0.5}},
}
TOO_DEAR = COUNTS | {"privacy": COUNTS["privacy"] | {"budget": {"epsilon": 100}}}
JOBS = {"backfilled": COUNTS, "killed": COUNTS, "ages": AGES, "visits": VISITS, "poor": TOO_DEAR}
JOBS |= dict.fromkeys(("scripted", "clustered", "first", "second"), COUNTS)
STREAM = ("2024-01-01", "2024-01-10")
JOBS["streamed"] = {key: value for key, value in COUNTS.items() if key != "tree"} | {
    "domain": {"items": COUNTS["domain"]["items"]},
    "stream": {"horizon": STREAM, "levels": ["week", "day"]},
}
JOBS["ended"] = JOBS["streamed"]
JOBS["chained"] = COUNTS | {"domain": dict.fromkeys(("first_day", "last_day"), "{date}")}
STREAMED = {"stream": True, "end_date": dt.date.fromisoformat(STREAM[1])}
OWN: dict[str, dict[str, Any]] = {
    "clustered": {"connection": "spark_cluster"},
    # A retry may meet the driver that outlived its Spark for a moment.
    "killed": {"retries": 5},
    "streamed": STREAMED | {"retries": 5, "catchup": True, "catchup_days": 2},
    "ended": STREAMED | {"close": True},
    "chained": {"select": {"config": "chained/keys.yaml", "setting": "domain.items"}},
    # For a scheduler: two days to catch up with, and two to backfill.
    "first": {"end_date": dt.date(2024, 1, 2)},
    "second": {"catchup": True, "end_date": dt.date(2024, 1, 2)},
}
"""What the schedule file says of single jobs."""
PROGRAM = """\
#!/usr/bin/env bash
# Does what the first line of the script says (exit code, then words to print), or else what the real program does.
exec 9>>{script}.lock
flock 9
echo "$*" >>{calls}
if [ -s {script} ]; then
  line=$(head -n 1 {script})
  sed -i 1d {script}
  flock -u 9
  echo "$(date +%s.%N) begin" >>{times}
  [ ! -e {slowly} ] || sleep 1
  echo "$(date +%s.%N) end" >>{times}
  echo "${{line#* }}"
  echo "${{line#* }}" >&2
  exit "${{line%% *}}"
fi
flock -u 9
exec {real} "$@"
"""


@dataclass(frozen=True)
class Played:
    """How a DAG's run ended.

    Attributes:
        state: of the run.
        tasks: state and number of tries by task.
    """

    state: str
    tasks: dict[str, tuple[str, int]]


class World:
    """Airflow's home with a database, and the places of the jobs below it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "checkout"
        self._make_home()
        self._make_places()
        initdb()
        with create_session() as session:
            Pool.create_or_update_pool("dplib", 1, "one run at a time", include_deferred=False, session=session)

    def _make_home(self) -> None:
        script = self.folder / "dplib.sh"
        python = shlex.quote(str(ROOT / ".venv/bin/python"))
        script.write_text(f'#!/usr/bin/env bash\nexec {python} -m tests.support.rows_by_day "$@"\n')
        script.chmod(0o755)
        for name, real in (("scripts/submit.sh", ROOT / "scripts/submit.sh"), (".venv/bin/dplib", script)):
            program = self.home / name
            program.parent.mkdir(parents=True)
            words = {each: self._file(program.stem, each) for each in ("script", "calls", "times", "slowly")}
            words["real"] = real
            program.write_text(PROGRAM.format(**{key: shlex.quote(str(path)) for key, path in words.items()}))
            program.chmod(0o755)

    def _make_places(self) -> None:
        templates = {name: self.folder / f"template_{name}" for name in ("pure", "approx")}
        for currency, template in templates.items():
            template.mkdir()
            words = f"init --yes --dataset shop --currency {currency} --unit order --neighbors add_remove"
            words += " --budget 20 --ledger sqlite:///ledger.db --secret file:shop.key"
            words = words.replace("20", "100 --delta 0.9") if currency == "approx" else words
            subprocess.run([ROOT / ".venv/bin/dplib", *words.split()], cwd=template, check=True, capture_output=True)
        for name, settings in JOBS.items():
            place = self.place(name)
            shutil.copytree(templates["approx" if name == "chained" else "pure"], place)
            (place / "keys.yaml").write_text(json.dumps(KEYS), encoding="utf-8")
            (place / "shop.key").chmod(0o600)
            for rows in ("orders.csv", *(f"orders-{day}.csv" for day in DAYS)):
                (place / rows).write_text(ROWS, encoding="utf-8")
            (place / "job.yaml").write_text(json.dumps(settings), encoding="utf-8")
        entries = [
            {
                "name": name,
                "job": settings["job"],
                "config": f"{name}/job.yaml",
                "schedule": "@daily",
                "start_date": dt.date(2024, 1, 1),
                **OWN.get(name, {}),
            }
            for name, settings in JOBS.items()
        ]
        defaults = {"retries": 2, "retry_delay": 1, "timezone": "Europe/London", "conf": FAST}
        content = {"schedules_version": 1, "home": "checkout", "defaults": defaults, "schedules": entries}
        (self.folder / "schedules.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        packed = subprocess.run(
            [ROOT / "scripts/package.sh", self.folder / "wheel"], check=True, capture_output=True, text=True
        )
        os.environ["DPLIB_WHEEL"] = packed.stdout.strip()

    def _file(self, program: str, kind: str) -> Path:
        return self.folder / f"{program}.{kind}"

    def place(self, name: str) -> Path:
        """The folder of a job."""
        return self.folder / name

    def tell(self, program: str, *lines: str, slowly: bool = False) -> None:
        """Tell ``submit`` or ``dplib`` how its next calls end: each line an exit code and words to print."""
        self._file(program, "script").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for kind in ("calls", "times", "slowly"):
            self._file(program, kind).unlink(missing_ok=True)
        if slowly:
            self._file(program, "slowly").touch()

    def calls(self, program: str) -> list[str]:
        """The words of each call since `tell`; what was told and not asked for is an error."""
        assert not self._file(program, "script").read_text(encoding="utf-8")
        return self.asked(program)

    def asked(self, program: str) -> list[str]:
        """The words of each call since `tell`."""
        path = self._file(program, "calls")
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def times(self, program: str) -> list[str]:
        """Begin and end of the calls since `tell` that did what they were told, in the order of time."""
        lines = self._file(program, "times").read_text(encoding="utf-8").splitlines()
        return [line.split()[1] for line in sorted(lines)]

    def dags(self) -> dict[str, DAG]:
        """The DAGs as Airflow loads them."""
        folder = ROOT / "jobs" / "dags"
        bag = BundleDagBag(folder, bundle_path=folder)
        assert not bag.import_errors, bag.import_errors
        return bag.dags

    def play(self, name: str, day: str, **options: Any) -> Played:
        """Run a DAG for a logical date in this process, retries too."""
        midnight = dt.datetime.fromisoformat(f"{day}T00:00:00+00:00")
        self.dags()[name].test(logical_date=midnight, **options)
        return self.played(name)

    def played(self, name: str) -> Played:
        """How the newest run of a DAG stands."""
        with create_session() as session:
            run = session.scalars(select(DagRun).where(DagRun.dag_id == name).order_by(DagRun.id.desc())).first()
            assert run is not None
            tasks = session.scalars(
                select(TaskInstance).where(TaskInstance.dag_id == name, TaskInstance.run_id == run.run_id)
            )
            return Played(str(run.state), {each.task_id: (str(each.state), each.try_number) for each in tasks})

    def entries(self, name: str) -> list[str]:
        """Kinds of the ledger's entries in order."""
        with sqlite3.connect(f"file:{self.place(name)}/ledger.db?mode=ro", uri=True) as ledger:
            return [kind for (kind,) in ledger.execute("SELECT kind FROM entries ORDER BY sequence")]

    def releases(self, name: str) -> dict[str, str]:
        """SHA-256 of every file below the folder of releases, its lock left out."""
        output = self.place(name) / "releases"
        files = [path for path in sorted(output.rglob("*")) if path.is_file() and path.name != ".lock"]
        return {str(path.relative_to(output)): hashlib.sha256(unreserved(path)).hexdigest() for path in files}
