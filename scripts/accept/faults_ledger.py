"""Faults of the ledger: attacks are played on a small shop, with real runs and audits, and what was seen is stated."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from dplib.config.sections import SparkSettings
from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms.job import JOB
from dplib.ledger.schema import _prepare_file
from dplib.spark.engine.session import open_session
from scripts.accept.claims import Check, Result, at_most
from tests.jobs.test_secret_variable import LOOK
from tests.support.jobs import SECRET, new_shop
from tests.support.ledger_faults import (
    OTHER,
    Seen,
    aged,
    audit,
    bypassed,
    copy_of,
    crash_at_record,
    edited,
    files_with,
    forged,
    forged_beside,
    many_entries,
    measurement_of,
    restored,
    two_folders,
    under_former_hash,
)
from tests.support.ledgers import KEY, TERMS, Place, key_number, measurement, open_with, url_of

REFUSED = "run and audit refuse, nothing is written"
ENTRIES = 100_000
SECONDS = 5.0
FREE = {"totals": {"food": ["bread", "milk"]}}
PASSWORD, OTHER_PASSWORD = ({"header": "true", "fs.s3a.secret.key": word} for word in ("hunter2", "hunter3"))


@contextmanager
def spark_and_folder() -> Iterator[Path]:
    """A folder, while the session that all runs share is there."""
    with tempfile.TemporaryDirectory() as name, open_session("accept", SparkSettings(master="local[2]")):
        yield Path(name)


def attacks() -> Iterator[Result]:
    """Restored, edited and forged books."""
    renamed = "UPDATE entries SET dataset = 'x' WHERE kind <> 'account'"
    cheaper = 'UPDATE entries SET body = replace(body, \'"cost":"1"\', \'"cost":"1/9"\') WHERE kind = \'reserve\''
    played: list[tuple[str, Callable[[Path], Seen]]] = [
        (
            "an older backup is put back, and unrelated entries follow; the lost run was published",
            partial(restored, stage="all"),
        ),
        ("the same, the lost run was measured and not yet published", partial(restored, stage="measure")),
        ("rows of an account are renamed to another", lambda folder: edited(folder, renamed)),
        ("a cost is changed in the database", lambda folder: edited(folder, cheaper)),
        ("a reservation of cost 1e-9 is to be measured at epsilon 1", partial(forged, with_settings=True)),
        ("the same without the settings", partial(forged, with_settings=False)),
        ("the same, while the next run is another one of the account", forged_beside),
        ("a plan is reserved under the approval of a cheaper one", bypassed),
    ]
    with spark_and_folder() as folder:
        for number, (claim, play) in enumerate(played):
            seen = play(folder / str(number))
            yield Result(claim, REFUSED, str(seen), seen.refused)


def honest() -> Iterator[Result]:
    """What is free, secret, old or elsewhere."""
    with spark_and_folder() as folder:
        yield from free_and_secret(folder)
        yield from former_versions(folder)
        yield from elsewhere(folder)


def free_and_secret(folder: Path) -> Iterator[Result]:
    """Reader options that reach the input, and totals that are not measured."""
    shop = new_shop(folder / "options")
    plain = JOB.prepare(shop.config).key.settings_hash
    release = shop.set(input__options=PASSWORD).run().release
    spent, hashed = shop.spent(), json.loads((release / "manifest.json").read_text())["settings_hash"]
    again = shop.set(input__options=OTHER_PASSWORD).run().release
    found = files_with(shop.folder, "hunter2")
    ok = (again, shop.spent(), hashed, found) == (release, spent, plain, [])
    seen = f"spent {spent}, then {shop.spent()}; the public hash is{'' if hashed == plain else ' not'} that without it"
    yield Result("a new password of the reader spends nothing, is hashed into nothing", "1 spent, same hash", seen, ok)
    shop.settings["constraints"].append(FREE)
    before = measurement_of(release)
    published = shop.set().run().release
    has_total = bool(files_with(published / "published", "food"))
    ok = (published, shop.spent(), measurement_of(release), has_total) == (release, spent, before, True)
    seen = f"spent {shop.spent()}, the total is {'' if has_total else 'not '}published"
    yield Result("a free total added later is published from the same measurement", "1 spent, published", seen, ok)
    other, checked = shop.run(*OTHER), audit(shop)
    ok = other.code == 0 and checked.code == 0 and "Not recomputed" not in checked.out
    seen = f"run exits {other.code}, audit {checked.code}"
    yield Result("an honest ledger is recomputed whole and found sound", "both exit 0", seen, ok)


def former_versions(folder: Path) -> Iterator[Result]:
    """Runs under the hash that versions before made of all settings."""
    shop = aged(new_shop(folder / "former").set(input__options=PASSWORD))
    shop.settings["constraints"].append(FREE)
    shop.set()
    undisturbed = copy_of(shop, folder / "undisturbed")
    crash_at_record(lambda: under_former_hash(shop))
    former = under_former_hash(undisturbed).release
    retried = shop.run().release
    same = measurement_of(retried) == measurement_of(former)
    seen = f"{'the same' if same else 'another'} measurement; entries: {', '.join(shop.entries())}"
    ok = same and shop.entries() == ["account", "reserve", "measure", "publish"]
    yield Result("a retry of a reservation under the former hash draws the same noise", "same, one run", seen, ok)
    spent = undisturbed.spent()
    found = undisturbed.run().release
    checked = audit(undisturbed)
    ok = (found, undisturbed.spent(), checked.code) == (former, spent, 0) and "Not recomputed: 1" in checked.out
    seen = f"spent {spent}, then {undisturbed.spent()}; audit: {checked.out.splitlines()[0][:40]}..."
    yield Result("a release of a version before is found, and said not to be recomputed", "1 spent", seen, ok)


def elsewhere(folder: Path) -> Iterator[Result]:
    """One word for two inputs."""
    first, second = two_folders(folder / "elsewhere")
    release, spent = first.run().release, first.spent()
    refused, kept = second.run(), first.spent()
    other = second.run("--again").release
    back = (first.run().release, second.run().release)
    ok = (refused.code, kept, back) == (2, spent, (release, other)) and other != release
    seen = f"exit {refused.code}, spent {spent} then {kept}; with --again {len(set(back))} releases"
    yield Result("equal settings whose relative path names another input", "exit 2, nothing spent", seen, ok)


def locks_and_records() -> Iterator[Result]:
    """The file's locks, records under another reservation, a long chain."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = open_with(folder)
        code = (
            f"import sqlite3; c = sqlite3.connect({str(folder / 'ledger.db')!r}, timeout=0.2, isolation_level=None); "
            "c.execute('BEGIN IMMEDIATE')"
        )
        command = [sys.executable, "-c", code]
        with ledger.transaction(write=True):
            _prepare_file(folder / "ledger.db", "", create=True)
            during = subprocess.run(command, capture_output=True, check=False).returncode
        after = subprocess.run(command, capture_output=True, check=False).returncode
        seen = f"another process is {'kept out' if during else 'let in'}, later {'kept out' if after else 'let in'}"
        yield Result(
            "opening the ledger keeps this process's locks on its file", "out, in", seen, (during, after) == (1, 0)
        )
        book = ledger.entries()[0]
        lost = ledger.reserve(KEY, TERMS, Fraction(1, 4), "")
        Place(url_of(folder)).store(book)
        ledger.reserve(KEY, TERMS, Fraction(1, 4), "")
        try:
            ledger.record_measurement(lost, measurement())
            outcome = "recorded"
        except IntegrityError:
            outcome = "refused"
        claim = "a measurement of a lost reservation, whose number and key another has"
        yield Result(claim, "refused", outcome, outcome == "refused")
    with tempfile.TemporaryDirectory() as name:
        long = many_entries(Path(name), ENTRIES)
        start = time.process_time()
        long.reserve(replace(key_number(1)), TERMS, Fraction(1, 8), "")
        yield at_most(
            f"a reservation checks a chain of {ENTRIES:,} entries", time.process_time() - start, SECONDS, " s"
        )


