"""A tiny shop for tests of whole jobs: its rows, configuration and account, and the command line in this process."""

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pytest
from typer.testing import CliRunner

from dplib.arrays import IntArray
from dplib.cli.main import app
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Terms
from dplib.ledger.schema import resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.release.tables import read_table
from tests.support.release_bytes import unreserved

JOB = "consistent-histograms"
ROOT = Path(__file__).resolve().parents[2]
SECRET = bytes(range(7, 39))
"""Key of tests; never one that protects data."""
HEADER = ("date", "product", "quantity", "order_id")
ITEMS = ["bread", "milk", "tea"]
ROWS = [
    ("2024-01-01", "bread", "2", "a"),
    ("2024-01-01", "milk", "1", "a"),
    ("2024-01-03", "tea", "5", "b"),
    ("2024-01-14", "bread", "1", "c"),
]
SETTINGS: dict[str, Any] = {
    "config_version": 1,
    "job": JOB,
    "dataset": "shop",
    "input": {
        "path": "orders.csv",
        "format": "csv",
        "options": {"header": "true"},
        "columns": {"day": "date", "item": "product", "quantity": "quantity", "unit": "order_id"},
    },
    "privacy": {"unit": "order", "max_rows_per_unit": 3, "max_quantity": 5, "budget": {"epsilon": 1}},
    "domain": {"items": ITEMS, "first_day": "2024-01-01", "last_day": "2024-01-14"},
    "constraints": [{"totals": {"drinks": ["milk", "tea"]}, "measured": True}],
    "tree": {"branching": [2, 7]},
    "publish": {"output": {"path": "releases"}},
    "ledger": "sqlite:///ledger.db",
    "secret": "file:shop.key",
}
AnyShop = TypeVar("AnyShop", bound="Shop")
DROP = "(dropped)"
"""In place of a value: the setting is left out."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line of standard output."""
        return self.out.splitlines()[-1] if self.out else ""

    @property
    def release(self) -> Path:
        """The release that a run printed."""
        assert self.code == 0, self.err
        return Path(self.last)


@dataclass
class Shop:
    """A folder with rows, a configuration, a key and a ledger with one account; of any job."""

    job: ClassVar[str] = JOB
    header: ClassVar[Sequence[str]] = HEADER
    folder: Path
    settings: dict[str, Any] = field(default_factory=lambda: deepcopy(SETTINGS))

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "shop.yaml"

    @property
    def output(self) -> Path:
        """The folder of releases."""
        return self.folder / "releases"

    def set(self, **changes: object) -> Self:
        """Change settings (``privacy__budget={...}``) and write the file again; `DROP` leaves one out."""
        for name, value in deepcopy(changes).items():
            *path, last = name.split("__")
            target: Any = self.settings
            for step in path:
                target = target[int(step) if step.isdecimal() else step]
            if value == DROP:
                del target[last]
            else:
                target[last] = value
        self.config.write_text(json.dumps(self.settings), encoding="utf-8")  # JSON is YAML 1.2
        return self

    def rows(self, rows: Sequence[Sequence[object]], header: Sequence[str] | None = None) -> Self:
        """Write the input."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([header or self.header, *rows])
        (self.folder / "orders.csv").write_text(text.getvalue(), encoding="utf-8")
        return self

    @property
    def ledger(self) -> Ledger:
        """The open ledger."""
        return Ledger.open(resolve_ledger_url("sqlite:///ledger.db", self.folder))

    def account(self, budget: str = "10", currency: Currency = Currency.PURE, **terms: str) -> Self:
        """Create the ledger and the account that pays."""
        place, own = (
            self.folder / "ledger.db",
            Terms(currency, terms.get("unit", "order"), Neighbors(terms.get("neighbors", "add_remove"))),
        )
        before = place.read_bytes() if place.exists() else b""
        place.write_bytes(_with_account(before, self.settings["dataset"], own, budget))
        place.chmod(0o600)
        return self

    def spent(self) -> Fraction:
        """What the account has spent and reserved."""
        balance = self.ledger.balance(self.settings["dataset"])
        return balance.total - balance.left

    def entries(self) -> list[str]:
        """Kinds of the ledger's entries, in order."""
        return [entry.kind for entry in self.ledger.entries()[0]]

    def run(self, *words: str) -> Outcome:
        """``dplib run`` in this process."""
        return self.command("run", *words)

    def command(self, name: str, *words: str) -> Outcome:
        """A command that takes the configuration, in this process."""
        return dplib(name, self.job, "--config", str(self.config), *words)


