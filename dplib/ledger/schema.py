"""The ledger's tables and the database behind them: SQLite by default, PostgreSQL for teams, one code for both.

- ``entries``: append-only; triggers refuse UPDATE and DELETE in the database itself.
- ``head``: one row, the chain's tip. Every writer locks it first (``SELECT ... FOR UPDATE``), so writers take turns.
- ``leases``: who is measuring a reservation now. Coordination only; no amount depends on it, so it is not in the chain.

SQLite has no row locks: writers begin with ``BEGIN IMMEDIATE``, which takes the file's single write lock before the
first read, and wait for each other up to ``BUSY_SECONDS``. The rollback journal is kept rather than the write-ahead
log: the ledger stays one file, can be copied while idle, and works where shared memory does not; ``synchronous =
EXTRA`` makes a commit survive a power cut. Connections are opened for one transaction each, so a forked process never
shares one.

PostgreSQL's writers run at READ COMMITTED whatever the server's default: each statement after the lock sees all that
was committed before the lock was got. A writer asks for a commit that survives a crash even where the server's
``synchronous_commit`` is off (a spent budget must not be forgotten), waits for the lock no longer than
``BUSY_SECONDS``, and loses it after as long a silence, so that a paused process does not stop all the others.

*Clocks.* Leases are timed by the database's own clock, which all jobs share: the server's, or that of the file system
that holds the file. A job's own clock only dates its entries, and nothing is decided by those dates.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Dialect,
    Engine,
    Float,
    Integer,
    MetaData,
    NullPool,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from dplib.config.paths import expand
from dplib.errors import ConfigError
from dplib.ledger.chain import GENESIS
from dplib.ledger.errors import BUSY_SECONDS, database_errors
from dplib.validate import require

SCHEMA_VERSION = 1

metadata = MetaData()
_compiled: dict[Any, Any] = {}
"""The statements on SQLite that this process has compiled: those of this package, whatever the file."""

entries = Table(
    "entries",
    metadata,
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("previous", String(64), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("dataset", String(64), nullable=False, index=True),
    Column("run", Integer),
    Column("body", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("at", String(40), nullable=False),
    Column("why", Text, nullable=False),
    Column("digest", String(64), nullable=False),
)

head = Table(
    "head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("schema_version", Integer, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("digest", String(64), nullable=False),
)

_VERSION = select(head.c.schema_version)

leases = Table(
    "leases",
    metadata,
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("token", String(32), nullable=False),
    Column("expires", Float(53), nullable=False),
)

_TRIGGERS = (
    (
        "sqlite",
        "CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries "
        "BEGIN SELECT RAISE(ABORT, 'ledger entries are append-only'); END",
    ),
    (
        "sqlite",
        "CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries "
        "BEGIN SELECT RAISE(ABORT, 'ledger entries are append-only'); END",
    ),
    (
        "postgresql",
        "CREATE OR REPLACE FUNCTION dplib_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'ledger entries are append-only'; END $$",
    ),
    (
        "postgresql",
        "CREATE TRIGGER entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON entries "
        "FOR EACH STATEMENT EXECUTE FUNCTION dplib_append_only()",
    ),
)


_WRITER_SETTINGS = (
    f"SELECT set_config('lock_timeout', '{BUSY_SECONDS}s', true), "
    f"set_config('idle_in_transaction_session_timeout', '{BUSY_SECONDS}s', true), "
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' "
    "ELSE current_setting('synchronous_commit') END, true)"
)


def resolve_ledger_url(url: str, base: Path) -> str:
    """Return the ledger's address with a relative SQLite path taken from ``base`` and a driver named.

    ``${NAME}`` in the user, password, host, database or a parameter, or as the whole address, is that environment
    variable, taken as it is: a password from there needs no escapes.

    Raises:
        ConfigError: if the address is neither a SQLite file nor a PostgreSQL database, or names a variable that is not
            set.
    """
    parsed = _expanded(_parse(expand("ledger", url) if url.startswith("${") else url))
    if parsed.get_backend_name() == "sqlite":
        path = (base / Path(str(parsed.database)).expanduser()).resolve()
        parsed = parsed.set(database=str(path))
    elif parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.render_as_string(hide_password=False)


def _expanded(url: URL) -> URL:
    def of(text: str | None) -> str | None:
        return None if text is None else expand("ledger", text)

    query = {
        name: expand("ledger", value) if isinstance(value, str) else tuple(expand("ledger", each) for each in value)
        for name, value in url.query.items()
    }
    return url.set(
        username=of(url.username),
        password=of(None if url.password is None else str(url.password)),
        host=of(url.host),
        database=of(url.database),
        query=query,
    )


@lru_cache(maxsize=16)
def public_address(url: str) -> str:
    """A ledger's address without password and TLS parameters, for people and for other ledgers."""
    parsed = make_url(url)
    # Which schema it is stands in the options.
    query = {name: value for name, value in parsed.query.items() if name == "options"}
    place = (parsed.host, parsed.port, parsed.database)
    return URL.create(parsed.drivername, parsed.username, None, *place, query=query).render_as_string()


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The text may hold a password, so it is not repeated.
        raise ConfigError("ledger", "be an address like sqlite:///ledger.db", "one that cannot be read") from None
    known = parsed.get_backend_name() in ("sqlite", "postgresql")
    require(known, "ledger", "be a sqlite or postgresql address", parsed.get_backend_name())
    if parsed.get_backend_name() == "sqlite":
        in_memory = parsed.database in (None, "", ":memory:") or "mode=memory" in str(parsed)
        require(not in_memory, "ledger", "be a file that outlives the run", "a database in memory")
    return parsed