def variables() -> Iterator[Result]:
    """The secret in an environment variable."""
    name = "SHOP_SECRET_VARIABLE"
    with tempfile.TemporaryDirectory() as place:
        shop = new_shop(Path(place)).set(secret=f"env:{name}")
        known = os.environ | {name: SECRET.hex()}
        words = [sys.executable, "-c", LOOK, str(shop.config), name]
        done = subprocess.run(words, env=known, capture_output=True, text=True, check=True)
        java, workers, n_seen, _, looked = json.loads(done.stdout.splitlines()[-1])
        seen = f"Java {'has' if java else 'lacks'} it, workers {'have' if workers else 'lack'} it ({n_seen} looked at)"
        ok = not java and not workers and looked and n_seen > 0
        yield Result("a secret in a variable reaches neither Java nor a worker", "both lack it", seen, ok)
        command = [sys.executable, "-m", "jobs.consistent_histograms", "--config", str(shop.config)]
        submitted = known | {"PYSPARK_GATEWAY_PORT": "1"}
        done = subprocess.run(command, env=submitted, capture_output=True, text=True, check=False)
        ok = done.returncode == 2 and f"env:{name}" in done.stderr and SECRET.hex() not in done.stderr
        entries = len(shop.ledger.entries()[0])
        seen = f"exit {done.returncode}, {'named' if f'env:{name}' in done.stderr else 'not named'}, {entries} entry"
        claim = "under spark-submit, whose Java has it already, such a secret is refused by name"
        yield Result(claim, "exit 2, nothing reserved", seen, ok and entries == 1)


CHECKS: tuple[Check, ...] = (attacks, honest, locks_and_records, variables)
