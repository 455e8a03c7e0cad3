"""Leases: at most one process at a time measures a reservation, as far as clocks and hosts allow.

A lease belongs to one ``Ledger`` object of one process and lasts ``LEASE_SECONDS`` after its last sign of life. It is
free again when it ends, when its owner lets go, or at once when its owner was a process of this host that is gone. A
lease saves work and gives the second job a clear message; no guarantee rests on it (see ``dplib.ledger.ledger``).

Leases are timed by the database's clock alone (`dplib.ledger.schema.database_time`), so a job whose own clock
runs ahead or behind neither takes a live lease nor waits for a dead one. Should that one clock jump, or two containers
share a host name, two jobs measure, the first to record wins, and the other measurement is thrown away unseen: that
costs work, and no privacy.
"""

import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, and_, bindparam, delete, insert, select, update

from dplib.errors import DplibError
from dplib.ledger.schema import database_time, leases

LEASE_SECONDS = 180.0
_OF_RUN = select(leases).where(leases.c.run == bindparam("of_run"))
_DROP = delete(leases).where(leases.c.run == bindparam("of_run"))
_DROP_OWN = _DROP.where(leases.c.token == bindparam("of_owner"))
_TAKE = insert(leases)


@dataclass(frozen=True)
class Owner:
    """One holder of leases."""

    host: str
    pid: int
    token: str

    @classmethod
    def new(cls) -> "Owner":
        """An owner for this process, told apart from others by a random token."""
        return cls(socket.gethostname(), os.getpid(), secrets.token_hex(16))

    def is_gone(self) -> bool:
        """Whether the owner was a process of this host that no longer runs."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False


def take(connection: Connection, run: int, release_id: str, owner: Owner) -> None:
    """Give ``owner`` the lease of a run, inside a writer's transaction.

    Raises:
        DplibError: if another owner holds it.
    """
    now = database_time(connection)
    row = connection.execute(_OF_RUN, {"of_run": run}).first()
    if row is not None:
        holder = Owner(row.host, row.pid, row.token)
        if holder != owner and row.expires > now and not holder.is_gone():
            raise DplibError(f"{release_id} is being measured by another run, on {holder.host} (process {holder.pid})")
        connection.execute(_DROP, {"of_run": run})
    values = {"run": run, "host": owner.host, "pid": owner.pid, "token": owner.token, "expires": now + LEASE_SECONDS}
    connection.execute(_TAKE, values)


def extend(connection: Connection, run: int, owner: Owner) -> None:
    """Show a sign of life; without effect if the lease is another's by now."""
    own = and_(leases.c.run == run, leases.c.token == owner.token)
    connection.execute(update(leases).where(own).values(expires=database_time(connection) + LEASE_SECONDS))


def live(connection: Connection) -> list[Owner]:
    """Who measures now."""
    now = database_time(connection)
    rows = connection.execute(select(leases).where(leases.c.expires > now))
    owners = (Owner(row.host, row.pid, row.token) for row in rows)
    return [owner for owner in owners if not owner.is_gone()]


def drop(connection: Connection, run: int, owner: Owner | None = None) -> None:
    """Let go of a lease: ``owner``'s, or anyone's if no owner is named."""
    if owner is None:
        connection.execute(_DROP, {"of_run": run})
    else:
        connection.execute(_DROP_OWN, {"of_run": run, "of_owner": owner.token})


@contextmanager
def heartbeat(beat: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call ``beat`` every ``seconds`` from a thread while the block runs; a beat that fails is tried again."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(seconds):
            try:
                beat()
            except DplibError:
                # The ledger may be busy or away for a moment; should it stay so, the lease ends, which is safe.
                continue

    thread = threading.Thread(target=work, name="dplib-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
