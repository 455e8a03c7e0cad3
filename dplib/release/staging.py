"""Directories that appear whole or not at all: staging, the stored measurement, the atomic release.

    <output>/.staging-<release id>-<token>/   being written; its writer holds a lock on the file .lock in it
    <output>/<release id>/measurement/        stored measurement; without manifest.json it is no release
    <output>/<release id>/manifest.json       written last: readers wait for it
    <output>/.old-<release id>/               the release that is being replaced, for the moment of the swap

Whatever is renamed into place was flushed to disk before. Every step of a swap can be the last one before a crash: the
next call on the same release completes it or takes it back. While a release is replaced it is away between two renames;
a reader that meets the gap tries again.

Liveness is a file lock (``flock``) of the writer, which the system drops when the process ends, however it ends: no
process numbers, which mean nothing across containers, and no ages. Staging directories can be opened by their owner
only, since they may hold a measurement that is never to be seen (see ``dplib.ledger.ledger``).
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from dplib.errors import ConfigError, DplibError, IntegrityError
from dplib.release.files import MANIFEST, content_hash, flush_tree, versions_in

MEASUREMENT = "measurement"
_LOCK = ".lock"
_PROBE = ".probe"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENFILE, errno.EMFILE}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ESTALE, errno.ENODEV}


def check_writable(output: Path) -> None:
    """Make the output directory and try it, before a budget is spent on what could not be stored.

    Raises:
        ConfigError: if a file cannot be written there.
        DplibError: if there is no room for one at the moment.
    """
    probe = output / _PROBE
    try:
        output.mkdir(parents=True, exist_ok=True)
        with locked(output):
            # One process at a time probes, so a probe that is there was left by one that was killed.
            shutil.rmtree(probe, ignore_errors=True)
            probe.mkdir()
            try:
                (probe / "probe").write_bytes(b"x")
            finally:
                shutil.rmtree(probe)
    except OSError as error:
        if error.errno in _FULL:
            raise DplibError(_sentence(error)) from None
        raise ConfigError("publish.output.path", "be a directory that can be written", output) from None


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turn what the system says against writing below the output directory into a sentence without its path.

    Raises:
        DplibError: if the disk is full, broken or no longer writable; worth a retry once that is fixed.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL | _CLOSED:
            raise DplibError(_sentence(error)) from None
        raise


def _sentence(error: OSError) -> str:
    what = os.strerror(error.errno or 0).lower()
    return f"publish.output.path must be a directory with room, to which a release can be written, got: {what}"


class Staging:
    """A directory that is being written for one release; a context manager that holds the writer's lock.

    On leaving, a directory that was neither stored nor published stays where it is: whether the ledger names it may be
    unknown (the connection broke during the commit). ``discard`` removes it, and so does ``remove_leftovers``.
    """

    def __init__(self, output: Path, release_id: str) -> None:
        self.output = output
        self.release_id = release_id
        self.name = f".staging-{release_id}-{secrets.token_hex(8)}"
        self.path = output / self.name
        # Under the output's lock, so that no cleaner meets the directory before its writer's lock.
        with locked(output):
            self.path.mkdir(mode=0o700)
            self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __enter__(self) -> "Staging":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def seal(self) -> str:
        """Flush all files to disk and return the hash of the measurement's names and contents, for the ledger."""
        flush_tree(self.path)
        return content_hash(self.path / MEASUREMENT)

    def link_measurement(self, stored: Path) -> None:
        """Take over a stored measurement, as further names of the same files where the file system allows it."""
        shutil.copytree(stored, self.path / MEASUREMENT, copy_function=_link)

    def discard(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self.path, ignore_errors=True)

    def publish(self) -> Path:
        """Put the directory, which holds a whole release with its manifest, in the release's place."""
        if not (self.path / MANIFEST).is_file():
            raise IntegrityError(f"{self.release_id} must have a manifest before it is published")
        flush_tree(self.path)
        with locked(self.output):
            return _swap(self.output, self.name, self.release_id)


