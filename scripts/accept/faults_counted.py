"""Faults of counting: nothing counted and nobody told, caps whose loss no one saw, inspections that were wrong."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from dplib.config.sections import SparkSettings
from dplib.mechanisms.tree_counts import measure_levels
from dplib.metrics.faint_totals import NoisyTotal, find_faint
from dplib.privacy.budget import PureDP
from dplib.privacy.input_quality import QualityPlan
from dplib.privacy.noise_quantile import DrawLaw, Draws, std_error
from dplib.privacy.rounding import as_fraction
from dplib.release.tables import read_table
from dplib.spark.engine.session import start_session
from dplib.workflow.inspected import VARIABLE
from dplib.workflow.quality import part_of
from scripts.accept.claims import Check, Result, at_least, at_most
from tests.jobs.test_nothing_counted import JOBS, made
from tests.statistical.test_quality_audit import (
    REMOVED,
    REPLACED,
    claimed,
    empirical_epsilon,
    for_one_row,
    for_removal,
)
from tests.support.coverage_of_intervals import drawn
from tests.support.jobs import ROOT, Shop, dplib, new_shop

TRIALS = 2000


@lru_cache(maxsize=1)
def session() -> SparkSession:
    """One session for all checks; markers of inspections stay in a folder of their own."""
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix="state-")
    return start_session(
        "faults of counting", SparkSettings(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    )


def noise_alone_is_named() -> Iterator[Result]:
    """How often noise of few and many draws is named whole, and how often a real count is named."""
    for n_series, count in ((1, 1), (50, 1), (50, 3)):
        law = DrawLaw("discrete_laplace", 20.0)
        draws = (Draws(law, 1.0, float(count)),)
        noise = drawn(law, TRIALS * n_series * count, "faint", n_series, count)
        sums = noise.reshape(TRIALS, n_series, count).sum(axis=2)
        error = std_error(draws)
        whole = sum(
            find_faint([NoisyTotal(str(i), float(x), error, draws) for i, x in enumerate(row)]).everything
            for row in sums
        )
        yield at_least(f"noise alone of {n_series} series, {count} draws each: all are named", whole / TRIALS, 0.935)
        yield at_most(f"the same, not by a bound far too high ({n_series}, {count})", whole / TRIALS, 0.975)
        above = find_faint([NoisyTotal("s", 12 * error, error, draws)])
        yield Result("a total of 12 standard errors", "is not named", str(above.names), above.names == ())


def nothing_counted_is_said() -> Iterator[Result]:
    """Rows that no rule keeps, in all five jobs: what run, manifest, page and query say; and inspect's exit code."""
    session()
    for job in JOBS:
        with tempfile.TemporaryDirectory() as name:
            place = made(Path(name), job, bad=200, good=0)
            found = place.run()
            release = found.release
            told = {
                "terminal": "NOTHING MAY HAVE BEEN COUNTED" in found.err,
                "manifest": json.loads((release / "manifest.json").read_text())["details"]["faint_totals"][
                    "everything"
                ],
                "page": "Nothing may have been counted" in (release / "report.html").read_text(),
                "query": "NOTHING MAY HAVE BEEN COUNTED" in dplib("query", str(release)).err,
            }
            yield Result(f"{job}: 200 rows, none counted", "all four say so", str(told), all(told.values()))
            inspected = place.command("inspect")
            yield Result(f"{job}: inspect of the same", "exit 3", str(inspected.code), inspected.code == 3)


def a_misspelt_item_is_named() -> Iterator[Result]:
    """One of two items under another name: the release names it, the other stands."""
    session()
    with tempfile.TemporaryDirectory() as name:
        rows = [("2024-01-02", ("bread", "mlik")[i % 2], "1", f"o{i}") for i in range(2000)]
        shop = new_shop(Path(name), rows).set(domain__items=["bread", "milk"], constraints=[])
        found = shop.run()
        names = json.loads((found.release / "manifest.json").read_text())["details"]["faint_totals"]["names"]
        yield Result("items bread and milk, rows of bread and mlik", "milk is named", str(names), names == ["milk"])
        out = shop.command("inspect").out
        hint = "Dropped as undeclared: mlik. Declared is: milk." in out and "mlik (1,000)" in out
        yield Result("inspect of the same", "names mlik, 1,000 rows, and milk", "named" if hint else out[-300:], hint)


