"""Tasks that run dplib in its own environment, and know which failures are worth a retry.

Airflow's process imports neither dplib nor Spark: it starts programs of the checkout (``home``) and looks at how they
end. The exit codes are dplib's: 0 done, or done before; 2 a setting, 3 the input, 4 the budget. The last three are
refusals: nothing was spent, and the same again is refused again, so the task fails without retry. Everything else may
pass, so Airflow's retries take over: the ledger hands the retry the reservation, measurement or release that is there.

In cluster deploy mode spark-submit hides the driver's exit code, except where the cluster manager prints it. Where
it is lost, ``dplib plan`` is asked again, beside the ledger, whether the run would be refused.
"""

import datetime as dt
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from dplib_days import DayError, check_day, check_horizon, day_of, days_behind
from dplib_schedules import Schedule

REFUSALS = {2: "a setting is wrong", 3: "the input cannot be opened or lacks a column", 4: "the account does not pay"}
DONE = {"measure": ("measured", "published"), "publish": ("published",)}
"""States of a run in the ledger in which a stage has nothing left to do."""
_DRIVER_STATUS = re.compile(r"User application exited with status (\d+)")
"""YARN's diagnostics of a driver in cluster mode."""


def ended(what: str, code: int | None, said: str) -> NoReturn:
    """End a task whose program failed: for good where it was refused.

    Args:
        what: the program, for the message.
        code: its exit code, None where there is none.
        said: its last words.

    Raises:
        AirflowFailException: if it was refused.
        AirflowException: if not.
    """
    if code in REFUSALS:
        raise AirflowFailException(f"{what} was refused with exit code {code} ({REFUSALS[code]}): {said}")
    raise AirflowException(f"{what} failed with exit code {code}, which is worth a retry: {said}")


def refusal(ledger: Mapping[str, Any]) -> tuple[int, str] | None:
    """Why the ledger would refuse a run, as exit code and sentence, or None.

    Args:
        ledger: what ``dplib plan --json`` says about the ledger.
    """
    if ledger["account"] is None:
        return 2, str(ledger["problem"])
    if ledger["existing_run"] is not None:
        return None
    account, cost, left = (ledger[name] for name in ("account", "cost", "left"))
    if Fraction(cost) > Fraction(left):
        return 4, f"dataset {account} must have {cost} left for this release, got {left} of {ledger['total']}"
    approval = ledger.get("approval") or {"required": False}
    if approval["required"] and not approval["runs_left"]:
        return 4, f"plan {ledger['plan_hash']} must be approved for dataset {account} (dplib ledger approve), got none"
    return None


def released_day(entry: Schedule, context: Context) -> str:
    """The day that a task's run releases.

    Raises:
        AirflowFailException: if the run has none.
    """
    try:
        return day_of(entry, context["dag_run"].logical_date).isoformat()
    except DayError as error:
        raise AirflowFailException(str(error)) from None


