"""A packed environment for executors: Python itself and the locked packages in one archive that runs anywhere it lies.

``python -m scripts.pack_environment FOLDER`` writes ``FOLDER/dplib-environment-<Python>-<platform>.tar.gz`` and prints
its path. Spark's option ``--archives FILE#environment`` unpacks it on every executor, whose Python is then
``./environment/bin/python``. The machines need Java, as Spark does, a C library at least as new as this machine's, and
nothing else: no Python and no packages.

Tools that pack a virtual environment leave Python itself out, and so do relocatable environments of uv (0.13.9: its
commands can be moved, its ``bin/python`` stays a link): the interpreter must stand at the same place on every machine,
and one that uv brings itself is a download. So this packs the interpreter, its standard library and the shared
libraries that both ask for, and starts it through a script that tells the loader where they are.

The packages are those of this environment that dplib's dependencies lead to, file by file as installed from
requirements.lock: no network, and what the tests ran with. Left out are Spark, which executors have from the cluster,
and dplib, which is the wheel. The same environment gives the same bytes, as names, modes and times are fixed.
"""

import gzip
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from shutil import copy2, copytree, ignore_patterns

from packaging.requirements import Requirement

PROJECT = "dplib"
FROM_SPARK = frozenset({"pyspark", "py4j"})
"""Spark puts its own Python part on the path of executors."""
UNUSED = (
    "__pycache__", "_test*", "_tkinter*", "config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3",
    "site-packages", "test",
)  # fmt: skip
"""Parts of the standard library that no executor runs, and that want a display."""
C_LIBRARY = re.compile(r"(ld-linux|lib(c|m|dl|rt|util|pthread|resolv|crypt|nsl))\b")
"""Belongs to the system: it must fit the machine's kernel and loader."""
START = """#!/bin/sh
# Runs the Python beside this file, wherever the archive was unpacked.
here=${0%/*}
[ "$here" != "$0" ] || here=.
LD_LIBRARY_PATH="$here/../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/NAME" "$@"
"""


def distributions() -> list[Distribution]:
    """What the project needs here, directly or not, without Spark."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting: list[tuple[str, str]] = [(PROJECT, ""), (PROJECT, "run")]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or name in FROM_SPARK:
            continue
        seen.add((name, extra))
        found[name] = distribution(name)
        for text in found[name].requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                named = re.sub(r"[-_.]+", "-", needed.name).lower()
                waiting += [(named, each) for each in ("", *needed.extras)]
    del found[PROJECT]
    return [found[name] for name in sorted(found)]


def package_files() -> Iterator[tuple[Path, Path]]:
    """Files of the packages, and their places where packages lie; commands and tests are left out."""
    for package in distributions():
        for file in package.files or []:
            unused = {"..", "__pycache__", "tests"} & set(file.parts)
            if not unused and file.name not in ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json"):
                yield Path(str(file.locate())), Path(*file.parts)


def shared_libraries(root: Path) -> list[Path]:
    """The libraries outside an environment that the loader finds for it, without the C library."""
    binaries = [*sorted((root / "bin").glob("python3.*")), *sorted(root.rglob("*.so"))]
    listed = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False).stdout
    paths = {Path(path) for path in re.findall(r"=> (/\S+)", listed) if not path.startswith(f"{root}/")}
    return sorted(path for path in paths if not C_LIBRARY.match(path.name))


def packages_of(python: Path) -> Path:
    """The folder where a Python that stands alone looks for packages: Debian's build has another than the usual one."""
    words = [str(python), "-I", "-c", "import site; print(site.getsitepackages()[-1])"]
    return Path(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())


def write_environment(root: Path) -> None:
    """Lay out the environment below an empty folder."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = root / "lib" / version
    copytree(sysconfig.get_path("stdlib"), library, ignore=ignore_patterns(*UNUSED))
    binary = root / "bin" / version
    binary.parent.mkdir()
    copy2(Path(sys.executable).resolve(), binary)
    start = root / "bin" / "python"
    start.write_text(START.replace("NAME", version), encoding="ascii")
    start.chmod(0o755)
    packages = packages_of(start)
    for source, place in package_files():
        target = packages / place
        target.parent.mkdir(parents=True, exist_ok=True)
        copy2(source, target)
    for path in shared_libraries(root):
        copy2(path, root / "lib" / path.name)
    # Compiled here, since many short Python processes would else do it again; without times, so that bytes repeat.
    compiled = [str(start), "-I", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*compiled, "-s", str(root), "-p", "environment", str(library)], check=False, capture_output=True)


def _fixed(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Names, modes and sizes stay; who made it and when goes."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member


def pack(root: Path, archive: Path) -> None:
    """Write the archive of a folder, in sorted order."""
    # Level 1: one that packs better takes minutes, and libraries hardly shrink further.
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", 1, raw, 0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for path in sorted(root.rglob("*")):
            tar.add(path, path.relative_to(root).as_posix(), recursive=False, filter=_fixed)


def main() -> int:
    """Pack the environment of this interpreter."""
    folder = Path(sys.argv[1]).resolve()
    platform = sysconfig.get_platform().replace("-", "_")
    archive = folder / f"dplib-environment-cp{sys.version_info.major}{sys.version_info.minor}-{platform}.tar.gz"
    with tempfile.TemporaryDirectory(dir=folder) as work:
        root, part = Path(work) / "environment", Path(work) / "part"
        root.mkdir()
        write_environment(root)
        pack(root, part)
        part.rename(archive)
    print(archive)
    return 0


if __name__ == "__main__":
    sys.exit(main())
