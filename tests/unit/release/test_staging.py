import errno
import os
import stat
import traceback
from pathlib import Path

import pytest

from dplib.errors import ConfigError, DplibError, IntegrityError
from dplib.release import staging as staging_module
from dplib.release.files import MANIFEST, content_hash, list_files
from dplib.release.staging import (
    MEASUREMENT,
    Staging,
    check_writable,
    disk_errors,
    remove_leftovers,
    store_measurement,
)
from tests.support.jobs import visible
from tests.support.ledgers import SERVER, run_child

RELEASE = "takeaway-job-undated-000002"


class Crash(BaseException):
    """A kill of the process, as far as the file system sees it."""


def write_measurement(staging: Staging, text: str = "noisy") -> str:
    (staging.path / MEASUREMENT).mkdir()
    (staging.path / MEASUREMENT / "top.parquet").write_text(text)
    return staging.seal()


def write_release(staging: Staging, text: str) -> None:
    (staging.path / "estimates").mkdir()
    (staging.path / "estimates" / "top.parquet").write_text(text)
    (staging.path / MANIFEST).write_text(text)


def publish(output: Path, text: str) -> Path:
    with Staging(output, RELEASE) as staging:
        write_release(staging, text)
        return staging.publish()


def stored(output: Path, text: str = "noisy") -> tuple[Path, str, str]:
    with Staging(output, RELEASE) as staging:
        content = write_measurement(staging, text)
        return store_measurement(output, RELEASE, staging.name, content), staging.name, content


# ---- before anything is spent ----------------------------------------------------------------------------------------


def test_output_is_made_tried_and_left_clean(tmp_path: Path) -> None:
    check_writable(tmp_path / "a" / "b")
    assert visible(tmp_path / "a" / "b") == []


def test_output_that_cannot_be_written_is_a_config_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match=r"^publish\.output\.path must be a directory that can be written"):
            check_writable(path)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    # A retry may find room, so this is no wrong setting.
    with pytest.raises(DplibError, match=r"^publish\.output\.path .* got: no space left on device$") as caught:
        check_writable(tmp_path)
    assert caught.value.exit_code == 1
    assert visible(tmp_path) == ["file"]


def test_a_probe_that_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".probe").mkdir()
    (tmp_path / ".probe" / "probe").write_text("x")
    check_writable(tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES])
def test_what_the_disk_says_becomes_a_sentence_without_a_path(number: int) -> None:
    rule = (
        r"^publish\.output\.path must be a directory with room, to which a release can be written, got: [A-Za-z/ -]+$"
    )
    with pytest.raises(DplibError, match=rule) as caught, disk_errors():
        raise OSError(number, "Canary", "/Canary")
    assert "Canary" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(FileNotFoundError), disk_errors():
        raise OSError(errno.ENOENT, "a bug of ours", "/x")


# ---- the stored measurement ------------------------------------------------------------------------------------------


def test_measurement_is_private_in_staging_and_stored_without_manifest(tmp_path: Path) -> None:
    with Staging(tmp_path, RELEASE) as staging:
        assert stat.S_IMODE(staging.path.stat().st_mode) == 0o700
        content = write_measurement(staging)
        place = store_measurement(tmp_path, RELEASE, staging.name, content)
    assert place == tmp_path / RELEASE / MEASUREMENT
    assert visible(tmp_path) == [RELEASE]
    assert list(list_files(tmp_path / RELEASE)) == ["measurement/top.parquet"]
    assert not (tmp_path / RELEASE / MANIFEST).exists()
    assert stat.S_IMODE((tmp_path / RELEASE).stat().st_mode) == stat.S_IMODE(tmp_path.stat().st_mode)


def test_storing_again_changes_nothing_and_a_changed_or_lost_measurement_is_found(tmp_path: Path) -> None:
    place, name, content = stored(tmp_path)
    assert store_measurement(tmp_path, RELEASE, name, content) == place
    (place / "top.parquet").write_text("other")
    with pytest.raises(IntegrityError, match="got a changed one"):
        store_measurement(tmp_path, RELEASE, name, content)
    (place / "top.parquet").unlink()
    place.rmdir()
    for output in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(IntegrityError, match="got none"):
            store_measurement(output, RELEASE, name, content)


def test_staging_name_of_the_ledger_cannot_lead_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "secret" / MEASUREMENT).mkdir(parents=True)
    with pytest.raises(IntegrityError):
        store_measurement(tmp_path / "out", RELEASE, "../secret", "0" * 64)
    assert (tmp_path / "secret" / MEASUREMENT).is_dir()


# ---- publishing ------------------------------------------------------------------------------------------------------


