"""What a machine lacks for the jobs, and what is wrong with a configuration's secret, ledger and output.

Nothing is written, nothing is spent, no row is read, and no key is shown.
"""

import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from zoneinfo import available_timezones

from sqlalchemy import make_url

from dplib.config.sections import SparkSettings
from dplib.errors import DplibError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import RunState
from dplib.ledger.schema import resolve_ledger_url
from dplib.progress import Progress
from dplib.secret.secret import load_secret
from dplib.spark.engine.doctor import Finding, Verdict, check_java, check_spark
from dplib.workflow.design import JobDesign
from dplib.workflow.offer import ledger_state
from dplib.workflow.prepared import Prepared

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"
GIB = 1 << 30
MIN_FREE, ENOUGH_FREE = GIB // 16, GIB
"""Bytes: below the first even a small release may not fit, below the second a large one may not."""
_SKEW_SECONDS = 60.0
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)")
_LOCKED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)


def examine(prepared: Prepared[JobDesign] | None, progress: Progress) -> list[Finding]:
    """Look at this machine and, where it is given, at a configuration's surroundings."""
    found = [check_python(), check_packages(LOCK), check_zones(), check_scratch(Path(tempfile.gettempdir()))]
    found.append(check_java())
    settings = SparkSettings(master="local[1]") if prepared is None else prepared.config.spark
    zone = "UTC" if prepared is None else str(getattr(prepared.config.input, "timezone", "UTC"))
    if found[-1].verdict is Verdict.OK:
        with progress.stage("starting Spark"):
            found += check_spark(settings, zone)
    if prepared is not None:
        found += _surroundings(prepared)
    return found


def _surroundings(prepared: Prepared[JobDesign]) -> Iterator[Finding]:
    try:
        ledger: Ledger | None = prepared.open_ledger()
    except DplibError as error:
        ledger = None
        problem = str(error)
    yield check_secret(prepared, ledger)
    if ledger is None:
        yield Finding("ledger", Verdict.BAD, problem, "dplib init --config FILE creates it; dplib guide ledger")
    else:
        yield check_ledger(ledger)
        yield check_ledger_file(prepared)
        yield check_clock(ledger, datetime.now(UTC))
        yield check_account(prepared)
    yield check_output(prepared.output)


def check_python() -> Finding:
    """The interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Finding("Python", Verdict.OK, f"Python {version} at {sys.executable}")
    fix = "install one of them; scripts/setup.sh makes an environment"
    return Finding("Python", Verdict.BAD, f"Python must be 3.11, 3.12 or 3.13, got {version}", fix)


_RUN = ("extra == 'run'", 'extra == "run"')


def check_packages(lock: Path) -> Finding:
    """Whether the required packages are there, in the versions of the lock where there is one."""
    declared = [each for each in metadata.requires("dplib") or () if "extra ==" not in each or each.endswith(_RUN)]
    required = [_normal(_REQUIREMENT.match(each)) for each in declared]
    locked: dict[str, set[str]] = {}
    if lock.is_file():
        for match in _LOCKED.finditer(lock.read_text(encoding="utf-8")):
            locked.setdefault(_normal(match), set()).add(match[2])
    missing, others = [], []
    for name in required:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        if name in locked and version not in locked[name]:
            others.append(f"{name} {version} ({' or '.join(sorted(locked[name]))})")
    fix = "scripts/setup.sh installs the versions that the tests ran with"
    if missing:
        return Finding("packages", Verdict.BAD, f"missing: {', '.join(missing)}", fix)
    if others:
        return Finding("packages", Verdict.WARN, f"other versions than the lock's: {', '.join(others)}", fix)
    against = "in the versions of the lock" if locked else "no lock beside this installation to compare with"
    return Finding("packages", Verdict.OK, f"{len(required)} required packages, {against}")


def _normal(match: re.Match[str] | None) -> str:
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


def check_zones() -> Finding:
    """Whether Python finds a time zone database."""
    number = len(available_timezones())
    if number < 100:
        detail = f"Python must find the time zone database, got {number} zones"
        return Finding("time zones", Verdict.BAD, detail, "pip install tzdata, or the system's package of that name")
    return Finding("time zones", Verdict.OK, f"Python knows {number} zones")


def check_scratch(folder: Path) -> Finding:
    """Room for Spark's temporary files."""
    return _room("scratch", folder, "free some, or let spark.local.dir name a larger disk")


