"""Rows of days, items and customers, and configurations and commands that count them: `scripts.bench.speed`'s work."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

N_ITEMS, N_DAYS = 1_000, 30
UNITS = ("event", "customer")
CONSOLE = [str(Path(sys.executable).parent / "dplib")]
RUN = [*CONSOLE, "run", "consistent-histograms", "--again", "--yes", "--config"]


def write_rows(path: Path, n_rows: int) -> None:
    """Rows drawn evenly; a customer has 7 of them on average."""
    rng = np.random.default_rng(0)
    day, item, customer = (rng.integers(0, n, n_rows) for n in (N_DAYS, N_ITEMS, max(n_rows * 3 // 20, 1)))
    with path.open("w", encoding="utf-8") as file:
        file.write("day,item,customer\n")
        file.writelines(f"2024-01-{d + 1:02},i{i},c{c}\n" for d, i, c in zip(day, item, customer, strict=True))


def counted(folder: Path, n_rows: int) -> dict[str, list[str]]:
    """Write rows to ``rows.csv`` in a folder; for each unit the words of a run there that counts them."""
    write_rows(folder / "rows.csv", n_rows)
    for unit in UNITS:
        if not (folder / f"{unit}.yaml").exists():
            configure(folder, unit, N_DAYS, "rows.csv")
    return {unit: [*RUN, f"{unit}.yaml"] for unit in UNITS}


def configure(folder: Path, unit: str, n_days: int, path: str) -> None:
    """A configuration with an account that can pay for all."""
    columns = {"day": "day", "item": "item"} | ({} if unit == "event" else {"unit": "customer"})
    caps = {} if unit == "event" else {"max_rows_per_unit": 10, "max_rows_per_day": 10}
    first = "2024-01-01" if n_days > 1 else "{date}"
    settings: dict[str, Any] = {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": unit,
        "input": {"path": path, "format": "csv", "options": {"header": "true"}, "columns": columns},
        "privacy": {"unit": unit, "budget": {"epsilon": 1}} | caps,
        "domain": {
            "items": [f"i{number}" for number in range(N_ITEMS if n_days > 1 else 5)],
            "first_day": first,
            "last_day": f"2024-01-{n_days:02}" if n_days > 1 else first,
        },
        "spark": {"master": "local[2]"},
    }
    (folder / f"{unit}.yaml").write_text(json.dumps(settings), encoding="utf-8")
    date = ["--date", "2024-01-01"] if n_days == 1 else []
    words = [*CONSOLE, "init", "--config", f"{unit}.yaml", "--budget", "1000", "--yes", *date]
    subprocess.run(words, cwd=folder, capture_output=True, check=True)