def store_measurement(output: Path, release_id: str, staged: str, content_sha256: str) -> Path:
    """Move the measurement that the ledger names from staging into its release's directory; again without effect.

    ``staged`` and ``content_sha256`` are as the ledger has them. Returns the directory of the stored measurement.

    Raises:
        IntegrityError: if it is nowhere to be found, or is not what was recorded.
    """
    stored = output / release_id / MEASUREMENT
    if Path(staged).name != staged or not output.is_dir():
        raise IntegrityError(f"{release_id} must have its stored measurement in {output}, got none")
    with locked(output):
        _recover(output, release_id)
        if not stored.is_dir() and (output / staged / MEASUREMENT).is_dir():
            _swap(output, staged, release_id)
    if not stored.is_dir():
        raise IntegrityError(f"{release_id} must have its stored measurement in {output}, got none")
    if content_hash(stored) != content_sha256:
        raise IntegrityError(f"{release_id} must have the measurement that the ledger names, got a changed one")
    return stored


def place_day(output: Path, release_id: str, date: str, staged: str) -> Path:
    """Move what a stream measured on a day from staging into its folder; again without effect.

    Raises:
        IntegrityError: if it is nowhere to be found.
    """
    place = output / release_id / MEASUREMENT / date
    if re.fullmatch(_staging_name(release_id), staged) is None or not output.is_dir():
        raise IntegrityError(f"{release_id} must have its measured days in {output}, got none")
    with locked(output):
        if not place.is_dir() and (output / staged / MEASUREMENT).is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(output / staged / MEASUREMENT, place)
            for folder in (place.parent, output / release_id, output):
                flush_directory(folder)
        if not place.is_dir():
            raise IntegrityError(f"{release_id} must have the day {date} in {output}, got none")
        # Also where a crash came before: it may hold the chosen rows of a day after which none are kept.
        shutil.rmtree(output / staged, ignore_errors=True)
    return place


def place_version(staging: Staging, is_later: Callable[[Path], bool]) -> Path | None:
    """Put a staged directory, which holds a whole release, behind a stream's versions; returns its place.

    None, and the directory stays in staging, where ``is_later`` says so of the newest version: a slow run must not take
    its readers back.

    A version is never replaced, so readers of one keep it: one that a crash left unrecorded stays, made as any other.
    """
    flush_tree(staging.path)
    stream = staging.output / staging.release_id
    with locked(staging.output):
        versions = versions_in(stream)
        if versions and is_later(versions[-1]):
            return None
        number = max((int(path.name) for path in stream.iterdir() if path.name.isdecimal()), default=0) + 1
        place = stream / f"{number:06d}"
        (staging.path / _LOCK).unlink(missing_ok=True)
        os.rename(staging.path, place)
        place.chmod(staging.output.stat().st_mode & 0o777)
        flush_directory(place.parent)
    return place.resolve()


def remove_leftovers(output: Path, release_id: str, recorded: Callable[[], set[str]]) -> None:
    """Remove what dead runs of one release left in staging.

    ``recorded`` asks the ledger for the staging directories that it names, once the writers of all leftovers
    are known to be gone, so that its answer is final.
    """
    if not output.is_dir():
        return
    with locked(output):
        _recover(output, release_id)
        own = _staging_name(release_id)
        found = [path for path in sorted(output.iterdir()) if re.fullmatch(own, path.name)]
        dead = [path for path in found if not _is_alive(path)]
        keep = recorded() if dead else set()
        for path in dead:
            if path.name not in keep:
                shutil.rmtree(path)


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Hold the output directory's lock: for renames and for making and removing staging directories."""
    descriptor = os.open(output / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _staging_name(release_id: str) -> str:
    """Pattern of the names of a release's staging directories."""
    return rf"\.staging-{re.escape(release_id)}-[0-9a-f]{{16}}"


def _is_alive(staging: Path) -> bool:
    try:
        descriptor = os.open(staging / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _swap(output: Path, staged: str, release_id: str) -> Path:
    _recover(output, release_id)
    new, final, old = output / staged, output / release_id, output / f".old-{release_id}"
    (new / _LOCK).unlink(missing_ok=True)
    if final.exists():
        os.rename(final, old)
    os.rename(new, final)
    # It was made private; in place it can be read by anyone who can read the output directory.
    final.chmod(output.stat().st_mode & 0o777)
    flush_directory(output)
    shutil.rmtree(old, ignore_errors=True)
    return final


def _recover(output: Path, release_id: str) -> None:
    """Complete or take back a swap that a crash interrupted."""
    final, old = output / release_id, output / f".old-{release_id}"
    if not old.exists():
        return
    if final.exists():
        shutil.rmtree(old)
    else:
        os.rename(old, final)


def flush_directory(path: Path) -> None:
    """Flush the names in a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
