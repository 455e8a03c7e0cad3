"""The manifest: what a release is, whom it protects, and what its files must be.

It is written last; a directory without it is no release. It holds public settings, public keys, the noise's scales
where they are public, and the checksums of the published files; no time, no fingerprint of the rows, nothing private.
Its bytes are canonical, so two publications of one measurement with the same settings are the same file, and hold their
own checksum, so that damage to the manifest shows like damage to any other file.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from dplib.canonical import canonical_json, plain
from dplib.errors import ConfigError, IntegrityError
from dplib.privacy.neighbors import Neighbors
from dplib.release.files import MANIFEST, file_sha256, list_files, versions_in
from dplib.validate import require

STREAM = "stream"
"""Among the details of a stream's version: its horizon, its days, and what of them is final."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FractionText = Annotated[str, Field(pattern=r"^[0-9]+(/[1-9][0-9]*)?$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class FileEntry(_Part):
    """One published file; ``path`` is relative to the release, with forward slashes."""

    path: str
    sha256: Sha256
    size: int = Field(ge=0)

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        parts = path.split("/")
        if not path or "\\" in path or any(part in ("", "..") or part.startswith(".") for part in parts):
            raise ValueError("lies outside the release")
        return path

    def is_intact(self, directory: Path) -> bool:
        """Whether the file of this name in a directory has this size and checksum."""
        file = directory / self.path
        try:
            return (file.stat().st_size, file_sha256(file)) == (self.size, self.sha256)
        except OSError:  # none, or a bad sector
            return False