def start_dplib(home: str, words: Sequence[str]) -> subprocess.Popen[str]:
    """Start a command of dplib.

    Raises:
        AirflowFailException: if there is no dplib.
    """
    program = Path(home) / ".venv" / "bin" / "dplib"
    try:
        return subprocess.Popen([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError:
        raise AirflowFailException(f"home must be a checkout with .venv (make setup), got no {program}") from None


def plan_words(entry: Schedule, day: str) -> list[str]:
    """The words of ``dplib plan`` for a day, without the keys of a selection."""
    return ["plan", entry.job, "--config", entry.config, "--date", day, "--json"]


def given_words(home: str, entry: Schedule, day: str) -> list[str]:
    """The words that give a job the keys that its selection released for a day; none where it has no selection.

    The ledger is asked each time: every task of a day, and every retry, finds the same release of the same keys.

    Raises:
        AirflowFailException: if there is no such release, or the selection's settings are refused.
        AirflowException: if the ledger does not answer.
    """
    before = entry.selection
    if before is None or entry.select is None:
        return []
    process = start_dplib(home, plan_words(before, day))
    out, err = process.communicate()
    if process.returncode:
        ended("dplib plan", process.returncode, err.strip())
    release = json.loads(out)["ledger"].get("existing_release")
    if release is None:
        raise AirflowFailException(f"the selection must have released keys for {day}, got none (clear select_publish)")
    keys = {"release": release} | ({} if entry.select.column is None else {"column": entry.select.column})
    return ["--set", f"{entry.select.setting}={json.dumps(keys)}"]


class DplibOperator(BaseOperator):
    """Runs commands of dplib that need no Spark, in dplib's own environment.

    Args:
        home: checkout of dplib.
        entry: entry of the schedule file.
    """

    def __init__(self, *, home: Path, entry: Schedule, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.home = str(home)
        self.entry = entry
        self._process: subprocess.Popen[str] | None = None

    def run_dplib(self, words: Sequence[str]) -> str:
        """Run a command and return its standard output.

        Raises:
            AirflowFailException: if it was refused.
            AirflowException: if it failed.
        """
        self._process = start_dplib(self.home, words)
        out, err = self._process.communicate()
        if self._process.returncode:
            self.log.info("%s", out)
            ended(f"dplib {words[0]}", self._process.returncode, err.strip())
        return out

    def on_kill(self) -> None:
        """Stop the command with the task."""
        if self._process is not None:
            self._process.kill()


class DplibPlanOperator(DplibOperator):
    """Checks a run before anything starts: its day, its settings and that the account can pay. Spends nothing."""

    def execute(self, context: Context) -> None:
        """Fail without retry where the run would be refused."""
        day = released_day(self.entry, context)
        try:
            check_day(self.entry, dt.date.fromisoformat(day), dt.datetime.now(dt.UTC))
        except DayError as error:
            raise AirflowFailException(str(error)) from None
        words = plan_words(self.entry, day) + given_words(self.home, self.entry, day)
        planned = json.loads(self.run_dplib(words))
        try:
            check_horizon(self.entry, planned["horizon"])
        except DayError as error:
            raise AirflowFailException(str(error)) from None
        ledger = planned["ledger"]
        refused = refusal(ledger)
        if refused is not None:
            ended("dplib plan", *refused)
        if ledger["existing_run"]:
            self.log.info("%s is %s: nothing more is spent", ledger["existing_run"], ledger["existing_state"])
        else:
            self.log.info("costs %s of %s left (%s)", ledger["cost"], ledger["left"], ledger["currency"])


class DplibVerifyOperator(DplibOperator):
    """Checks the release of the day: files, numbers, and the manifest against the ledger."""

    def execute(self, context: Context) -> None:
        """Fail where a check fails."""
        day = released_day(self.entry, context)
        given = given_words(self.home, self.entry, day)
        self.log.info("%s", self.run_dplib(["verify", "--config", self.entry.config, "--date", day, *given]))


class DplibCloseOperator(DplibOperator):
    """Closes a stream that has no missing day, or whose entry says so after the run of its last date.

    A stream that is closed is closed again, which ends what a task that was killed began.
    """

    def execute(self, context: Context) -> None:
        """Do nothing while days are missing."""
        day, words = released_day(self.entry, context), ["--config", self.entry.config]
        found = json.loads(self.run_dplib(["stream", "show", *words, "--json"]))
        n_missing = found["n_days"] - found["n_measured"]
        is_last = self.entry.close and day == str(self.entry.end_date)
        if n_missing and not is_last and not found["closed"]:
            self.log.info("the stream stays open: %s of %s days are missing", n_missing, found["n_days"])
            return
        why = f"the last date of its schedule ran, {n_missing} days are missing" if n_missing else "no day is missing"
        self.log.info("%s", self.run_dplib(["stream", "close", *words, "--why", why]))


class DplibSubmitOperator(SparkSubmitOperator):
    """One stage of a job by the stock operator, which fails without retry where the run was refused.

    A scheduled run that catches up submits with its day the days after it that no run was made for yet: one session of
    Spark makes them all, one after the other, and their own runs find them in the ledger and start none. How the task
    ends depends on its own day alone: a session that a later day ended is no failure, and where a session ended before
    the own day was done, that day is submitted alone.

    Args:
        home: checkout of dplib; its ``scripts/submit.sh`` knows spark-submit.
        entry: entry of the schedule file.
        stage: measure or publish.
    """

    def __init__(self, *, home: Path, entry: Schedule, stage: str, **kwargs: Any) -> None:
        super().__init__(
            application=str(home / "jobs" / f"{entry.job.replace('-', '_')}.py"),
            conn_id=entry.connection,
            conf=dict(entry.conf or {}),
            name=f"{entry.name} {stage}",
            spark_binary=str(home / "scripts" / "submit.sh"),
            # A retry finds in the ledger what is there; Airflow's own record of a lost driver is not needed.
            durable=False,
            **kwargs,
        )
        self.home = str(home)
        self.entry = entry
        self.stage = stage

    def execute(self, context: Context) -> None:
        """Submit, wait, and tell a refusal from a failure."""
        day = released_day(self.entry, context)
        given = given_words(self.home, self.entry, day)
        if self.entry.catchup and context["dag_run"].run_type == "scheduled" and self._caught_up(context, day, given):
            return
        try:
            self._submit(context, "--date", day, *given)
        except Exception as error:
            # The hook raises AirflowException, RuntimeError, ValueError and what Python raises, and none says what the
            # driver's end means: `_end` asks its exit code. A task that is stopped ends by a BaseException, not here.
            code, said = self._end(str(error), day)
            ended("spark-submit", code, said)

    def _submit(self, context: Context, *words: str) -> None:
        self._hook = None  # it keeps the words that it was made with
        self.application_args = ["--config", self.entry.config, "--stage", self.stage, *words]
        super().execute(context)

    def _caught_up(self, context: Context, day: str, given: Sequence[str]) -> bool:
        """Whether the day is done, by an earlier day's session or by one of this and the days after it."""
        # Whoever clears a task wants it to run, with other publish settings too.
        if context["ti"].try_number == 1 and self._is_done(day, given):
            self.log.info("%s was made in the session of an earlier day", day)
            return True
        last = day if given else self._last_day(context, day)
        if last == day:
            return False
        try:
            self._submit(context, "--dates", f"{day}..{last}")
        except Exception as error:
            # Of as many types as in `execute`. A later day may have ended the session: the ledger knows the own day.
            self.log.warning("the session of %s to %s ended early: %s", day, last, self._end(str(error), day)[1])
            return self._is_done(day, given)
        return True

    def _last_day(self, context: Context, day: str) -> str:
        """The last of the days behind that follow the day and have no run in Airflow yet."""
        last = day
        for following, logical_date in days_behind(self.entry, dt.date.fromisoformat(day), dt.datetime.now(dt.UTC)):
            if context["ti"].get_dr_count(dag_id=self.dag_id, logical_dates=[logical_date]):
                break
            last = following.isoformat()
        return last

    def _is_done(self, day: str, given: Sequence[str]) -> bool:
        """Whether the ledger has what the stage makes."""
        process = start_dplib(self.home, plan_words(self.entry, day) + list(given))
        out, _ = process.communicate()
        return process.returncode == 0 and json.loads(out)["ledger"]["existing_state"] in DONE[self.stage]

    def _end(self, said: str, day: str) -> tuple[int | None, str]:
        """The driver's exit code and last words."""
        hook = self._hook
        if hook is None or hook._submit_sp is None:
            return None, said
        lines = list(hook._last_submit_log_lines)
        said = next((line for line in reversed(lines) if line.startswith(("dplib: ", "submit: "))), said)
        code: int = hook._submit_sp.returncode
        if hook._connection["deploy_mode"] != "cluster":
            return code, said
        found = _DRIVER_STATUS.search("\n".join(lines))
        stated = int(found[1]) if found else hook._spark_exit_code
        return stated or self._asked_again(day) or code, said

    def _asked_again(self, day: str) -> int | None:
        """The exit code with which the run would be refused now, None where it would not."""
        words = plan_words(self.entry, day) + given_words(self.home, self.entry, day)
        process = start_dplib(self.home, words)
        out, _ = process.communicate()
        if process.returncode:
            return process.returncode
        refused = refusal(json.loads(out)["ledger"])
        return None if refused is None else refused[0]
