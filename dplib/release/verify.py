"""Is a release what was written, and what was paid for? Each check says what it looked at, good or bad.

The files are checked against the manifest, the manifest against the ledger. What the numbers must obey (parents the sum
of their children, constraints) only the job knows: its checks return the same `Check`.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplib.errors import ConfigError, DplibError
from dplib.ledger.chain import Entry
from dplib.ledger.replay import LedgerState
from dplib.ledger.repricing import Pricing
from dplib.release.files import MANIFEST, content_hash, file_sha256, list_files
from dplib.release.manifest import STREAM, Manifest, load_manifest
from dplib.release.membership import FORGOTTEN, found_in, unknown
from dplib.release.staging import MEASUREMENT

if TYPE_CHECKING:
    from dplib.ledger.ledger import Ledger


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str


def verify_files(directory: Path) -> list[Check]:
    """Check the manifest's form, that its files are there and unchanged, and that there are no others."""
    try:
        manifest = load_manifest(directory)
        present = list_files(directory, hidden=True)
    except DplibError as error:
        return [Check("manifest", False, str(error))]
    listed = {entry.path: entry for entry in manifest.files}
    missing = sorted(set(listed) - set(present))
    extra = sorted(set(present) - set(listed) - {MANIFEST})
    changed = [name for name, entry in listed.items() if name in present and not entry.is_intact(directory)]
    place = directory.resolve()
    folder = place.parent.name if STREAM in manifest.details else place.name
    return [
        Check("manifest", True, f"version {manifest.manifest_version}, canonical"),
        Check("name", folder == manifest.release_id, _named(folder, manifest.release_id)),
        _listing("missing files", missing),
        _listing("extra files", extra),
        _listing("changed files", changed, good=f"{len(listed)} checksums agree"),
    ]


def verify_content(check: Callable[[], list[Check]]) -> list[Check]:
    """A job's own checks; one that fails itself, as on a manifest edited with its form kept, is a bad check."""
    try:
        return check()
    except DplibError as error:
        return [Check("content", False, str(error))]
    except Exception as error:  # whatever a foreign text makes of the job's code
        name = type(error).__name__
        return [Check("content", False, f"{MANIFEST} must fit the tables beside it, got one that does not ({name})")]


def verify_against_ledger(manifest: Manifest, ledger: "Ledger", pricing: Pricing | None = None) -> list[Check]:
    """Check that the ledger knows this release, with these settings, this cost and this very manifest.

    ``pricing`` works the costs of the ledger's reservations out again; they are taken as stated where None.
    """
    try:
        run = ledger.run(manifest.release_id)
        account = ledger.account(run.key.dataset)
        findings = ledger.audit(pricing=pricing)
    except DplibError as error:
        return [Check("ledger entry", False, str(error))]
    publication, measurement = run.publication, run.measurement
    recorded = None if publication is None else publication.manifest_sha256
    if run.horizon is not None:
        # Every version of a stream stays.
        own = [each for each in run.publications if each.manifest_sha256 == manifest.sha256()]
        publication = own[-1] if own else publication
        recorded = None if publication is None else publication.manifest_sha256
        measurement = run.stored[-1] if run.stored else None
    pairs = [
        ("dataset", manifest.dataset, run.key.dataset),
        ("job", manifest.job, run.key.job),
        ("logical date", manifest.logical_date, run.key.logical_date),
        ("measurement settings", manifest.settings_hash, run.key.settings_hash),
        ("publish settings", manifest.publish_hash, None if publication is None else publication.publish_hash),
        ("cost", manifest.cost, str(run.cost)),
        ("currency", manifest.currency, account.terms.currency.value),
        ("privacy unit", manifest.privacy_unit, account.terms.unit),
        ("neighbors", manifest.neighbors, account.terms.neighbors.value),
        ("key", manifest.key_id, None if measurement is None else measurement.key_id),
        ("manifest recorded", manifest.sha256(), recorded),
    ]
    if manifest.reservation:
        pairs.append(("reservation", manifest.reservation, run.nonce))
    checks = [Check("ledger entry", True, f"entry {run.sequence}, {run.state}")]
    checks += [Check(name, here == there, _compared(here, there)) for name, here, there in pairs]
    shown = "; ".join(f"entry {finding.sequence}: {finding.problem}" for finding in findings[:3])
    return [*checks, Check("ledger audit", not findings, shown or "hash chain and balances agree")]


def _named(folder: str, release_id: str) -> str:
    return f"release {release_id}" if folder == release_id else f"folder {folder} holds the release {release_id}"


def unknown_releases(folder: Path, book: Iterable[Entry], own_accounts: bool = False) -> list[str]:
    """What the releases in a folder and the entries of a ledger say against each other, one sentence each.

    A release, stored measurement or staging folder that is of no reservation of the book was paid for in a book that is
    not this one: most likely, this is an older backup, and what was spent since then is forgotten.

    Args:
        folder: of all releases; other directories in it are passed over.
        book: every entry.
        own_accounts: look at releases of the book's accounts only, where a folder may hold those of other ledgers too.

    Raises:
        ConfigError: if there is no such folder.
    """
    if not folder.is_dir():
        raise ConfigError("--releases", "be a folder", folder)
    state, published = LedgerState(), _published(book)
    for entry in book:
        with suppress(DplibError):  # what breaks a rule is the audit's to say
            state.apply(entry)
    problems = {
        found.name: problem
        for found in found_in(folder)
        if (not own_accounts or found.dataset in state.accounts) and (problem := unknown(found, state.runs)) is not None
    }
    for directory in sorted(path.parent for path in folder.glob(f"*/{MANIFEST}")):
        name, recorded = directory.name, published.get(directory.name)
        if recorded is None and not own_accounts:
            problems.setdefault(name, FORGOTTEN)
        elif recorded is not None and file_sha256(directory / MANIFEST) not in recorded:
            problems.setdefault(name, "its manifest is not one that the ledger recorded")
    return [f"{name}: {problem}" for name, problem in sorted(problems.items())]


def output_folders(book: Iterable[Entry]) -> list[Path]:
    """The folders on this machine in which the entries of a ledger say that measurements were stored."""
    bodies = [entry.content() for entry in book if entry.kind in ("measure", "day")]
    folders = {Path(str(body.get("measurement", body).get("location"))).parent for body in bodies}
    return sorted(folder for folder in folders if folder.is_dir())


def _published(book: Iterable[Entry]) -> dict[str, set[str]]:
    """The manifests' SHA-256 that were recorded, by release."""
    published: dict[str, set[str]] = {}
    for entry in book:
        if entry.kind == "publish":
            content = entry.content()
            published.setdefault(Path(str(content["location"])).name, set()).add(str(content["manifest_sha256"]))
    return published


def _listing(name: str, found: list[str], good: str = "none") -> Check:
    shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
    return Check(name, not found, shown or good)


def _compared(here: str, there: str | None) -> str:
    return here if here == there else f"{here} in the manifest, {there or 'nothing'} in the ledger"


def check_days(directory: Path, manifest: Manifest) -> Check:
    """The measured days that a version was made from, beside it."""
    stream: Any = manifest.details[STREAM]
    folder = directory.resolve().parent / MEASUREMENT
    wrong = [day for day, known in stream["days"].items() if content_hash(folder / day) != known]
    return Check("measured days", not wrong, ", ".join(wrong[:5]) or f"{len(stream['days'])} as they were measured")
