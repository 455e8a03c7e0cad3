"""Output on a small file system: full at any moment, read-only, another one than before. Needs the right to mount."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.every_job import ONE_RUN, entries_of
from tests.support.jobs import Shop, content, dplib, new_shop, visible

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("spark")]
SIZE = 2 << 20
PAGE = 4096


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of two megabytes in memory; the test is skipped where mounting is not allowed."""
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system is not allowed here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path, free: int) -> Path:
    """Leave this many bytes; returns the file that fills the rest."""
    filler = disk / "filler"
    available = shutil.disk_usage(disk).free - free
    filler.write_bytes(bytes(max(0, available // PAGE * PAGE)))
    return filler


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, spark: object) -> dict[str, str]:
    return content(new_shop(tmp_path_factory.mktemp("undisturbed")).run().release)


def check_finished(shop: Shop, expected: dict[str, str]) -> None:
    release = shop.run().release
    assert content(release) == expected
    assert entries_of(shop) == ONE_RUN
    assert shop.spent() == 1
    assert visible(shop.output) == [release.name]
    assert dplib("verify", str(release)).code == 0


def check_full(shop: Shop, disk: Path, free: int) -> bool:
    """Whether a run on a disk with this many bytes left succeeds; if not, it must say why and leave no folder."""
    filler = fill(disk, free)
    found = shop.run()
    filler.unlink()
    if found.code == 0:
        return True
    assert found.code == 1, found.err
    assert found.err.splitlines()[-1] == (
        "dplib: publish.output.path must be a directory with room, to which a release can be written, got: no space "
        "left on device"
    )
    assert entries_of(shop) == ONE_RUN[: len(entries_of(shop))]
    assert shop.spent() <= 1
    names = visible(shop.output)
    assert len(names) <= 1
    assert not any(name.startswith(".") for name in names)
    return False


def test_a_disk_that_is_full_at_any_moment(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    moments = []
    for number, free in enumerate([0, 1, 3, 5, 8, 13, 21, 34, 55, 89, 144]):
        shop = new_shop(tmp_path / str(number))
        with small_disk(shop.output):
            if check_full(shop, shop.output, free * PAGE):
                check_finished(shop, undisturbed)
                break
            moments.append(len(entries_of(shop)))
            check_finished(shop, undisturbed)
    else:
        pytest.fail("no disk was large enough")
    # Before the reservation, while measuring, and while publishing.
    assert set(moments) == {0, 1, 2}


def test_a_read_only_output_is_a_setting_to_mend_and_costs_nothing(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    shop = new_shop(tmp_path)
    with small_disk(shop.output) as disk:
        remount(disk, "ro")
        refused = shop.run()
        assert refused.code == 2
        assert refused.err.splitlines()[-1] == (
            f"dplib: publish.output.path must be a directory that can be written, got {shop.output}"
        )
        assert entries_of(shop) == []
        remount(disk, "rw")
        assert shop.run("--stage", "measure").code == 0
        remount(disk, "ro")
        closed = shop.run()
        assert closed.code in (1, 2)
        assert closed.err.startswith("dplib: publish.output.path must be a directory ")
        assert "Traceback" not in closed.err
        remount(disk, "rw")
        check_finished(shop, undisturbed)
        remount(disk, "ro")
        # A release that is there can be had from a read-only disk.
        assert shop.run().code == 0


def test_an_output_on_another_file_system_than_the_measurement(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    shop = new_shop(tmp_path)
    measured = shop.run("--stage", "measure").last
    with small_disk(tmp_path / "other") as disk:
        release = shop.set(publish__output__path="other").run().release
        assert release == disk / measured
        tables = {name: digest for name, digest in undisturbed.items() if name.startswith("measurement/")}
        moved, kept = content(release), content(shop.output / measured)
        assert tables.items() <= moved.items()
        assert tables.items() <= kept.items()
        assert dplib("verify", str(release), "--ledger", f"sqlite:///{tmp_path}/ledger.db").code == 0
        assert entries_of(shop) == ONE_RUN
        # A link to another file system is followed, and the staging folder lies behind it too.
        (tmp_path / "link").symlink_to(disk)
        assert shop.set(publish__output__path="link").run("--date", "2024-01-14").release.parent == disk
        assert visible(disk) == sorted(path.name for path in disk.iterdir() if (path / "manifest.json").is_file())
