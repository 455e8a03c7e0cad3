"""Attacks on a ledger, and on what it says, played on a small shop: each returns what was seen."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dplib.canonical import settings_hash
from dplib.jobs.consistent_histograms.job import JOB
from dplib.ledger.chain import seal
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import RunKey
from dplib.ledger.schema import resolve_ledger_url
from dplib.workflow.design import cost_of, neighbors_of
from dplib.workflow.offer import Offer
from dplib.workflow.prepared import Prepared
from tests.support.jobs import Outcome, Shop, content, dplib, new_shop
from tests.support.ledgers import Place, open_with, tamper

OTHER = ("--set", "privacy.budget.epsilon=2")
"""Settings of another run of the same account."""


@dataclass(frozen=True)
class Seen:
    """What became of an attack.

    Attributes:
        run: the next run.
        audit: the next audit.
        wrote: whether the run wrote to the ledger.
    """

    run: Outcome
    audit: Outcome
    wrote: bool

    @property
    def refused(self) -> bool:
        """Whether run and audit both saw it, and the run changed nothing."""
        return self.run.code != 0 and self.audit.code != 0 and not self.wrote

    def __str__(self) -> str:
        return f"run exits {self.run.code}, audit {self.audit.code}, the ledger is {'' if self.wrote else 'un'}changed"


def audit(shop: Shop, *words: str) -> Outcome:
    """``dplib ledger audit``."""
    return dplib("ledger", "audit", "--ledger", f"sqlite:///{shop.folder}/ledger.db", *words)


def attacked(shop: Shop, *words: str) -> Seen:
    """The next run and the next audit."""
    before = content(shop.folder)["ledger.db"]
    run = shop.run(*words)
    return Seen(run, audit(shop), content(shop.folder)["ledger.db"] != before)


def restored(folder: Path, stage: str) -> Seen:
    """A backup is put back, and an unrelated entry makes it as long as the ledger was."""
    shop = new_shop(folder)
    assert shop.run().code == 0
    backup = (folder / "ledger.db").read_bytes()
    assert shop.run(*OTHER, "--stage", stage).code == 0
    (folder / "ledger.db").write_bytes(backup)
    for needed in (True, False, True, False):
        shop.ledger.require_approval("shop", needed, "unrelated")
    return attacked(shop, *OTHER)


def edited(folder: Path, *statements: str) -> Seen:
    """Entries are changed in the database, with its triggers taken away, and no release is there to tell."""
    shop = new_shop(folder, budget="1")
    assert shop.run().code == 0
    shutil.rmtree(shop.output)
    tamper(folder, *statements)
    return attacked(shop, "--again")


def forge(shop: Shop, cost: Fraction, with_settings: bool = True, **changes: Any) -> None:
    """A reservation of the shop's own settings at another cost, well chained."""
    prepared = JOB.prepare(shop.config)
    ledger = shop.ledger
    terms = replace(ledger.account("shop").terms, neighbors=neighbors_of(prepared.design))
    settings = prepared.plan_settings if with_settings else None
    ledger.reserve(prepared.key, terms, cost, "forged", settings=settings, **changes)


def forged(folder: Path, with_settings: bool) -> Seen:
    """A reservation of nearly nothing, which the next run would measure at its full epsilon."""
    shop = new_shop(folder)
    forge(shop, Fraction(1, 10**9), with_settings)
    return attacked(shop)


def forged_beside(folder: Path) -> Seen:
    """The same, while the next run is another one of the account."""
    shop = new_shop(folder)
    forge(shop, Fraction(1, 10**9))
    return attacked(shop, *OTHER)


def bypassed(folder: Path) -> Seen:
    """A cheap plan was approved; another is reserved under its name."""
    shop = new_shop(folder)
    ledger = shop.ledger
    ledger.require_approval("shop", True, "board")
    cheap = JOB.prepare(shop.config, ("privacy.budget.epsilon=1/100",))
    plan = Offer(cheap, ledger.account("shop")).plan
    ledger.approve("shop", plan, "officer", "cheap enough")
    forge(shop, cost_of(JOB.prepare(shop.config).design, ledger.account("shop").terms.currency), plan=plan)
    return attacked(shop)