def connect(url: str, create: bool, look: Callable[[Connection], None] | None = None) -> Engine:
    """Return an engine on a ledger that has the tables of this version.

    Args:
        url: resolved address.
        create: make what is missing: the SQLite file (readable by its owner only), the tables.
        look: called in the same transaction once the tables are there; may refuse.

    Raises:
        ConfigError: if the ledger does not exist, cannot be opened or is of another version.
        DplibError: if the server cannot be reached.
    """
    parsed = _parse(url)
    name = public_address(url)
    if parsed.get_backend_name() == "sqlite":
        _prepare_file(Path(str(parsed.database)), name, create)
    engine = _engine(parsed)
    with database_errors(name), transaction(engine, write=create) as connection:
        if create:
            _create_tables(connection)
        found = set(inspect(connection).get_table_names()) >= set(metadata.tables)
        require(found, "ledger", "be a database that dplib init has set up", name)
        version = connection.execute(_VERSION).scalar_one_or_none()
        require(version == SCHEMA_VERSION, "ledger", f"be of schema version {SCHEMA_VERSION}", version)
        if look is not None:
            look(connection)
    return engine


@lru_cache(maxsize=16)
def _engine(url: URL) -> Engine:
    """The engine of an address: it holds no connection, and statements that it compiled serve whoever opens it next.

    Raises:
        ConfigError: if the database's driver is not installed.
    """
    try:
        arguments = _arguments(url)
        if url.get_backend_name() == "sqlite":
            engine = _on_file(url, arguments)
        else:
            engine = create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=arguments)
    except (NoSuchModuleError, ImportError):
        raise ConfigError("ledger", "name a database whose driver is installed", url.drivername) from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _on_file(url: URL, arguments: dict[str, Any]) -> Engine:
    """An engine on a SQLite file, which shares its dialect, and with it what is compiled, with those on other files."""
    dialect = _dialect(url.drivername)
    args, given = dialect.create_connect_args(url)
    pool = NullPool(lambda: dialect.connect(*args, **{**given, **arguments}), dialect=dialect)
    return Engine(pool, dialect, url, hide_parameters=True, execution_options={"compiled_cache": _compiled})


@cache
def _dialect(driver: str) -> Dialect:
    """The dialect of a driver of SQLite, which has seen the library's version."""
    known = create_engine(f"{driver}://", poolclass=NullPool)
    known.connect().close()
    return known.dialect


def _arguments(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"timeout": BUSY_SECONDS}
    # Prepared statements do not survive a pooler in between; keepalives notice a lost server while it is waited for.
    given = {"connect_timeout": BUSY_SECONDS, "prepare_threshold": None, "keepalives_idle": 10, "keepalives_count": 3}
    return {name: value for name, value in given.items() if name not in url.query}


def _prepare_file(path: Path, name: str, create: bool) -> None:
    """See that the SQLite file is there, or make it; a file that is there is looked at and never opened.

    A process that closes any descriptor of a file drops all its record locks on it (POSIX), those of a transaction that
    another thread holds open too. So nothing but SQLite itself, which knows of this, opens the ledger's file.
    """
    if not create:
        require(path.is_file(), "ledger", "exist (dplib init creates it)", name)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _make_empty(path)
    except OSError:
        raise ConfigError("ledger", "be a file that can be written", name) from None
    require(path.is_file() and os.access(path, os.W_OK), "ledger", "be a file that can be written", name)


def _make_empty(path: Path) -> None:
    """An empty file that its owner alone can read, closed before it has the name by which others find it."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with suppress(FileExistsError):
            os.link(new, path)
    except OSError:
        # A file system without links: another thread could have it open already between these two calls, no more.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    finally:
        new.unlink()


def _create_tables(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        # Two first users at once: the second waits here and then finds the tables.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(6455713)")
    missing = not inspect(connection).has_table(entries.name)
    metadata.create_all(connection)
    if missing:
        for dialect, statement in _TRIGGERS:
            if dialect == connection.dialect.name:
                connection.exec_driver_sql(statement)
    if connection.execute(select(head.c.id)).first() is None:
        row = {"id": 1, "schema_version": SCHEMA_VERSION, "sequence": 0, "digest": GENESIS}
        connection.execute(insert(head).values(row))


def _set_up_sqlite(dbapi_connection: Any, _record: object) -> None:
    # The driver must not begin transactions on its own: it would begin deferred ones, and only before a write.
    dbapi_connection.isolation_level = None
    dbapi_connection.execute("PRAGMA synchronous = EXTRA")


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("ledger_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def transaction(engine: Engine, write: bool) -> Iterator[Connection]:
    """One transaction: a writer's excludes other writers from its first statement, a reader's sees one moment."""
    options: dict[str, Any] = {"ledger_write": write}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "READ COMMITTED" if write else "REPEATABLE READ"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        if write and engine.dialect.name == "postgresql":
            connection.exec_driver_sql(_WRITER_SETTINGS)
        yield connection


def database_time(connection: Connection) -> float:
    """Seconds since 1970 by the clock that all users of the ledger share; inside a writer's transaction only."""
    if connection.dialect.name == "postgresql":
        # Not the transaction's start: it may have waited for the lock.
        return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())
    # The file system dates the file by its own clock, also where the file lies on another machine.
    path = str(connection.engine.url.database)
    os.utime(path)
    return os.stat(path).st_mtime
