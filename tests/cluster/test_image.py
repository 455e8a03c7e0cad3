"""The recipe of the image: what it copies exists, no secret can enter, it runs as nobody special; its parts run here.

No builder of images runs on the machines that test this project: the recipe is read, and the scripts that it runs are
run in a folder of their own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.cluster.standalone import SPARK_HOME

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scripts" / "image"
ENTRYPOINT = FOLDER / "entrypoint.sh"


def steps() -> list[list[str]]:
    """The recipe's instructions with their arguments, in order; lines that go on are joined."""
    text = re.sub(r"^#.*\n", "", (FOLDER / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [line.split() for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def stages() -> list[list[list[str]]]:
    """The instructions by stage; what stands before the first stage is left out."""
    found: list[list[list[str]]] = []
    for step in steps():
        if step[0] == "FROM":
            found.append([])
        if found:
            found[-1].append(step)
    return found


def test_the_base_is_pinned_and_the_same_for_both_stages() -> None:
    assert steps()[0][0] == "ARG"
    name, _, base = steps()[0][1].partition("=")
    assert name == "BASE"
    assert re.fullmatch(r"docker\.io/library/python:3\.1[1-3]\.\d+-slim-[a-z]+(@sha256:[0-9a-f]{64})?", base)
    assert [stage[0][1] for stage in stages()] == ["${BASE}", "${BASE}"]


def test_every_copied_file_exists_and_no_secret_can_be_among_them() -> None:
    allowed = (FOLDER / "Containerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    build, final = stages()
    copied = [name for step in build if step[0] == "COPY" for name in step[1:-1]]
    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in allowed
    # First everything is shut out, then what is copied let in, then what must not be let in anywhere.
    lines = [line for line in allowed if not line.startswith("#")]
    assert lines[0] == "**"
    assert sorted(lines[1 : len(copied) + 1]) == sorted(f"!{name}" for name in copied)
    assert {"**/*.key", "**/*.db"} <= set(lines[len(copied) + 1 :])
    assert not any(line.startswith("!") for line in lines[len(copied) + 1 :])
    # The last stage takes nothing from the checkout itself.
    assert [step[1] for step in final if step[0] == "COPY"] == ["--from=build"]
    assert not any(step[0] == "ADD" for step in steps())
    assert not re.search(r"(?i)secret|password|token", " ".join(" ".join(step) for step in steps()))


def test_it_ends_with_a_user_who_is_not_root_and_an_entry_point_that_exists() -> None:
    final = stages()[-1]
    users = [step[1] for step in final if step[0] == "USER"]
    assert users == ["10001:10001"]
    names = [step[0] for step in final]
    # Nothing is installed or copied by that user, so nothing it runs can be changed by it.
    assert not {"RUN", "COPY"} & set(names[names.index("USER") :])
    entry = " ".join(final[names.index("ENTRYPOINT")])
    assert "/opt/dplib/scripts/image/entrypoint.sh" in entry
    assert os.access(ENTRYPOINT, os.X_OK)


def test_every_script_it_runs_exists() -> None:
    scripts = [word for step in steps() if step[0] == "RUN" for word in step if word.startswith("scripts/")]
    assert scripts == ["scripts/setup.sh", "scripts/image/assemble.sh"]
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)
    for script in FOLDER.glob("*.sh"):
        subprocess.run(["bash", "-n", str(script)], check=True)


def entered(tmp_path: Path, *words: str, **variables: str) -> list[str]:
    """What the entry point runs in the end: the command's name and its arguments."""
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("java", "spark-submit"):
        (programs / name).write_text('#!/bin/sh\necho "${0##*/}"\nprintf "%s\\n" "$@"\n')
        (programs / name).chmod(0o755)
    known = {"PATH": f"{programs}:{os.environ['PATH']}", "SPARK_HOME": str(tmp_path)} | variables
    done = subprocess.run([ENTRYPOINT, *words], env=known, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


EXECUTOR = {
    "SPARK_DRIVER_URL": "spark://driver",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "1g",
    "SPARK_APPLICATION_ID": "app",
    "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
    "SPARK_EXECUTOR_POD_NAME": "pod",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_JAVA_OPT_0": "-Dfirst=a b",
    "SPARK_JAVA_OPT_1": "-Dsecond",
}
"""What Kubernetes tells an executor."""


def test_kubernetes_starts_an_executor_with_options_that_spark_knows(tmp_path: Path) -> None:
    ran = entered(tmp_path, "executor", **EXECUTOR)
    assert ran[:5] == ["java", "-Dfirst=a b", "-Dsecond", "-Xms1g", "-Xmx1g"]
    main = next(word for word in ran if word.startswith("org.apache.spark"))
    given = dict(zip(ran[ran.index(main) + 1 :: 2], ran[ran.index(main) + 2 :: 2], strict=True))
    assert given["--driver-url"] == "spark://driver"
    # The texts of the class: options that it takes, and those that it tells when it gets none.
    (archive,) = SPARK_HOME.glob("jars/spark-kubernetes_*.jar")
    with ZipFile(archive) as classes:
        texts = classes.read(f"{main.replace('.', '/')}$.class")
    known = {option.decode() for option in re.findall(rb"--[A-Za-z-]+", texts)}
    assert given.keys() | {"--driver-url", "--executor-id", "--cores", "--app-id"} <= known


def test_kubernetes_starts_a_driver(tmp_path: Path) -> None:
    ran = entered(tmp_path, "driver", "--class", "X", "local:///job.py", "--config", "f", SPARK_DRIVER_BIND_ADDRESS="h")
    assert ran[0] == "spark-submit"
    assert ran[1:5] == ["--deploy-mode", "client", "--conf", "spark.driver.bindAddress=h"]
    assert ran[5:] == ["--class", "X", "local:///job.py", "--config", "f"]


def test_any_other_command_runs_as_it_stands(tmp_path: Path) -> None:
    assert entered(tmp_path, "echo", "a b") == ["a b"]


@pytest.mark.slow
def test_what_the_build_lays_out_runs_a_job(tmp_path: Path) -> None:
    place, work = tmp_path / "opt" / "dplib", tmp_path / "work"
    subprocess.run([FOLDER / "assemble.sh", str(place)], check=True, capture_output=True, cwd=tmp_path)
    assert {path.name for path in place.iterdir()} == {
        ".venv", "conf", "dplib", "dplib.whl", "jobs", "scripts", "spark",
    }  # fmt: skip
    assert not [path for path in place.rglob("*") if path.suffix in (".key", ".db")]
    work.mkdir()
    clean = {
        "PATH": f"{Path(sys.prefix) / 'jre' / 'bin'}:/usr/bin:/bin",
        "PYTHONPATH": str(place),
        "SPARK_HOME": str(place / "spark"),
        "DPLIB_WHEEL": str(place / "dplib.whl"),
        "HOME": str(work),
        "TMPDIR": str(work),
    }

    def enter(*words: str) -> str:
        command = [place / "scripts" / "image" / "entrypoint.sh", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=work, env=clean)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (work / "rows.csv").write_text("day,item,n,order\n2024-01-01,a,1,x\n2024-01-02,b,2,y\n")
    (work / "config.yaml").write_text(CONFIG)
    enter("dplib", "init", "--config", "config.yaml", "--budget", "10", "--yes")
    release = Path(
        enter("submit", str(place / "jobs" / "consistent_histograms.py"), "--config", "config.yaml").split()[-1]
    )
    assert (release / "manifest.json").is_file()
    enter("dplib", "verify", str(release))


CONFIG = """
config_version: 1
job: consistent-histograms
dataset: shop
input:
  path: rows.csv
  options: {header: "true"}
  columns: {day: day, item: item, quantity: n, unit: order}
privacy: {unit: order, max_rows_per_unit: 2, max_quantity: 3, budget: {epsilon: 1}}
domain: {items: [a, b], first_day: 2024-01-01, last_day: 2024-01-14}
tree: {branching: [2, 7]}
ledger: sqlite:///ledger.db
secret: file:dplib.key
"""