class Manifest(_Part):
    """All that a reader of a release is told; see the module docstring."""

    manifest_version: Literal[2] = 2
    release_id: str
    """Public name of the run."""
    dataset: str
    """The account that paid."""
    job: str
    """Name of the job."""
    logical_date: str
    """The schedule's date; empty where there is none."""
    privacy_unit: str
    """What one neighbour more or less is: event, order, customer ..."""
    neighbors: str
    """The neighbour relation."""
    invariants: list[str] = Field(default_factory=list)
    """What is taken as public; the guarantee is conditional on it."""
    currency: Literal["pure", "zcdp", "approx"]
    """What the account counts in."""
    cost: FractionText
    """What the release took from the account, exactly."""
    totals: dict[str, JsonValue]
    """The release's guarantee by each accountant."""
    sensitivities: dict[str, JsonValue]
    """By statistic."""
    mechanisms: list[dict[str, JsonValue]]
    """Each draw of noise with its scale, where that is public."""
    solver: dict[str, JsonValue]
    """How estimates were made, and by which path."""
    constraints: list[dict[str, JsonValue]]
    """The resolved constraints that the tables obey."""
    domain: dict[str, JsonValue]
    """Declared keys and ranges."""
    details: dict[str, JsonValue] = Field(default_factory=dict)
    """What else the job states."""
    versions: dict[str, str]
    """Code and formats."""
    key_id: str
    """Public name of the secret that keyed the noise."""
    reservation: str = Field(default="", pattern=r"^([0-9a-f]{32})?$", exclude_if=lambda nonce: not nonce)
    """Random text that was drawn with the ledger's reservation, before a row was read: shows which ledger paid. Absent
    in releases of earlier versions."""
    settings_hash: Sha256
    """Of the resolved measurement settings."""
    publish_hash: Sha256
    """Of the resolved publish settings."""
    files: list[FileEntry]
    """All files of the release but the manifest, sorted by path."""
    checksum: str = ""
    """SHA-256, hex, of the canonical text with this empty: a changed bit shows without the ledger. It is no signature:
    anyone who edits the text can write it anew, which only the ledger shows."""

    @field_validator("neighbors")
    @classmethod
    def _known_relation(cls, value: str) -> str:
        return Neighbors(value).value

    @field_validator("files")
    @classmethod
    def _sorted_once(cls, files: list[FileEntry]) -> list[FileEntry]:
        paths = [entry.path for entry in files]
        if paths != sorted(set(paths)):
            raise ValueError("must be sorted by path, each once")
        return files

    def to_bytes(self) -> bytes:
        """The canonical text, with its checksum whatever the field says."""
        text = self._unsigned()
        # No field of a part is as far to the left, and no text has an end of line in it.
        return text.replace(b'\n  "checksum": "', b'\n  "checksum": "' + _hexdigest(text), 1) + b"\n"

    def own_checksum(self) -> str:
        """What `checksum` must be."""
        return _hexdigest(self._unsigned()).decode()

    def _unsigned(self) -> bytes:
        """The canonical text without its checksum and its last end of line."""
        return canonical_json(self.model_dump(mode="json") | {"checksum": ""}, indent=2)

    def sha256(self) -> str:
        """SHA-256, hex, of the canonical text, as the ledger records it."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


def _hexdigest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def build_manifest(directory: Path, content: Mapping[str, Any]) -> Manifest:
    """Return the manifest of a directory whose files are all written, from its fields but ``files``.

    Fractions, dates, enums and numpy scalars are converted.

    Raises:
        ConfigError: if a field is missing, unknown or has no canonical form.
    """
    files = [
        {"path": name, "sha256": file_sha256(path), "size": path.stat().st_size}
        for name, path in list_files(directory).items()
        if name != MANIFEST
    ]
    files.sort(key=lambda entry: str(entry["path"]))
    fields = plain({**content, "files": files}, "manifest")
    try:
        manifest = Manifest.model_validate(fields)
    except ValidationError as error:
        raise _wrong_field(error) from None
    return manifest.model_copy(update={"checksum": manifest.own_checksum()})


def write_manifest(directory: Path, manifest: Manifest) -> str:
    """Write ``manifest.json``, the last file of a release; returns its SHA-256, hex."""
    text = manifest.to_bytes()
    (directory / MANIFEST).write_bytes(text)
    return hashlib.sha256(text).hexdigest()


def load_manifest(directory: Path) -> Manifest:
    """Read a release's manifest.

    Raises:
        IntegrityError: if there is none, or it is not what this version writes.
    """
    try:
        text = (directory / MANIFEST).read_bytes()
    except OSError:
        raise IntegrityError(f"release must be a directory with a {MANIFEST}, got {directory}") from None
    try:
        manifest = Manifest.model_validate_json(text)
        canonical = manifest.to_bytes()
    except ValidationError as error:
        raise IntegrityError(f"{_wrong_field(error)} ({directory / MANIFEST})") from None
    except ConfigError as error:
        # The parser lets NaN and infinity pass.
        raise IntegrityError(f"{error} ({directory / MANIFEST})") from None
    if canonical != text:
        raise IntegrityError(f"{MANIFEST} must be the text that was written, got another in {directory}")
    return manifest


def public_design(manifest: Manifest, job: str) -> dict[str, Any]:
    """The public settings of a release, from which its job builds the design again.

    Raises:
        ConfigError: if the release is of another job.
    """
    require(manifest.job == job, "release", f"be one of {job}", manifest.job)
    design: dict[str, Any] = dict(manifest.details["design"])  # type: ignore[arg-type]  # JSON: written as a mapping
    _require_own_names(design)
    return design


_LISTS = {"file", "release", "column", "columns", "attributes", "first_day", "last_day", "table"}
"""Keys of a reference to a file of names."""


def _require_own_names(value: Any) -> None:
    """Refuse a manifest that leads to a file of the reader's machine: a release holds its lists itself.

    Raises:
        IntegrityError: if it does.
    """
    if isinstance(value, dict):
        place = value.get("file") or value.get("release")
        if isinstance(place, str) and set(value) <= _LISTS:
            raise IntegrityError(f"{MANIFEST} must hold the names of its release, got a reference to the file {place}")
        # The keys of coefficients are items, one of which may be called file.
        _require_own_names([inner for key, inner in value.items() if key != "coefficients"])
    elif isinstance(value, list):
        for inner in value:
            _require_own_names(inner)


def version_as_of(stream: Path, day: str) -> Path:
    """The newest version of a stream that knows no day after ``day``, ISO 8601.

    Raises:
        ConfigError: if there is none.
    """
    for version in reversed(versions_in(stream)):
        days: Any = load_manifest(version).details[STREAM]
        if max(days["days"]) <= day:
            return version
    raise ConfigError("--as-of", f"be a day on which {stream.name} had a version", day)


def _wrong_field(error: ValidationError) -> ConfigError:
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "text"
    return ConfigError(f"manifest {where}", "be as this version writes it", f"one that is not: {first['msg'].lower()}")
