"""Tables of a finished release, appended to Delta tables that hold many releases: post-processing, it never spends.

Each row gets the release's id, dataset and logical date in front. One release is one commit: a reader sees all its rows
or none. Running again adds nothing; a release that was published anew with other settings replaces its own rows, in
one commit. Two writers at once: the transaction names the release, so the log takes one of them, and the other looks
again and finds the rows there.

A table that cannot be written leaves the release as it is; the next run of the same settings, which spends nothing,
tries again. A table is made by its first release. Its log may be shortened: a release whose commit is no longer listed
is replaced by itself.

Cost: O(rows) a new release, in pieces; one look into the log where the rows are there.

Reference: Armbrust et al., "Delta Lake: high-performance ACID table storage over cloud object stores", PVLDB 13(12),
2020, section 3.2 (application transactions make retries idempotent).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pa_dataset

from dplib.errors import ConfigError, DplibError
from dplib.release.manifest import Manifest, load_manifest

RELEASE_ID = "release_id"
_TRIES = 8
_MANIFEST = "dplib.manifest"
_RELEASE = "dplib.release_id"


def require_library() -> None:
    """Check that Delta tables can be written here, before anything is spent.

    Raises:
        ConfigError: if the extra ``delta`` is not installed.
    """
    if find_spec("deltalake") is None:
        raise ConfigError(
            "publish.output.tables",
            "stand in an environment with the extra delta (pip install 'dplib[delta]')",
            "one without",
        )


def require_tables(release: Path, names: Iterable[str], may_lack: frozenset[str]) -> None:
    """Refuse names of tables that releases of these settings, of which one is finished, neither have nor may lack.

    Raises:
        ConfigError: naming the first that there is not.
    """
    manifest = load_manifest(release)
    for name in sorted(set(names) - may_lack):
        _files(release, manifest, name)


def append_release(release: Path, tables: Mapping[str, str], may_lack: frozenset[str] = frozenset()) -> list[str]:
    """Bring the tables of a release into Delta tables.

    Args:
        release: the release's directory, finished.
        tables: name of a table of the release (``published``, ``estimates/centers``) to the place of a Delta table.
        may_lack: tables that the release may lack: then they have no rows to bring.

    Returns:
        The names that were written now; those that were there already are left out.

    Raises:
        ConfigError: if the release has no such table, or the Delta table has other columns.
        DplibError: if a Delta table cannot be written now.
    """
    manifest = load_manifest(release)
    folders = {Path(entry.path).parent.as_posix() for entry in manifest.files}
    there = {name: place for name, place in tables.items() if name in folders or name not in may_lack}
    files = {name: _files(release, manifest, name) for name in there}
    return [name for name, place in there.items() if _append(manifest, name, files[name], place)]


def _files(release: Path, manifest: Manifest, name: str) -> list[Path]:
    """The Parquet files of one table: a file by its name without ending, or all files of a folder."""
    listed = [Path(entry.path) for entry in manifest.files if entry.path.endswith(".parquet")]
    chosen = [path for path in listed if path.as_posix() == f"{name}.parquet" or path.parent.as_posix() == name]
    schemas = {tuple(pa_dataset.dataset(release / path, format="parquet").schema.names) for path in chosen}
    if len(schemas) != 1:
        # A folder whose files have the same columns is one table in blocks, otherwise each file is a table.
        shared = {path.parent for path in listed if path.parent.as_posix() in (name, "estimates", "published")}
        known = sorted({path.with_suffix("").as_posix() for path in listed if path.parent in shared})
        raise ConfigError("publish.output.tables", f"name tables of the release such as {', '.join(known[:6])}", name)
    return [release / path for path in chosen]


def _append(manifest: Manifest, name: str, files: list[Path], place: str) -> bool:
    """Write one table; False where its rows are there already."""
    from deltalake.exceptions import CommitFailedError, DeltaError, SchemaMismatchError

    for _ in range(_TRIES):
        try:
            return _commit(manifest, files, place)
        except SchemaMismatchError:
            raise ConfigError(
                f"publish.output.tables.{name}", "be a Delta table with the columns of the release", place
            ) from None
        except CommitFailedError:
            continue  # someone else wrote meanwhile: look again
        except (DeltaError, OSError) as error:
            raise _not_now(name, place, type(error).__name__) from None
    raise _not_now(name, place, "other writers all the time")


def _not_now(name: str, place: str, got: str) -> DplibError:
    return DplibError(
        f"publish.output.tables.{name} must be a place where a Delta table can be written (the release itself is "
        f"complete; run again to write the table), got {place} ({got})"
    )


def _commit(manifest: Manifest, files: list[Path], place: str) -> bool:
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
    from deltalake.exceptions import DeltaError, SchemaMismatchError

    rows = _rows(manifest, files)
    if not DeltaTable.is_deltatable(place):
        # Made empty, since only a write to a table that is there is checked against what others wrote.
        with suppress(DeltaError):
            DeltaTable.create(place, rows.schema, mode="ignore")
    known = DeltaTable(place)
    if [field.name for field in known.schema().fields] != rows.schema.names:
        raise SchemaMismatchError
    before = known.transaction_version(manifest.release_id)
    if before is not None and _written(known, manifest):
        return False
    properties = CommitProperties(
        custom_metadata={_RELEASE: manifest.release_id, _MANIFEST: manifest.sha256()},
        app_transactions=[Transaction(manifest.release_id, (before or 0) + 1)],
    )
    if before is None:
        write_deltalake(known, rows, mode="append", commit_properties=properties)
    else:
        own = RELEASE_ID + " = '" + manifest.release_id.replace("'", "''") + "'"
        write_deltalake(known, rows, mode="overwrite", predicate=own, commit_properties=properties)
    return True


def _written(table: Any, manifest: Manifest) -> bool:
    """Whether the newest commit of this release, if it is still listed, holds this very publication."""
    for commit in table.history():
        if commit.get(_RELEASE) == manifest.release_id:
            return bool(commit.get(_MANIFEST) == manifest.sha256())
    return False


def _rows(manifest: Manifest, files: list[Path]) -> Any:
    """The rows of the files with their release in front, a piece at a time."""
    source = pa_dataset.dataset([str(path) for path in files], format="parquet")
    front = {RELEASE_ID: manifest.release_id, "dataset": manifest.dataset, "logical_date": manifest.logical_date}
    own = [field for field in source.schema if field.name not in front]
    schema = pa.schema([*((name, pa.string()) for name in front), *(pa.field(f.name, _plain(f.type)) for f in own)])

    def batches() -> Iterator[Any]:
        for batch in source.to_batches(columns=[field.name for field in own]):
            given = [pa.repeat(pa.scalar(value, pa.string()), batch.num_rows) for value in front.values()]
            plain = [column.cast(_plain(column.type)) for column in batch.columns]
            yield pa.RecordBatch.from_arrays([*given, *plain], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
