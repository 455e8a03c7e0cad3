"""The wheel repeats byte for byte; the packed environment runs where there is nothing, and on the cluster."""

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.cluster.conftest import ROOT, assert_paid_once, release_files
from tests.cluster.standalone import Cluster, processes, wait_for
from tests.cluster.test_disturbed import finish

PACKED_PYTHON = "/environment/bin/python3"
IMPORTS = "import ctypes, hashlib, ssl, sqlite3, numpy, scipy.sparse, pandas, pyarrow, numba, cryptography, pydantic"
CHROOT = shutil.which("chroot", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
LIBRARIES = ("libc", "libm", "libdl", "librt", "libutil", "libpthread", "libresolv")
"""What the environment takes from the system."""


def package(*words: str, cwd: Path = ROOT, **variables: str) -> Path:
    done = subprocess.run(
        [ROOT / "scripts" / "package.sh", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | variables,
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def environment_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed environment of this checkout."""
    return package("--environment", str(tmp_path_factory.mktemp("packed")))


def test_the_same_sources_give_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    again = package(str(tmp_path), cwd=tmp_path, TZ="Asia/Tokyo", SOURCE_DATE_EPOCH="1000000000")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


@pytest.mark.cluster
def test_the_packed_environment_names_nobody_and_no_time(environment_archive: Path) -> None:
    with tarfile.open(environment_archive) as archive:
        members = archive.getmembers()
    names = [member.name for member in members]
    assert names == sorted(names, key=lambda name: name.split("/"))
    assert {(member.mtime, member.uid, member.gid, member.uname) for member in members} == {(0, 0, 0, "")}
    assert not any("/dplib/" in name or "/pyspark/" in name for name in names)
    assert "bin/python" in names
    # Debian's Python names the folder otherwise.
    assert any(re.fullmatch(r"lib/python3\.\d+/(site|dist)-packages/numpy/__init__\.py", name) for name in names)


@pytest.mark.cluster
@pytest.mark.skipif(os.geteuid() != 0 or CHROOT is None, reason="only root can change its root folder")
def test_the_packed_environment_runs_where_there_is_nothing(environment_archive: Path, tmp_path: Path) -> None:
    (tmp_path / "environment").mkdir()
    subprocess.run(["tar", "-xzf", str(environment_archive), "-C", str(tmp_path / "environment")], check=True)
    listed = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    loader = next(word for word in listed.split() if word.startswith("/") and "ld-" in word)
    libc = next(Path(word) for word in listed.split() if word.endswith("/libc.so.6"))
    found = [path for path in libc.parent.glob("lib*.so.*") if path.name.split(".")[0] in LIBRARIES]
    for path in [Path(loader), Path("/bin/sh"), *found]:
        target = tmp_path / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path.resolve(), target)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"environment", "bin", *_tops(found, loader)})
    code = f"import sys; {IMPORTS}; print(sys.prefix, numpy.arange(4).sum(), hashlib.sha256(b'').hexdigest()[:4])"
    done = subprocess.run(
        # By its full name: an empty environment has no PATH to find it.
        [CHROOT or "", str(tmp_path), "/environment/bin/python", "-I", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={},
    )
    assert done.stdout == "/environment 6 e3b0\n", done.stderr


def _tops(libraries: list[Path], loader: str) -> set[str]:
    return {path.parts[1] for path in [*libraries, Path(loader)]}


def test_executors_run_the_packed_environment(
    standalone_cluster: Cluster,
    wheel: Path,
    environment_archive: Path,
    place: Path,
    undisturbed: dict[str, dict[str, bytes]],
) -> None:
    arguments = [str(ROOT / "jobs" / "consistent_histograms.py"), "--config", "config.yaml"]
    arguments = ["--conf", "spark.cores.max=1", *arguments, "--set", "publish.solver.layout=blocks"]
    given = {"DPLIB_ENVIRONMENT": str(environment_archive), "DPLIB_WHEEL": str(wheel), "PYSPARK_PYTHON": ""}
    with standalone_cluster.submit(arguments, place, ROOT / "scripts" / "submit.sh", **given) as driver:
        # Not the cluster's own, which has packages too.
        wait_for("Python of the archive", lambda: _packed_runs() or driver.poll() is not None)
        assert driver.poll() is None, driver.communicate()
        finish(driver)
    assert release_files(place) == undisturbed["blocks"]
    assert_paid_once(place)


def _packed_runs() -> bool:
    return any(
        "pyspark.daemon" in each.command and _interpreter(each.pid).find(PACKED_PYTHON) >= 0
        for each in processes().values()
    )


def _interpreter(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""