def inspect_tells_the_truth() -> Iterator[Result]:
    """Caps that bind within a day, quantities that are cut, a pattern that reads nothing."""
    session()
    with tempfile.TemporaryDirectory() as name:
        rows = [("2024-01-02", "bread", "5", f"o{i // 8}") for i in range(800)]
        shop = new_shop(Path(name), rows).set(privacy__max_quantity=2)
        out = shop.command("inspect").out
        cells = re.search(r"rows are within the cap a unit +([\d,]+) +([\d,]+)", out)
        found = list(cells.groups()) if cells else []
        yield Result("8 rows an order on one day, cap 3", "300 kept, 500 dropped", str(found), found == ["300", "500"])
        loss = re.search(r"hold ([\d,]+), of which ([\d,]+) are counted", out)
        yield Result(
            "the loss by caps: 4,000 held, cap 2, 3 rows an order",
            "4,000 and 600",
            str(loss and loss.groups()),
            loss is not None and loss.groups() == ("4,000", "600"),
        )
        shop.rows([("02/01/2024", "bread", "1", f"o{i}") for i in range(30)] + [("31/01/2024", "tea", "1", "z")])
        wrong = shop.command("inspect")
        suggests = "dd/MM/yyyy would read 31 of 31" in wrong.out and "02/01/2024 (30)" in wrong.out
        seen = f"exit {wrong.code}, " + ("suggested" if suggests else "not suggested")
        yield Result(
            "days as dd/MM/yyyy under yyyy-MM-dd", "exit 3, the pattern suggested", seen, wrong.code == 3 and suggests
        )


def answers_say_what_they_are_of() -> Iterator[Result]:
    """Intervals are of the counts after caps: query and page say so."""
    session()
    with tempfile.TemporaryDirectory() as name:
        release = new_shop(Path(name)).run("--yes").release
        caveat = "after the public caps (at most 3 rows of one order; each row as 5 at most)"
        told = [caveat in text for text in (dplib("query", str(release)).out, (release / "report.html").read_text())]
        yield Result("query and page under caps", "both say what intervals are of", str(told), all(told))


def a_share_tells_what_was_counted() -> Iterator[Result]:
    """All five jobs: 240 of 300 rows count, at a small noise; the cost is the budget's."""
    session()
    for job in JOBS:
        with tempfile.TemporaryDirectory() as name:
            share = {"privacy__quality_share": "0.5", "privacy__budget": {"epsilon": 40}}
            place = made(Path(name), job, bad=60, good=240, **share)
            found = place.run("--yes")
            line = next((line for line in found.out.splitlines() if line.startswith("About 80.0 %")), found.out[-200:])
            ok = line.startswith("About 80.0 %") and place.spent() == 40
            yield Result(f"{job}: 240 of 300 rows count", "about 80 %, cost 40", f"{line}; cost {place.spent()}", ok)


def the_share_is_private_and_honest() -> Iterator[Result]:
    """Worst-case neighbours, planted faults, and the coverage of the percentage's interval."""
    for replaces, neighbours in ((False, REMOVED), (True, REPLACED)):
        words = "replaced" if replaces else "removed"
        yield at_most(
            f"empirical epsilon, a unit {words} (claim 1)", empirical_epsilon(claimed(3, replaces), *neighbours), 1.0
        )
    caught = empirical_epsilon(for_one_row(3, False), *REMOVED), empirical_epsilon(for_removal(3, True), *REPLACED)
    yield at_least("planted: q taken for 1, replacing for removing", min(caught), 1.2)
    plan = QualityPlan.of(PureDP(as_fraction("epsilon", "0.02")), 1, False, False)
    truth, error, covered = np.array([1900, 90_000, 8100], dtype=np.int64), float(np.sqrt(plan.rows.noise.variance)), 0
    for number in range(TRIALS):
        (noisy,) = measure_levels([truth], [plan.rows.noise], number.to_bytes(32, "big"), "quality", "input")
        counters = {name: (int(n), error) for name, n in zip(("day", "kept", "clipped"), noisy, strict=True)}
        found = part_of(counters, ("kept", "clipped"), DrawLaw.of(plan.rows.noise))
        covered += found is not None and abs(found[0] - 0.981) <= found[1]
    yield at_least("98.1 % counted: coverage of the stated interval", covered / TRIALS, 0.93)


