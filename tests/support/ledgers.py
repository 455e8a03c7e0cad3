"""Small ledgers for tests: one account, numbered keys, a measurement and a release to record."""

import multiprocessing
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, insert, make_url, update
from sqlalchemy.engine import Connection

from dplib.ledger.chain import Entry
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import MeasuredRun, Publication, RunKey, StoredMeasurement, Terms
from dplib.ledger.schema import entries, head, leases, resolve_ledger_url
from dplib.ledger.writer import Clock, utc_now
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.workflow.storing import Measure, measure_run, require_sound_output

TERMS = Terms(Currency.PURE, "order", Neighbors.ADD_REMOVE)
KEY = RunKey("takeaway", "consistent-histograms", "2024-01-01", "a" * 64)
PUBLICATION = Publication("/releases/x", "p" * 64, "m" * 64)


# Real processes that share nothing with the test, forked from a server that has imported the library once.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.support.jobs", "tests.support.ledgers"])
SCRIPT = Path(__file__).parents[2] / "scripts" / "postgres.sh"


class NoServer(Exception):  # noqa: N818 - a reason to skip
    """Why a machine has no server of its own."""


@dataclass(frozen=True)
class Postgres:
    """A server of the tests' own; ``folder`` holds its data."""

    folder: Path

    @classmethod
    def start(cls) -> "Postgres":
        """A new server.

        Raises:
            NoServer: saying why there is none.
        """
        if os.name != "posix" or (os.getuid() == 0 and shutil.which("setpriv") is None):
            raise NoServer("PostgreSQL needs a system that can run it as a user without privileges")
        done = subprocess.run([SCRIPT, "start"], capture_output=True, text=True, check=False)
        if done.returncode == 3:
            raise NoServer("PostgreSQL's server programs are missing and cannot be installed here")
        assert done.returncode == 0, done.stderr
        return cls(Path(done.stdout.strip()))

    @classmethod
    @contextmanager
    def running(cls) -> Iterator["Postgres"]:
        """A server that ends with the block; the test is skipped with the reason where there can be none."""
        try:
            server = cls.start()
        except NoServer as reason:
            pytest.skip(str(reason))
        try:
            yield server
        finally:
            server.do("stop")

    def do(self, what: str) -> None:
        """``stop``, ``kill`` or ``restart``."""
        subprocess.run([SCRIPT, what, self.folder], check=True)

    @property
    def url(self) -> str:
        """Address of the superuser."""
        return resolve_ledger_url((self.folder / "url").read_text().strip(), Path())

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run statements one by one, as the superuser."""
        engine = create_engine(make_url(self.url).set(database=database), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
        engine.dispose()

    def new_place(self) -> "Place":
        """An empty schema, which costs less than a database."""
        name = f"ledger_{uuid4().hex[:12]}"
        self.execute(f"CREATE SCHEMA {name}")
        url = make_url(self.url).update_query_dict({"options": f"-csearch_path={name}"})
        return Place(url.render_as_string(hide_password=False))

    def new_database(self) -> "Place":
        """An empty database."""
        name = f"ledger_{uuid4().hex[:12]}"
        self.execute(f"CREATE DATABASE {name}")
        return Place(make_url(self.url).set(database=name).render_as_string(hide_password=False))


@dataclass(frozen=True)
class Place:
    """Where a ledger is, or may be made."""

    url: str = field(repr=False)

    def change(self, *changes: object) -> None:
        """Change the tables as someone would who owns them and takes the triggers away first."""
        engine = create_engine(self.url)
        with engine.begin() as connection:
            _drop_triggers(connection)
            for change in changes:
                if isinstance(change, str):
                    connection.exec_driver_sql(change)
                else:
                    connection.execute(change)  # type: ignore[call-overload]  # a statement of SQLAlchemy
        engine.dispose()

    def store(self, book: list[Entry]) -> None:
        """Put these entries in place of all others, with their tip."""
        tip = {"sequence": book[-1].sequence, "digest": book[-1].digest}
        self.change("DELETE FROM entries", insert(entries).values([vars(e) for e in book]), update(head).values(**tip))

    def let_leases_end(self, seconds: float) -> None:
        """As if this many seconds went by."""
        self.change(update(leases).values(expires=leases.c.expires - seconds))


def _drop_triggers(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        for trigger in ("entries_no_update", "entries_no_delete"):
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {trigger}")
    else:
        connection.exec_driver_sql("DROP TRIGGER IF EXISTS entries_append_only ON entries")


def run_child(target: Callable[..., None], *arguments: object) -> int | None:
    """The exit code of a process of its own."""
    child = SERVER.Process(target=target, args=arguments)
    child.start()
    child.join(60)
    return child.exitcode


def url_of(where: Path | Place) -> str:
    return where.url if isinstance(where, Place) else resolve_ledger_url("sqlite:///ledger.db", where)


def open_with(where: Path | Place, budget: Fraction = Fraction(1), clock: Clock = utc_now) -> Ledger:
    ledger = Ledger.open(url_of(where), create=True, clock=clock)
    ledger.create_account("takeaway", TERMS, budget)
    return ledger


def exported(ledger: Ledger) -> list[dict[str, Any]]:
    """All entries with their bodies read."""
    return [{**vars(entry), "body": entry.content()} for entry in ledger.entries()[0]]


def key_number(number: int) -> RunKey:
    return RunKey(KEY.dataset, KEY.job, f"day-{number}", KEY.settings_hash)


def measurement(name: str = "one") -> StoredMeasurement:
    return StoredMeasurement(
        staged=f".staging-{name}",
        location="/releases/x",
        content_sha256="c" * 64,
        key_id="key-1",
        key_commitment="PRIVATE-COMMITMENT",
        data_digest="PRIVATE-DIGEST",
    )


def tamper(folder: Path, *statements: str) -> None:
    """Change a SQLite file as someone would who can write it and drops the triggers first."""
    Place(url_of(folder)).change(*statements)


def reserve_and_measure(
    ledger: Ledger,
    output: Path,
    measure: Measure,
    cost: Fraction,
    key: RunKey = KEY,
    again: bool = False,
    plan: str | None = None,
) -> MeasuredRun:
    """What a run does of its life once its input is open."""
    require_sound_output(ledger, key.dataset, output)
    return measure_run(ledger, ledger.reserve(key, TERMS, cost, "test", again, plan=plan), output, measure)
