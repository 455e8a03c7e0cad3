"""One DAG for each entry of the schedule file: plan, measure, publish, verify; twice with `select`; of a stream, close.

The schedule file is ``conf/airflow/schedules.yaml`` of this checkout, or the one that the environment variable
``DPLIB_SCHEDULES`` names. Loading this file reads that one and nothing else: no ledger, no Spark, no dplib.

Choices that are the same for every DAG, and why:

- The timetable has data intervals, so the run of a day starts when the day is over and its logical date is that day.
  Airflow 3 makes of a bare cron line a timetable whose logical date is the moment of the run: the day just begun.
- One run of a DAG at a time, and measure and publish in a pool with one slot for all DAGs on a ledger: no two runs
  overlap. Correctness does not rest on it (the ledger's lease and its commit point do).
- A run does not depend on the run before: days are paid for one by one, a refused day holds up no other, and a day that
  waits costs nothing.
- No parameters: nothing that someone types into a form reaches a job, so no click measures anew.
- A new DAG is paused: nothing is spent before someone turns it on.
"""

import datetime as dt
import os
from pathlib import Path
from zoneinfo import ZoneInfo

from airflow.sdk import DAG, BaseOperator, CronDataIntervalTimetable, chain
from dplib_operators import DplibCloseOperator, DplibPlanOperator, DplibSubmitOperator, DplibVerifyOperator
from dplib_schedules import Schedule, read_schedules

_DEFAULT = Path(__file__).resolve().parents[2] / "conf" / "airflow" / "schedules.yaml"
_LONGEST_DELAY = dt.timedelta(hours=2)
_DOC = """\
Releases of the job **{job}** under differential privacy, from `{config}`: the run of a logical date releases that day
({timezone}).

| task | does | spends |
|---|---|---|
| plan | checks the day, the settings and that the account can pay | nothing |
| measure | reads the rows, draws the noise once, stores the measurement | the release's cost, once a day |
| publish | makes the release from the stored measurement | nothing |
| verify | checks the release's files, numbers and books | nothing |

**Clear, retry, backfill** as often as you like: a day that is measured is never measured again, the ledger hands every
later run the same release. **Failed without retry** means refused (exit code 2, 3 or 4): the log's last line says what
to fix; then clear the task. To spend again on a day on purpose there is `dplib run --again`, and no button here.

More: `dplib guide airflow`.
"""
_SELECTED = """
Before it `select_plan` to `select_verify` do the same for the selection of keys of `{config}`, which pays for itself;
the job takes what was released for the same day as its `{setting}`.
"""
_STREAM = """\
Versions of one **stream** of the job **{job}** under differential privacy, from `{config}`: the run of a logical date
measures that day ({timezone}) and the periods that end with it.

| task | does | spends |
|---|---|---|
| plan | checks the day, the settings, and that they are the stream's | nothing |
| measure | reads the rows of what closes on the day, draws its noise once | the horizon's cost, in the first run |
| publish | makes the stream's next version from all that is measured | nothing |
| verify | checks the version's files, numbers and books | nothing |
| close | {close} | nothing |

**Preliminary and final**: numbers may change with later runs until every day of their period of the coarsest level is
measured, or the stream is closed; after that never again. The column `status` and the report say which numbers are
which, `dplib stream show --config {config}` which days are missing.

**Clear, retry, backfill** in any order: a day that is measured is never measured again, a retry repeats its bytes, and
a missing day costs nothing more. **Failed without retry** means refused (exit code 2, 3 or 4): the log's last line says
what to fix; then clear the task. A closed stream takes no more days.

More: `dplib guide streams` and `dplib guide airflow`.
"""
_CLOSES = "closes the stream when no day of its horizon is missing"
_CLOSES_LAST = f"{_CLOSES}; the run of {{end_date}} closes it whatever is missing"


def _doc(entry: Schedule) -> str:
    if entry.stream:
        close = (_CLOSES_LAST if entry.close else _CLOSES).format(**vars(entry))
        return _STREAM.format(**vars(entry) | {"close": close})
    text = _DOC.format(job=entry.job, config=entry.config, timezone=entry.timezone)
    return text if entry.select is None else text + _SELECTED.format(**vars(entry.select))


def make_dag(home: Path, entry: Schedule) -> DAG:
    """The DAG of an entry.

    Args:
        home: checkout of dplib.
        entry: entry of the schedule file.
    """
    zone = ZoneInfo(entry.timezone)
    dag = DAG(
        dag_id=entry.name,
        schedule=None if entry.schedule is None else CronDataIntervalTimetable(entry.schedule, timezone=entry.timezone),
        start_date=dt.datetime.combine(entry.start_date, dt.time(), zone),
        end_date=None if entry.end_date is None else dt.datetime.combine(entry.end_date, dt.time(23, 59, 59), zone),
        catchup=entry.catchup,
        max_active_runs=1,
        is_paused_upon_creation=True,
        tags=["dplib", entry.job],
        description=f"Differentially private releases: {entry.job}",
        doc_md=_doc(entry),
        default_args={
            "depends_on_past": False,
            "retries": entry.retries,
            "retry_delay": dt.timedelta(seconds=entry.retry_delay),
            "retry_exponential_backoff": 2,
            "max_retry_delay": max(_LONGEST_DELAY, dt.timedelta(seconds=entry.retry_delay)),
            "execution_timeout": dt.timedelta(hours=entry.timeout_hours),
        },
    )
    with dag:
        if entry.selection is None:
            chain(*_tasks("", home, entry))
        else:
            chain(*_tasks("select_", home, entry.selection), *_tasks("", home, entry))
    return dag


def _tasks(prefix: str, home: Path, entry: Schedule) -> list[BaseOperator]:
    """The tasks of one job in their order."""
    return [
        DplibPlanOperator(task_id=f"{prefix}plan", home=home, entry=entry),
        *(
            DplibSubmitOperator(task_id=f"{prefix}{stage}", home=home, entry=entry, stage=stage, pool=entry.pool)
            for stage in ("measure", "publish")
        ),
        DplibVerifyOperator(task_id=f"{prefix}verify", home=home, entry=entry),
        *([DplibCloseOperator(task_id="close", home=home, entry=entry, pool=entry.pool)] if entry.stream else []),
    ]


_FILE = read_schedules(Path(os.environ.get("DPLIB_SCHEDULES") or _DEFAULT))
for _entry in _FILE.schedules:
    globals()[f"dag_{_entry.name}"] = make_dag(_FILE.home, _entry)