def test_publish_replaces_the_whole_directory(tmp_path: Path) -> None:
    place, _, content = stored(tmp_path)
    with Staging(tmp_path, RELEASE) as staging:
        staging.link_measurement(place)
        write_release(staging, "first")
        staging.publish()
    assert set(list_files(tmp_path / RELEASE)) == {MANIFEST, "measurement/top.parquet", "estimates/top.parquet"}
    assert content_hash(place) == content
    publish(tmp_path, "second")
    assert (tmp_path / RELEASE / MANIFEST).read_text() == "second"
    assert not place.exists()
    assert visible(tmp_path) == [RELEASE]
    assert not (tmp_path / RELEASE / ".lock").exists()


def test_nothing_is_published_without_a_manifest(tmp_path: Path) -> None:
    with Staging(tmp_path, RELEASE) as staging:
        (staging.path / "data").write_text("x")
        with pytest.raises(IntegrityError, match="must have a manifest"):
            staging.publish()
    assert not (tmp_path / RELEASE).exists()


@pytest.mark.parametrize("had_release", [False, True])
@pytest.mark.parametrize("step", range(1, 6))
def test_a_crash_at_any_step_of_a_swap_leaves_the_old_or_the_new_release(
    step: int, had_release: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if had_release:
        publish(tmp_path, "old")
    steps = iter(range(1, 100))

    def crashing(name: str, module: object) -> None:
        original = getattr(module, name)

        def call(*arguments: object, **options: object) -> object:
            if next(steps) == step:
                raise Crash
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    with Staging(tmp_path, RELEASE) as staging:
        write_release(staging, "new")
        crashing("rename", os)
        crashing("chmod", Path)
        crashing("flush_directory", staging_module)
        crashing("rmtree", staging_module.shutil)
        try:
            staging.publish()
            crashed = False
        except Crash:
            crashed = True
    monkeypatch.undo()
    assert crashed == (step <= (5 if had_release else 4))
    remove_leftovers(tmp_path, RELEASE, set)
    found = (tmp_path / RELEASE / MANIFEST).read_text() if (tmp_path / RELEASE).exists() else None
    assert found in ({"old", "new"} if had_release else {None, "new"})
    assert visible(tmp_path) == ([RELEASE] if found else [])
    publish(tmp_path, "newest")
    assert (tmp_path / RELEASE / MANIFEST).read_text() == "newest"
    assert visible(tmp_path) == [RELEASE]


# ---- what dead runs leave --------------------------------------------------------------------------------------------


def stage_and_die(output: str, text: str) -> None:
    write_measurement(Staging(Path(output), RELEASE), text)
    os._exit(9)


def killed(output: Path, text: str) -> str:
    before = set(visible(output))
    assert run_child(stage_and_die, str(output), text) == 9
    (name,) = set(visible(output)) - before
    return name


def test_leftovers_of_killed_runs_go_but_living_recorded_and_other_releases_stay(tmp_path: Path) -> None:
    recorded, unrecorded = killed(tmp_path, "recorded"), killed(tmp_path, "unrecorded")
    other_id = f"{RELEASE}-x-000003"
    other = Staging(tmp_path, other_id)
    other.__exit__(None, None, None)
    with Staging(tmp_path, RELEASE) as living:
        remove_leftovers(tmp_path, RELEASE, lambda: {recorded})
        assert set(visible(tmp_path)) == {recorded, living.name, other.name}
        assert unrecorded not in visible(tmp_path)
        living.discard()
    content = content_hash(tmp_path / recorded / MEASUREMENT)
    place = store_measurement(tmp_path, RELEASE, recorded, content)
    assert (place / "top.parquet").read_text() == "recorded"


def test_the_ledger_is_asked_only_once_the_writers_are_known_to_be_gone(tmp_path: Path) -> None:
    with Staging(tmp_path, RELEASE):
        remove_leftovers(tmp_path, RELEASE, lambda: pytest.fail("asked about a living writer"))
    asked: list[bool] = []
    remove_leftovers(tmp_path, RELEASE, lambda: {str(asked.append(True))})
    assert asked == [True]
    assert visible(tmp_path) == []


def publish_often(output: str, text: str) -> None:
    for _ in range(10):
        publish(Path(output), text)


def test_processes_that_publish_the_same_release_at_once_leave_one_whole_release(tmp_path: Path) -> None:
    children = [SERVER.Process(target=publish_often, args=(str(tmp_path), str(number))) for number in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert visible(tmp_path) == [RELEASE]
    texts = {path.read_text() for path in list_files(tmp_path / RELEASE).values()}
    assert len(texts) == 1


def test_links_in_a_release_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(IntegrityError, match="plain files"):
        list_files(tmp_path)
