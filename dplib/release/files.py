"""The files of a directory: their checksums, one hash for all, and flushing them to disk."""

import hashlib
import os
from pathlib import Path

from dplib.canonical import canonical_json
from dplib.errors import IntegrityError
from dplib.validate import require

MANIFEST = "manifest.json"
REPORT = "report.html"


def require_release(directory: Path) -> Path:
    """A directory that holds a release: the one given, or the newest version of a stream.

    Raises:
        ConfigError: if there is none.
    """
    if not (directory / MANIFEST).is_file():
        versions = versions_in(directory)
        require(bool(versions), "RELEASE", f"be a directory with a {MANIFEST}", directory)
        return versions[-1]
    return directory


def versions_in(stream: Path) -> list[Path]:
    """The versions in a stream's folder, in their order."""
    named = sorted(stream.iterdir()) if stream.is_dir() else []
    return [path for path in named if path.name.isdecimal() and (path / MANIFEST).is_file()]


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def list_files(directory: Path, hidden: bool = False) -> dict[str, Path]:
    """All files below a directory by relative name with forward slashes, ``hidden`` ones, below a dot, too.

    Raises:
        IntegrityError: if something there is neither a file nor a directory, such as a link.
    """
    found: dict[str, Path] = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if not hidden and any(part.startswith(".") for part in name.split("/")):
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise IntegrityError(f"{directory.name} must hold plain files and directories, got {name}")
        if path.is_file():
            found[name] = path
    return found


def content_hash(directory: Path) -> str:
    """SHA-256, hex, over the names and contents of all files below a directory."""
    sums = {name: file_sha256(path) for name, path in list_files(directory).items()}
    return hashlib.sha256(canonical_json(sums)).hexdigest()


def flush_tree(directory: Path) -> None:
    """Make all files and directories below ``directory`` survive a power cut."""
    for path in [directory, *directory.rglob("*")]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