def check_output(output: Path) -> Finding:
    """Whether releases can be written, and room for them."""
    folder = next(path for path in (output, *output.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x")
    except OSError as error:
        detail = f"publish.output.path must be a folder that can be written, got {output} ({error.strerror})"
        return Finding("output", Verdict.BAD, detail, "chmod, remount or free it, or name another folder")
    return _room("output", folder, "free some, or let publish.output.path name a larger disk")


def _room(name: str, folder: Path, fix: str) -> Finding:
    free = shutil.disk_usage(folder).free
    detail = f"{free / GIB:.1f} GiB free in {folder}"
    if free >= ENOUGH_FREE:
        return Finding(name, Verdict.OK, detail)
    return Finding(name, Verdict.WARN if free >= MIN_FREE else Verdict.BAD, detail, fix)


def check_secret(prepared: Prepared[JobDesign], ledger: Ledger | None) -> Finding:
    """Whether the secret can be read, and holds what open reservations need."""
    try:
        ring = load_secret(prepared.config.secret, prepared.base)
    except DplibError as error:
        return Finding("secret", Verdict.BAD, str(error), _secret_fix(str(error)))
    gone = sorted((set() if ledger is None else _awaited_keys(ledger)) - set(ring.key_ids))
    if gone:
        fix = "put the old keys back, or give the reservations up with dplib ledger void"
        return Finding("secret", Verdict.WARN, f"open reservations need keys that are gone: {', '.join(gone)}", fix)
    old = f", {len(ring.keys) - 1} old" if len(ring.keys) > 1 else ""
    return Finding("secret", Verdict.OK, f"current key {ring.current.key_id}{old}; nobody else can open it")


def _awaited_keys(ledger: Ledger) -> set[str]:
    """Ids of the keys that open reservations were made under."""
    with suppress(DplibError):  # what is wrong with the ledger is a finding of its own
        runs = (run for account in ledger.accounts() for run in ledger.runs(account.dataset))
        return {run.key_id for run in runs if run.state is RunState.RESERVED and run.key_id is not None}
    return set()


def _secret_fix(problem: str) -> str:
    fixes = {
        "file of mode 0600": "chmod 600 the file; if others may have read it, dplib secret rotate",
        "file that can be read": "dplib init --config FILE creates one; restore the backup if there was one",
        "belong to the user": "chown the file to the user who runs the job",
        "stand in folders": "chmod o-w the folder",
        "environment variable": "set it, to the text of the secret and not to its place",
    }
    return next((fix for words, fix in fixes.items() if words in problem), "dplib guide secrets")


def check_ledger(ledger: Ledger) -> Finding:
    """Whether the ledger's chain and balances are sound."""
    try:
        findings, accounts = ledger.audit(), len(ledger.accounts())
    except DplibError as error:
        return Finding("ledger", Verdict.BAD, str(error), "dplib ledger audit; restore the backup")
    if findings:
        first = f"entry {findings[0].sequence}: {findings[0].problem}"
        fix = "spend nothing more; compare with a backup (dplib ledger audit lists everything)"
        return Finding("ledger", Verdict.BAD, f"{len(findings)} findings, first: {first}", fix)
    return Finding("ledger", Verdict.OK, f"{accounts} accounts, hash chain and balances agree")


def check_ledger_file(prepared: Prepared[JobDesign]) -> Finding:
    """Whether others can read a ledger that is a file: it holds digests of the data."""
    url = make_url(resolve_ledger_url(prepared.config.ledger, prepared.base))
    if url.get_backend_name() != "sqlite":
        return Finding("ledger access", Verdict.OK, "a database server; its roles decide who reads it")
    mode = stat.S_IMODE(Path(str(url.database)).stat().st_mode)
    if mode & 0o077:
        detail = f"the file holds private digests and must be closed to others, got mode {mode:04o}"
        return Finding("ledger access", Verdict.WARN, detail, f"chmod 600 {url.database}")
    return Finding("ledger access", Verdict.OK, "a file that nobody else can open")


def check_clock(ledger: Ledger, now: datetime) -> Finding:
    """Whether this clock is behind the ledger's newest entry."""
    newest = max((datetime.fromisoformat(entry.at) for entry in ledger.entries()[0]), default=now)
    behind = (newest - now).total_seconds()
    if behind > _SKEW_SECONDS:
        detail = f"the ledger's newest entry lies {behind:.0f} s in this clock's future"
        return Finding("clock", Verdict.WARN, detail, "let a time service set the clocks of all hosts")
    return Finding("clock", Verdict.OK, f"{now:%Y-%m-%d %H:%M} UTC, not behind the ledger's newest entry")


def check_account(prepared: Prepared[JobDesign]) -> Finding:
    """Whether the account is there and can pay for these settings."""
    try:
        state = ledger_state(prepared)
    except DplibError as error:
        state = {"account": None, "problem": str(error)}
    if state["account"] is None:
        return Finding("account", Verdict.BAD, state["problem"], "dplib init --config FILE creates it, with a budget")
    if state["existing_run"]:
        detail = f"{state['existing_run']} is {state['existing_state']}: a run costs nothing more"
        return Finding("account", Verdict.OK, detail)
    detail = f"a run of {state['account']} costs {state['cost']} of {state['left']} left ({state['currency']})"
    if Fraction(state["cost"]) > Fraction(state["left"]):
        return Finding("account", Verdict.WARN, detail, "lower privacy.budget; a spent budget does not come back")
    if state["approval"]["required"] and not state["approval"]["runs_left"]:
        fix = "let someone sign it: dplib ledger approve; dplib guide ledger"
        return Finding("account", Verdict.WARN, f"{detail}; the plan is not approved", fix)
    return Finding("account", Verdict.OK, detail)