def under_former_hash(shop: Shop, *words: str) -> Outcome:
    """A run as a version before made it: the hash of all settings, none kept in the ledger."""
    known = Prepared.key, Prepared.plan_settings, Prepared.publish_hash

    def former(self: Prepared[Any]) -> RunKey:
        return RunKey(self.config.dataset, self.config.job, self.date, settings_hash(self.settings))

    Prepared.key = property(former)  # type: ignore[assignment,method-assign]
    Prepared.plan_settings = property(lambda self: None)  # type: ignore[assignment,method-assign]
    # All settings are in the hash of the run, those that spend nothing among them.
    Prepared.publish_hash = lambda self, _: settings_hash(self.design.publish_settings)  # type: ignore[method-assign]
    try:
        return shop.run(*words)
    finally:
        Prepared.key, Prepared.plan_settings, Prepared.publish_hash = known  # type: ignore[method-assign]


def aged(shop: Shop) -> Shop:
    """The shop with an account that a version before created."""
    (entry,), _ = shop.ledger.entries()
    fields = {name: value for name, value in vars(entry).items() if name != "digest"}
    fields["body"] = entry.body.replace('"cost_format":1,', "")
    Place(resolve_ledger_url("sqlite:///ledger.db", shop.folder)).store([seal(**fields)])
    return shop


def two_folders(folder: Path) -> tuple[Shop, Shop]:
    """Two shops with one ledger and equal configurations, whose relative path names other rows in each."""
    first = new_shop(folder / "first")
    first.set(ledger=f"sqlite:///{folder / 'first'}/ledger.db", secret=f"file:{folder / 'first' / 'shop.key'}")
    first.set(publish__output={"path": str(folder / "releases")})
    second = Shop(folder / "second", json.loads(json.dumps(first.settings)))
    second.folder.mkdir()
    return first, second.set().rows([("2024-01-02", "tea", "5", f"order {number}") for number in range(400)])


def files_with(folder: Path, text: str) -> list[str]:
    """Files below a folder that hold a text, the configuration left out."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".yaml" and text.encode() in path.read_bytes()
    ]


def measurement_of(release: Path) -> dict[str, str]:
    """Digests of a release's stored measurement."""
    return content(release / "measurement")


def copy_of(shop: Shop, folder: Path) -> Shop:
    """The same shop elsewhere, with its ledger and releases."""
    shutil.copytree(shop.folder, folder)
    return Shop(folder, shop.settings)


def crash_at_record(run: Callable[[], Outcome]) -> None:
    """A run that dies with its noise drawn, before the ledger knows of the measurement."""
    original = Ledger.record_measurement

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    Ledger.record_measurement = dies  # type: ignore[method-assign,assignment]
    try:
        assert run().code != 0
    finally:
        Ledger.record_measurement = original  # type: ignore[method-assign]


def many_entries(folder: Path, number: int) -> Ledger:
    """A ledger of this many sound entries, nearly all of another account."""
    ledger = open_with(folder)
    (first,), _ = ledger.entries()
    rows, previous = [], first.digest
    for sequence in range(2, number + 1):
        body = json.dumps({"padding": "x" * 200})
        fields = {"kind": "require", "dataset": "other", "run": None, "body": body, "who": "me@host", "why": "filling"}
        entry = seal(sequence=sequence, previous=previous, at="2024-01-01T00:00:00.000000+00:00", **fields)
        previous = entry.digest
        rows.append(vars(entry))
    connection = sqlite3.connect(folder / "ledger.db")
    names = ", ".join(rows[0])
    marks = ", ".join(f":{name}" for name in rows[0])
    connection.executemany(f"INSERT INTO entries ({names}) VALUES ({marks})", rows)  # noqa: S608 - names of fields
    connection.execute("UPDATE head SET sequence = ?, digest = ?", (number, previous))
    connection.commit()
    connection.close()
    return Ledger.open(resolve_ledger_url("sqlite:///ledger.db", folder))
