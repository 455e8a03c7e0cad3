"""The schedule file: which job runs when, checked to the last key before Airflow sees a DAG.

One wrong key and no DAG of the file loads; Airflow then shows the sentence as an import error, and

    python jobs/dags/dplib_schedules.py conf/airflow/schedules.yaml

shows it before a file is deployed (exit code 2). Reading touches the file alone: neither ledger, Spark nor database.
"""

import datetime as dt
import re
import sys
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from croniter import croniter

JOBS = tuple(sorted(path.stem.replace("_", "-") for path in Path(__file__).resolve().parents[1].glob("*.py")))
"""A job has a file for spark-submit beside the DAGs."""
SELECTING = "key-selection"
"""The job of a selection."""
PRESETS = {
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}
"""A release is of a day or of a period that a day begins, so nothing runs more than once a day."""
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_SETTING = re.compile(r"[a-z0-9_.]{1,200}")
_FIXED_TIME = re.compile(r"\d{1,2} \d{1,2} \S+ \S+ \S+")


class ScheduleError(ValueError):
    """The schedule file is wrong: one sentence."""


class _Loader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error: the last would win in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value]
        if len(set(map(str, keys))) < len(keys):
            raise yaml.MarkedYAMLError(problem="a key stands twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


@dataclass(frozen=True)
class Selection:
    """A selection of keys that runs before a job, in the same DAG and for the same day.

    Attributes:
        config: the selection's configuration file, an absolute path.
        setting: of the job, which takes the released keys, such as domain.items.
        column: of keys of several columns the one that is taken, such as key_0; None for keys of one.
    """

    config: str
    setting: str
    column: str | None = None


@dataclass(frozen=True)
class Schedule:
    """One entry: one DAG.

    Attributes:
        name: of the DAG.
        job: of dplib.
        config: the job's configuration file, an absolute path.
        schedule: cron expression of the day's beginning, or None: by hand only.
        start_date: first day.
        end_date: last day, or None: no end.
        timezone: whose midnight a day begins at.
        catchup: also run the days since ``start_date`` that nothing ran for; each spends.
        catchup_days: days of a catch-up that one session of Spark makes at most; 1 gives each day its own.
        pool: of measure and publish; one slot, and the same for all jobs on one ledger.
        retries: of a task that failed and was not refused.
        retry_delay: seconds before the first retry; later ones wait longer.
        timeout_hours: a task that runs longer is stopped and retried.
        connection: Airflow's connection to Spark.
        conf: further settings of Spark.
        select: keys that are selected before, which the job takes as its names.
        stream: the configuration has a section stream: all runs are one release, and a last task closes it when no day
            of the horizon is missing.
        close: of a stream: the run of ``end_date`` closes it whatever is missing.
    """

    name: str
    job: str
    config: str
    schedule: str | None
    start_date: dt.date
    end_date: dt.date | None = None
    timezone: str = "UTC"
    catchup: bool = False
    catchup_days: int = 31
    pool: str = "dplib"
    retries: int = 3
    retry_delay: int = 300
    timeout_hours: int = 12
    connection: str = "spark_default"
    conf: Mapping[str, str] | None = None
    select: Selection | None = None
    stream: bool = False
    close: bool = False

    @property
    def selection(self) -> "Schedule | None":
        """The selection before the job as an entry of its own; None where there is none."""
        if self.select is None:
            return None
        return replace(self, job=SELECTING, config=self.select.config, select=None)


@dataclass(frozen=True)
class ScheduleFile:
    """A checked schedule file.

    Attributes:
        home: checkout of dplib with its own environment, an absolute path.
        schedules: the entries.
    """

    home: Path
    schedules: tuple[Schedule, ...]


def read_schedules(path: Path) -> ScheduleFile:
    """Read and check a schedule file; relative paths in it are relative to the file.

    Raises:
        ScheduleError: naming what is wrong in one sentence.
    """
    content = _mapping(str(path), _load(path))
    required = {"schedules_version", "home", "schedules"}
    _known_keys("", content, {*required, "defaults"}, required)
    if content["schedules_version"] != 1:
        _refuse("schedules_version", "be 1", content["schedules_version"])
    base = path.resolve().parent
    defaults = _mapping("defaults", content.get("defaults") or {})
    allowed = {field.name for field in fields(Schedule)}
    _known_keys("defaults.", defaults, allowed - {"name", "job", "config", "select", "stream", "close"}, set())
    entries = content["schedules"]
    if not isinstance(entries, list) or not entries:
        _refuse("schedules", "be a list of jobs to run", entries)
    schedules = tuple(_entry(f"schedules[{at}]", entry, defaults, base) for at, entry in enumerate(entries))
    names = [each.name for each in schedules]
    for name in names:
        if names.count(name) > 1:
            _refuse("name", "be another one for each entry", name)
    return ScheduleFile((base / _text("home", content["home"])).resolve(), schedules)


def _load(path: Path) -> object:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506  # a SafeLoader
    except (OSError, UnicodeDecodeError):
        raise ScheduleError(f"the schedule file must be a readable file, got {path}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" with an error in line {mark.line + 1}" if mark else ""
        raise ScheduleError(f"the schedule file must be valid YAML, got {path}{where}") from None


def _entry(place: str, entry: object, defaults: Mapping[str, Any], base: Path) -> Schedule:
    required = {field.name for field in fields(Schedule) if field.default is MISSING}
    given = {**defaults, **_mapping(place, entry)}
    _known_keys(f"{place}.", given, {field.name for field in fields(Schedule)}, required)
    for name, check in _CHECKS.items():
        if name in given:
            given[name] = check(f"{place}.{name}", given[name])
    made = Schedule(**{**given, "config": str((base / given["config"]).resolve())})
    if made.select is not None:
        made = replace(made, select=replace(made.select, config=str((base / made.select.config).resolve())))
    if made.end_date is not None and made.end_date < made.start_date:
        _refuse(f"{place}.end_date", "not be before start_date", made.end_date)
    _check_stream(place, made)
    return made


def _check_stream(place: str, made: Schedule) -> None:
    if not made.stream:
        if made.close:
            _refuse(f"{place}.close", "be given only with stream: true", "it alone")
        return
    if made.end_date is None:
        _refuse(f"{place}.end_date", "be given with stream: true, the horizon's last day or one inside", "nothing")
    if made.schedule is not None and not made.schedule.endswith(" * * *"):
        _refuse(f"{place}.schedule", "be of every day with stream: true, such as @daily", made.schedule)
    if made.select is not None:
        _refuse(f"{place}.select", "be absent with stream: true, whose items are the same on all days", "one")


def _known_keys(prefix: str, found: Mapping[str, Any], allowed: set[str], required: set[str]) -> None:
    for name in found:
        if name not in allowed:
            _refuse(f"{prefix}{name}", f"be one of {', '.join(sorted(allowed))}", "an unknown key")
    for name in sorted(required - set(found)):
        _refuse(f"{prefix}{name}", "be given", "nothing")


def _refuse(name: str, rule: str, value: object) -> NoReturn:
    raise ScheduleError(f"{name} must {rule}, got {'nothing' if value == '' else value}")


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        _refuse(name, "be a mapping of settings", value)
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value or "{{" in value or "{%" in value:
        _refuse(name, "be text without a template", value)
    return value


def _name(name: str, value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        _refuse(name, "be letters, digits, dots, dashes and underscores", value)
    return value


def _job(name: str, value: object) -> str:
    if value not in JOBS:
        _refuse(name, f"be one of {', '.join(JOBS)}", value)
    return str(value)


def _cron(name: str, value: object) -> str | None:
    if value is None:
        return None
    cron = PRESETS.get(str(value), str(value))
    if not _FIXED_TIME.fullmatch(cron) or not croniter.is_valid(cron):
        rule = f"be {', '.join(PRESETS)}, null (by hand) or a cron expression with one minute and one hour"
        _refuse(name, rule, value)
    return cron


def _day(name: str, value: object) -> dt.date:
    # YAML makes a day of 2024-01-31, and a time of anything longer.
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        _refuse(name, "be a day YYYY-MM-DD", value)
    return value


def _last_day(name: str, value: object) -> dt.date | None:
    return None if value is None else _day(name, value)


def _zone(name: str, value: object) -> str:
    try:
        return ZoneInfo(_text(name, value)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        _refuse(name, "be a time zone such as Europe/London", value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        _refuse(name, "be true or false", value)
    return value


def _count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        _refuse(name, "be a whole number from 0", value)
    return value


def _positive(name: str, value: object) -> int:
    return _count(name, value) or _refuse(name, "be a whole number from 1", value)


def _settings(name: str, value: object) -> dict[str, str]:
    settings = _mapping(name, value or {})
    for key, inner in settings.items():
        if key in ("spark.master", "spark.submit.deployMode"):
            _refuse(f"{name}.{key}", "be set in Airflow's connection", inner)
        if not key.startswith("spark.") or not isinstance(inner, str | int | float):
            _refuse(f"{name}.{key}", "be a setting spark.* with one value", inner)
    # Spark writes truth in small letters.
    return {key: str(inner).lower() if isinstance(inner, bool) else str(inner) for key, inner in settings.items()}


def _selection(name: str, value: object) -> Selection:
    given = _mapping(name, value)
    required = {field.name for field in fields(Selection) if field.default is MISSING}
    _known_keys(f"{name}.", given, {field.name for field in fields(Selection)}, required)
    for key, inner in given.items():
        if key != "config" and (not isinstance(inner, str) or not _SETTING.fullmatch(inner)):
            _refuse(f"{name}.{key}", "be a name such as domain.items or key_0", inner)
    return Selection(**{**given, "config": _text(f"{name}.config", given["config"])})


_CHECKS = {
    "name": _name,
    "job": _job,
    "config": _text,
    "schedule": _cron,
    "start_date": _day,
    "end_date": _last_day,
    "timezone": _zone,
    "catchup": _flag,
    "catchup_days": _positive,
    "pool": _name,
    "retries": _count,
    "retry_delay": _positive,
    "timeout_hours": _positive,
    "connection": _name,
    "conf": _settings,
    "select": _selection,
    "stream": _flag,
    "close": _flag,
}


def main() -> int:
    """Check the schedule files named on the command line; 2 where one is wrong."""
    for name in sys.argv[1:]:
        try:
            names = [each.name for each in read_schedules(Path(name)).schedules]
        except ScheduleError as error:
            print(f"dplib: {error}", file=sys.stderr)
            return 2
        print(f"{name}: {', '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
