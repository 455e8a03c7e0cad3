"""Names that a release of ``key-selection`` holds, read as a public list once its manifest is checked."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from dplib.canonical import canonical_json
from dplib.config.paths import read_text
from dplib.errors import ConfigError
from dplib.validate import did_you_mean

_MAX_BYTES = 1 << 26
_MANIFEST, _TABLE, _JOB = "manifest.json", "published/keys.parquet", "key-selection"


def released_keys(folder: Path, column: str | None, setting: str, shown: str, joined: str | None = None) -> list[str]:
    """The keys of a release in the order of their text, each once.

    Args:
        folder: the release.
        column: which column of keys of several (``key_0``, ...); ``key`` where None.
        setting: for messages.
        shown: the folder as configured, for messages.
        joined: what stands between the parts of a key of several columns where no column is named.

    Raises:
        ConfigError: if it is no whole release of that job, or has no such column.
    """
    text = read_text(setting, folder / _MANIFEST, _MAX_BYTES, shown)
    try:
        manifest = json.loads(text)
        files = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
        own, job = manifest["checksum"], manifest["job"]
        expected = hashlib.sha256(canonical_json(manifest | {"checksum": ""}, indent=2)).hexdigest()
    except (ValueError, KeyError, TypeError):
        raise ConfigError(setting, "be a release, whose manifest.json is whole", shown) from None
    if job != _JOB:
        raise ConfigError(setting, f"be a release of {_JOB}", f"{shown}, one of {job}")
    try:
        content = (folder / _TABLE).read_bytes()
    except OSError:
        content = b""
    if own != expected or hashlib.sha256(content).hexdigest() != files.get(_TABLE):
        raise ConfigError(setting, "be a release whose files are those of its manifest (dplib verify)", shown)
    table = pa_parquet.read_table(pa.BufferReader(content))
    several = [name for name in table.column_names if name.startswith("key_")]
    if column is None and joined is not None and several:
        parts = zip(*(table.column(name).to_pylist() for name in several), strict=True)
        return sorted({joined.join(map(str, each)) for each in parts})
    name = column or "key"
    if name not in table.column_names or not name.startswith("key"):
        known = ", ".join(each for each in table.column_names if each.startswith("key"))
        raise ConfigError(
            f"{setting.removesuffix('.release')}.column",
            f"be one of {known}",
            name + did_you_mean(name, known.split(", ")),
        )
    return sorted({str(key) for key in table.column(name).to_pylist()})
