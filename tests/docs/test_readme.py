"""The README's commands exist, and every configuration of conf/ loads."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from dplib.config.consistent_histograms import ConsistentHistogramsConfig
from dplib.config.load import load, read_yaml
from jobs.main import JOBS, app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"\bmake ([a-z-]+)", README))
    assert {"demo", "test", "bench", "accept"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target


def test_every_command_and_option_exists() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for line in re.findall(r"^    dplib (.*?)(?:\s+#.*)?$", README, re.MULTILINE):
        words = line.split()
        command = commands[words[0]]
        if words[0] == "ledger":
            command = command.commands[words[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line


def test_every_file_named_exists() -> None:
    for name in re.findall(r"`((?:dplib|jobs|conf|scripts)/[a-z_/.]+)`", README):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("path", sorted((ROOT / "conf").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_configuration_loads(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if "DPLIB_SHARED" in path.read_text(encoding="utf-8"):
        folder = tmp_path / "data" / "retail"
        folder.mkdir(parents=True)
        config = load(ConsistentHistogramsConfig, path)
        names = [member for c in config.constraints for members in (c.totals or {}).values() for member in members]
        totals = {name for c in config.constraints for name in c.totals or {}}
        items = [name for name in dict.fromkeys(names) if name not in totals]
        table = "\n".join(["Item Name,Product Price", *(f"{name},1" for name in items)])
        (folder / "restaurant-1-products-price.csv").write_text(table, encoding="utf-8")
        monkeypatch.setenv("DPLIB_SHARED", str(tmp_path))
    prepared = JOBS[str(read_yaml(path)["job"])].prepare(path)
    assert prepared.design.events