@lru_cache(maxsize=64)
def _with_account(before: bytes, dataset: str, terms: Terms, budget: str) -> bytes:
    """The file of a ledger after an account was created in it: most places of a process begin with the same one."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "ledger.db")
        if before:
            place.write_bytes(before)
        delta = {Currency.ZCDP: Fraction(1, 10**6), Currency.APPROX: Fraction(1, 1000)}.get(terms.currency)
        ledger = Ledger.open(f"sqlite:///{place}", create=True)
        ledger.create_account(dataset, terms, Fraction(budget), delta)
        return place.read_bytes()


def new_shop(folder: Path, rows: Sequence[Sequence[str]] = ROWS, budget: str = "10") -> Shop:
    """A shop that is ready to run."""
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "shop.key"
    key.write_text(SECRET.hex() + "\n", encoding="ascii")
    key.chmod(0o600)
    return Shop(folder).set().rows(rows).account(budget)


def new_shop_without_ledger(folder: Path, **changes: object) -> Shop:
    """A shop before `dplib init`."""
    shop = new_shop(folder).set(**changes)
    (folder / "ledger.db").unlink()
    return shop


def new_place(kind: type[AnyShop], folder: Path, settings: dict[str, Any], budget: str, **changes: object) -> AnyShop:
    """A place of another job that is ready but for its rows; its account has the terms of its settings."""
    place = kind(new_shop(folder, budget="1").folder, deepcopy(settings)).set(**changes)
    privacy = place.settings["privacy"]
    currency = Currency.ZCDP if "rho" in privacy["budget"] else Currency.PURE
    currency = Currency.APPROX if "max_keys_per_unit" in privacy else currency
    return place.account(budget, currency, **{name: privacy[name] for name in ("unit", "neighbors") if name in privacy})


SENTENCE = re.compile(r"dplib: (?P<name>.+?) must .+, got .+\n")


def named(outcome: Outcome) -> str:
    """The setting that a refusal names, after checking that it is one sentence and nothing else."""
    found = SENTENCE.fullmatch(outcome.err)
    assert found is not None, outcome.err
    assert "Traceback" not in outcome.out + outcome.err
    assert outcome.out == ""
    return found["name"]


def refuse_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a run that starts Spark fails."""

    def no_spark(*_: object) -> None:
        raise AssertionError("settings must be checked before Spark starts")

    monkeypatch.setattr("dplib.spark.engine.session.open_session", no_spark)


def require_refused(place: Shop, code: int) -> Outcome:
    """Run, and check the exit code and that nothing in the folder changed."""
    before = content(place.folder)
    outcome = place.run()
    assert outcome.code == code, outcome.err
    assert content(place.folder) == before
    return outcome


def dplib(*words: str) -> Outcome:
    """The console script in this process, which keeps the session of Spark that is there."""
    result = CliRunner().invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


def python_process(*words: str, cwd: Path = ROOT, **environment: str) -> Outcome:
    """Python in a process of its own: ``-m dplib.cli.main run ...`` or a job's file."""
    known = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"} | environment
    found = subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env=known,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Outcome(found.returncode, found.stdout, found.stderr)


def content(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, directories with an empty one; locks left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name != ".lock":
            digest = hashlib.sha256(unreserved(path)).hexdigest() if path.is_file() else ""
            found[str(path.relative_to(folder))] = digest
    return found


def visible(output: Path) -> list[str]:
    """What lies in the folder of releases, its lock left out."""
    return sorted(path.name for path in output.iterdir() if path.name != ".lock")


def noisy_days(release: Path, items: Sequence[str], n_days: int = 14) -> IntArray:
    """The measured counts of the days by item, shape (n_days, n_items): exact where the budget is enormous."""
    table = read_table(release / "measurement", ["item", "first_day", "last_day", "noisy"]).to_pandas()
    days = table[table.first_day == table.last_day]
    wide = days.pivot(index="first_day", columns="item", values="noisy")[list(items)]
    assert len(wide) == n_days
    return wide.to_numpy(dtype=np.int64)
