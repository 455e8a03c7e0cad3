"""Moving a ledger to another database: every entry as it is, and no moment in which both can be written.

The entries keep their sequence, hashes, times and texts, so release ids, noise keys and tips kept elsewhere stay true.
The source is closed by an entry that names the new place; anyone who still uses it is told so, and pays for nothing.

The order decides that no budget is spent twice. Both transactions are open at once, each under its database's writers'
lock, and nothing is committed before every entry lies in the target; then the source is committed, which closes it,
then the target, then a last entry in the source says that the move is complete. So a crash

- before the first commit leaves the source open and the target empty;
- between the two leaves the source closed and the target empty: the same command, given again, copies and completes;
- after the second leaves both complete but for that last entry, which the same command adds.

Once the move is complete a target that is empty again was lost, and is not filled from the old book a second time: it
would forget what was spent since. That needs a backup of the target.
"""

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert, update

from dplib.errors import DplibError, IntegrityError
from dplib.ledger import leases
from dplib.ledger.audit import audit_entries
from dplib.ledger.book import Book
from dplib.ledger.chain import Entry
from dplib.ledger.schema import entries, head
from dplib.ledger.writer import CLOSING, Writer, read_entries
from dplib.validate import require

REASON = "dplib ledger migrate"


@dataclass(frozen=True)
class Moved:
    """A complete move."""

    n_entries: int
    address: str


def migrate(source_url: str, target_url: str) -> Moved:
    """Move a ledger to an empty database or a new file; the same call again completes one that was interrupted.

    Raises:
        ConfigError: if the target is not empty, or the source was moved before.
        IntegrityError: if the source does not audit clean.
        DplibError: if someone is measuring, or a database cannot be reached.
    """
    source, target = Book.open(source_url, even_closed=True), Book.open(target_url, create=True, even_closed=True)
    require(source.address != target.address, "--to", "be another place than --from", target.address)
    # The inner transaction is committed first.
    with target.transaction(write=True) as into, source.writing("", closing=True) as writer:
        book = _movable(writer, source.address, target.address)
        interrupted = len(book) < writer.sequence
        _copy(into, book, target.address, interrupted)
        if not interrupted:
            writer.append("close", None, {"to": target.address}, REASON)
    with source.writing("", closing=True) as writer:
        writer.append("moved", None, {"to": target.address}, REASON)
    return Moved(len(book), target.address)


def _movable(writer: Writer, source: str, target: str) -> list[Entry]:
    """The entries to copy, without the one that closed the source in an interrupted move."""
    book = read_entries(writer.connection)
    findings = audit_entries(book, (writer.sequence, writer.digest))
    if findings:
        raise IntegrityError(f"ledger must be sound to be moved, got {len(findings)} findings (dplib ledger audit)")
    measuring = leases.live(writer.connection)
    if measuring:
        holder = f"{measuring[0].host} (process {measuring[0].pid})"
        raise DplibError(f"ledger must be idle to be moved, got a run that is being measured on {holder}")
    if book and book[-1].kind in CLOSING:
        place = book[-1].content()["to"]
        interrupted = book[-1].kind == "close" and place == target
        require(interrupted, "--from", "be a ledger in use", f"{source}, which was moved to {place}")
        return book[:-1]
    return book


def _copy(into: Connection, book: list[Entry], target: str, interrupted: bool) -> None:
    present = read_entries(into)
    if interrupted and present == book:
        return
    require(not present, "--to", "be an empty ledger", f"{target}, which has entries")
    for entry in book:
        into.execute(insert(entries).values(**asdict(entry)))
    if book:
        into.execute(update(head).values(sequence=book[-1].sequence, digest=book[-1].digest))
