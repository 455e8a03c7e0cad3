"""Configurations of conf/ that need data load; the others are priced in `test_repricing`, or planned with README."""

from pathlib import Path

import pytest

from dplib.config.load import check, read_yaml
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.table import job_named

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PATHS = [
    path
    for path in sorted((ROOT / "conf").glob("*.yaml"))
    if f"--config conf/{path.name} " not in README and "DPLIB_SHARED" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_configuration_that_needs_data_loads(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "retail"
    folder.mkdir(parents=True)
    config = check(ConsistentHistogramsConfig, read_yaml(path))
    names = [member for c in config.constraints for members in (c.totals or {}).values() for member in members]
    totals = {name for c in config.constraints for name in c.totals or {}}
    items = [name for name in dict.fromkeys(names) if name not in totals]
    table = "\n".join(["Item Name,Product Price", *(f"{name},1" for name in items)])
    (folder / "restaurant-1-products-price.csv").write_text(table, encoding="utf-8")
    monkeypatch.setenv("DPLIB_SHARED", str(tmp_path))
    prepared = job_named(str(read_yaml(path)["job"])).prepare(path)
    assert prepared.design.events