def the_share_changes_no_old_hash() -> Iterator[Result]:
    """Settings without a share hash as before it could be given; counters' noise hangs on the counts too."""
    session()
    with tempfile.TemporaryDirectory() as name:
        shop = Shop(Path(name)).set()
        from dplib.jobs.consistent_histograms.job import JOB

        dumped = JOB.prepare(shop.config).settings["privacy"]
        absent = not any(key.startswith("quality") for key in dumped)
        yield Result("settings without quality_share", "hold no trace of it", ", ".join(dumped), absent)
        noisy = []
        for more in (0, 0, 1):
            with tempfile.TemporaryDirectory() as folder:
                rows = [("2024-01-02", "bread", "1", f"o{i}") for i in range(20)] + [
                    ("2024-01-02", "cake", "1", "x")
                ] * more
                release = new_shop(Path(folder), rows).set(privacy__quality_share="0.1").run("--yes").release
                noisy.append(read_table(release / "measurement", ["item", "node", "noisy"]).column("noisy").to_numpy())
        same, other = float((noisy[0] == noisy[1]).mean()), float((noisy[0] == noisy[2]).mean())
        seen = f"equal input {same:.2f}, one more dropped row {other:.2f} of the noisy counts equal"
        yield Result("a row that counts nothing", "draws all noise anew", seen, same == 1 and other < 0.5)


def uninspected_rules_are_asked_for() -> Iterator[Result]:
    """On a terminal a question, elsewhere a warning, after an inspection neither."""
    session()
    with tempfile.TemporaryDirectory() as name:
        shop = new_shop(Path(name))
        code, text = on_a_terminal(shop, b"n\n")
        asked = "never inspected" in text and "Measure and spend now?" in text
        seen = f"exit {code}, " + ("asked" if asked else "not asked") + f", spent {shop.spent()}"
        yield Result(
            "run on a terminal, answered no", "exit 2, asked, spent 0", seen, code == 2 and asked and shop.spent() == 0
        )
        warned = shop.run()
        words = "warned" if "warning: the input rules" in warned.err else "not warned"
        yield Result(
            "run elsewhere", "goes on and warns", f"exit {warned.code}, {words}", (warned.code, words) == (0, "warned")
        )
        inspected = shop.command("inspect")
        quiet = shop.set(privacy__budget={"epsilon": "1.5"}).run()
        ok = inspected.code == quiet.code == 0 and "never inspected" not in quiet.err
        yield Result("run after inspect, at another budget", "no warning", "none" if ok else quiet.err[-200:], ok)


def on_a_terminal(shop: Shop, answer: bytes) -> tuple[int, str]:
    """``dplib run`` with a terminal of its own; its exit code and all that it shows."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "dplib.cli.main", "run", shop.job, "--config", str(shop.config)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "300"}
    started = subprocess.Popen(words, cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown, answered = b"", False
    while select.select([ours], [], [], 120)[0]:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
        if b"spend now?" in shown and not answered:
            os.write(ours, answer)
            answered = True
    os.close(ours)
    return started.wait(60), shown.decode(errors="replace")


CHECKS: tuple[Check, ...] = (
    noise_alone_is_named,
    nothing_counted_is_said,
    a_misspelt_item_is_named,
    inspect_tells_the_truth,
    answers_say_what_they_are_of,
    a_share_tells_what_was_counted,
    the_share_is_private_and_honest,
    the_share_changes_no_old_hash,
    uninspected_rules_are_asked_for,
)
