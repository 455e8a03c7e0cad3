"""The database's errors in the project's words: one sentence each, without a password, an address's secret or a value.

| what happened | error | exit code |
|---|---|---|
| user, password, database or TLS setting is refused | `ConfigError` | 2 |
| the role may not do this, the file cannot be written | `ConfigError` | 2 |
| the server cannot be reached, is lost in the middle, or writers hold the lock too long | `DplibError` | 1: try again |
| the disk is full or broken | `DplibError` | 1: try again |
| the tables are not what this version made | `IntegrityError` | 1 |

A server that refuses a connection gives the client no SQLSTATE but a text, so those are told apart by words; a text
that none of them fits counts as a server that cannot be reached.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from dplib.errors import ConfigError, DplibError, IntegrityError

BUSY_SECONDS = 60
"""How long a writer waits for the others, and a connection for the server."""

_NO_RIGHT = "42501"
_LOCK_TIMEOUT = "55P03"
_DISK_FULL = "53100"
_REFUSED = (
    (r"password authentication failed|no password supplied|role .* does not exist", "accept the address's user"),
    (r"database .* does not exist", "name a database that exists"),
    (r"pg_hba\.conf", "be open to this user from this host, with or without TLS (the server's pg_hba.conf)"),
    (r"certificate|sslmode|ssl.*(not support|error|required)", "agree with the address's TLS settings"),
    (r"invalid .*(connection|uri|option)|invalid (sslmode|port|integer)", "have connection settings the driver knows"),
    (r"permission denied", "let this role connect"),
)


@contextmanager
def database_errors(name: str) -> Iterator[None]:
    """Turn the errors of a database, named without its password, into the project's."""
    try:
        yield
    except DBAPIError as error:
        raise _translated(error, name) from error


def _translated(error: DBAPIError, name: str) -> DplibError:
    state, text = getattr(error.orig, "sqlstate", None), str(error.orig).lower()
    if state == _NO_RIGHT or "readonly" in text or "read-only" in text or "unable to open" in text:
        if name.startswith("sqlite"):
            return ConfigError("ledger", "be a file that can be written", name)
        return ConfigError("ledger", "let this role do what the command needs (dplib guide ledger)", name)
    if state is None and isinstance(error, OperationalError) and not name.startswith("sqlite"):
        for pattern, rule in _REFUSED:
            if re.search(pattern, text):
                return ConfigError("ledger", rule, name)
    if state == _DISK_FULL or "disk is full" in text or "disk i/o error" in text:
        return DplibError(f"ledger must be on a sound disk with room, got one that is full or broken: {name}")
    if state == _LOCK_TIMEOUT or isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated:
        return DplibError(f"ledger must be reachable and free within {BUSY_SECONDS} seconds, got no answer from {name}")
    return IntegrityError(f"ledger must be a sound database, got one that is refused: {name}")
