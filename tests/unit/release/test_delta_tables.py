"""Delta tables that collect releases: each release once, whole, with several writers at once and however often."""

import threading
from pathlib import Path

import numpy as np
import pytest
from deltalake import DeltaTable

from dplib.errors import ConfigError, DplibError
from dplib.release.delta_tables import append_release
from dplib.release.manifest import build_manifest, write_manifest
from dplib.release.tables import write_table
from tests.unit.release.test_manifest import content


def release(folder: Path, number: int, factor: int = 1) -> Path:
    """A finished release with one table in two blocks and two tables side by side."""
    for block in ("first", "second"):
        keys = np.arange(3) + (3 if block == "second" else 0)
        columns = {"item": np.array([f"item {key}" for key in keys]), "count": factor * keys}
        write_table(folder / "published", block, columns, ("item",))
    write_table(
        folder / "estimates", "centers", {"center": np.arange(2), "value": np.array([0.5, np.nan])}, ("center",)
    )
    write_table(folder / "estimates", "weights", {"center": np.arange(2)}, ("center",))
    identity = f"shop-job-2024-01-0{number}-00000{number}"
    fields = content(release_id=identity, logical_date=f"2024-01-0{number}")
    write_manifest(folder, build_manifest(folder, fields))
    return folder


def rows(place: Path) -> list[tuple[str, str, int]]:
    table = DeltaTable(place).to_pyarrow_table().to_pandas()
    return sorted(zip(table["release_id"], table["item"], table["count"], strict=True))


def expected(number: int, factor: int = 1) -> list[tuple[str, str, int]]:
    return [(f"shop-job-2024-01-0{number}-00000{number}", f"item {key}", factor * key) for key in range(6)]


def test_each_release_is_there_once(tmp_path: Path) -> None:
    place = tmp_path / "lake"
    one, two = (release(tmp_path / str(number), number) for number in (1, 2))
    assert append_release(one, {"published": str(place)}) == ["published"]
    assert append_release(two, {"published": str(place)}) == ["published"]
    version = DeltaTable(place).version()
    assert [append_release(each, {"published": str(place)}) for each in (one, two, one)] == [[], [], []]
    assert DeltaTable(place).version() == version == 2
    assert rows(place) == expected(1) + expected(2)
    table = DeltaTable(place).to_pyarrow_table()
    assert table.column_names == ["release_id", "dataset", "logical_date", "item", "count"]
    assert set(table["logical_date"].to_pylist()) == {"2024-01-01", "2024-01-02"}
    assert DeltaTable(place).history()[0]["dplib.release_id"] == "shop-job-2024-01-02-000002"


def test_a_release_published_anew_replaces_its_rows_and_only_those(tmp_path: Path) -> None:
    place = {"published": str(tmp_path / "lake")}
    for number in (1, 2):
        append_release(release(tmp_path / str(number), number), place)
    first, other = tmp_path / "1", release(tmp_path / "other", 1, factor=7)
    for publication, factor in ((other, 7), (first, 1), (other, 7)):
        assert append_release(publication, place) == ["published"]
        assert rows(tmp_path / "lake") == expected(1, factor) + expected(2)
        assert append_release(publication, place) == []


def test_tables_side_by_side_have_names_of_their_own(tmp_path: Path) -> None:
    made, place = release(tmp_path / "release", 1), tmp_path / "centers"
    append_release(made, {"estimates/centers": str(place)})
    table = DeltaTable(place).to_pyarrow_table()
    assert table["value"].to_pylist() == [0.5, None]
    for name in ("estimates", "estimates/nothing", "measurement"):
        with pytest.raises(ConfigError, match=rf"publish.output.tables must name tables of the release .* got {name}$"):
            append_release(made, {name: str(tmp_path / "none")})
    assert not (tmp_path / "none").exists()
    # What noise left out of this release has no rows to bring.
    assert append_release(made, {"estimates/nothing": str(tmp_path / "none")}, frozenset({"estimates/nothing"})) == []


@pytest.mark.parametrize("n_releases", [1, 4])
def test_writers_at_once_leave_each_release_once(n_releases: int, tmp_path: Path) -> None:
    place = tmp_path / "lake"
    made = [release(tmp_path / str(number), number) for number in range(1, n_releases + 1)]
    failures: list[Exception] = []

    def write(source: Path) -> None:
        try:
            append_release(source, {"published": str(place)})
        except Exception as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=(source,)) for source in made * (4 // n_releases)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failures == []
    assert rows(place) == [row for number in range(1, n_releases + 1) for row in expected(number)]


def test_a_table_that_cannot_be_written_leaves_the_release_and_a_retry_completes_it(tmp_path: Path) -> None:
    made = release(tmp_path / "release", 1)
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    place = tmp_path / "lake"
    place.write_text("a file where the table should be")
    with pytest.raises(DplibError, match=r"the release itself is complete; run again") as caught:
        append_release(made, {"published": str(place)})
    assert caught.value.exit_code == 1
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before
    place.unlink()
    append_release(made, {"published": str(place)})
    assert rows(place) == expected(1)


def test_another_schema_is_a_wrong_setting(tmp_path: Path) -> None:
    made, place = release(tmp_path / "release", 1), tmp_path / "lake"
    append_release(made, {"estimates/centers": str(place)})
    with pytest.raises(ConfigError, match=r"publish.output.tables.published must be a Delta table with the columns of"):
        append_release(made, {"published": str(place)})


def test_rows_of_a_commit_that_the_log_forgot_are_replaced_not_doubled(tmp_path: Path) -> None:
    place = tmp_path / "lake"
    made, later = (release(tmp_path / str(number), number) for number in (1, 2))
    for each in (made, later):
        append_release(each, {"published": str(place)})
    DeltaTable(place).create_checkpoint()
    # The older commits' files are cleaned up, as Delta does after the retention of its log.
    for log in sorted((place / "_delta_log").glob("*.json"))[:-1]:
        log.unlink()
    assert [commit.get("dplib.release_id") for commit in DeltaTable(place).history()] == ["shop-job-2024-01-02-000002"]
    assert append_release(made, {"published": str(place)}) == ["published"]
    assert rows(place) == expected(1) + expected(2)
