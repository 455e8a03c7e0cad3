"""The paper's alternation on Spark to its threshold, what is refused, and the nearest non-negative table."""

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dplib.config.load import check as checked
from dplib.config.load import read_yaml
from dplib.consistency import commuting
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import problem
from dplib.jobs.consistent_histograms.layouts import results_in_layout
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.publish import results_on_driver
from dplib.jobs.consistent_histograms.rows import row_kinds
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.jobs.consistent_histograms.work_blocks import in_work_blocks
from dplib.workflow.run_keys import RunKeys
from scripts.accept.claims import Check, Result, at_least, at_most, processor_seconds
from scripts.accept.runs import ROOT, run_command, session, written

DAYS, BLOCK_DAYS = 1024, 128
SECRET = bytes(range(32))


def restaurant(last_day: str = "2021-10-20", **publish: Any) -> Design:
    """The paper's restaurant on a binary tree with a measured root, of 1,024 days where nothing else is said."""
    settings = _settings(last_day) | {"publish": publish}
    return Design.resolve(checked(ConsistentHistogramsConfig, settings), Path())


def _settings(last_day: str = "2021-10-20") -> dict[str, Any]:
    settings = dict(read_yaml(ROOT / "conf" / "restaurant.yaml"))
    settings["domain"] = settings["domain"] | {"first_day": "2019-01-01", "last_day": last_day}
    return settings | {"tree": {"branching": 2, "root": True}}


def _measure(design: Design, folder: Path, mean: float) -> None:
    counts = np.random.default_rng(1).poisson(mean, (design.tree.n_leaves, len(row_kinds(design)))).astype(np.int64)
    measure_on_driver(design, counts, RunKeys("accept", SECRET, SECRET, SECRET), folder)


def alternation_on_spark() -> Iterator[Result]:
    """Rounds of the paper's split, in both layouts and several blocks, against the optimum."""
    solver = {"method": "alternating", "tol": 1e-9, "block_days": BLOCK_DAYS}
    design = restaurant(solver=solver)
    yield at_least(f"blocks of {BLOCK_DAYS} days", in_work_blocks(design).blocks.n_blocks, 8)
    with tempfile.TemporaryDirectory() as name, session() as spark:
        _measure(design, Path(name), 8.0)
        best = commuting.solve(problem(design, Tables(Path(name), design).read_measurement())).values
        for layout in ("blocks", "reference"):
            found = results_in_layout(spark, design, Path(name), layout)
            rounds, gap = len(found.solution.rounds), float(np.abs(found.solution.values - best).max())
            claim = f"T = {DAYS:,}, the paper's split, {found.layout} on Spark"
            yield at_most(f"{claim}: rounds to a change of 1e-9", rounds, 60)
            ended = found.solution.converged
            yield Result(f"{claim}: threshold", "reached", "reached" if ended else "missed", ended)
            yield at_most(f"{claim}: largest distance from the optimum (counts)", gap, 1e-8)


def named_splits() -> Iterator[Result]:
    """Other splits of 256 days in 8 blocks, both layouts on Spark, against the optimum."""
    for split in (["packages", "trees"], ["sums", "days"], ["trees", "nodes"]):
        solver = {"method": "alternating", "tol": 1e-9, "block_days": 32, "split": split}
        design = restaurant("2019-09-13", solver=solver)
        with tempfile.TemporaryDirectory() as name, session() as spark:
            _measure(design, Path(name), 8.0)
            best = commuting.solve(problem(design, Tables(Path(name), design).read_measurement())).values
            for layout in ("blocks", "reference"):
                found = results_in_layout(spark, design, Path(name), layout)
                rounds, gap = len(found.solution.rounds), float(np.abs(found.solution.values - best).max())
                claim = f"T = 256, split {', '.join(split)}, {found.layout} on Spark"
                yield at_most(f"{claim}: off the optimum after {rounds} rounds (counts)", gap, 1e-6)


def refused_publications() -> Iterator[Result]:
    """A run that cannot converge: before a reservation where it is known, with the measurement kept where it is not."""
    plain = ("publish.solver.method=alternating", "publish.solver.acceleration=none")
    few = ("publish.solver.method=alternating", "publish.solver.max_rounds=12", "publish.solver.tol=1e-2")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["day", "package"], *[["2019-01-05", "package 1"]] * 50])
        own = {"path": "rows.csv", "columns": {"day": "day", "package": "package"}, "options": {"header": "true"}}
        places = {"ledger": "sqlite:///ledger.db", "secret": "file:dplib.key", "spark": {"master": "local[2]"}}
        config = written(folder, _settings() | {"input": own} | places | {"publish": {"output": {"path": "releases"}}})
        run_command("init", "--config", str(config), "--budget", "1", "--yes")

        def run(*assignments: str, stage: str = "all") -> tuple[int, str, str]:
            words = [word for each in assignments for word in ("--set", each)]
            done = run_command("run", "consistent-histograms", "--config", str(config), "--stage", stage, *words)
            spent = run_command("ledger", "show", "--ledger", f"sqlite:///{folder}/ledger.db").stdout
            return done.returncode, done.stderr.strip().splitlines()[-1] if done.stderr else "", spent

        code, said, before = run(*plain)
        claim = "plain rounds that cannot converge are refused before a reservation"
        told = code == 2 and "publish.solver.acceleration" in said and not list(folder.glob("releases/*"))
        yield Result(claim, "exit 2, nothing reserved", f"exit {code}: {said[:90]} ...", told)
        code, _, measured = run(stage="measure")
        yield Result("the measurement", "exit 0, spent", f"exit {code}", code == 0 and measured != before)
        code, said, after = run(*few, stage="publish")
        told = code == 2 and "the measurement is kept" in said and after == measured
        yield Result(
            "rounds that end early are refused", "exit 2, nothing spent", f"exit {code}: {said[:90]} ...", told
        )
        code, said, after = run(*few[:1], stage="publish")
        yield Result("published from the same measurement", "exit 0, nothing spent", f"exit {code}", code == 0)
        code, said, _ = run(*few, "publish.solver.accept_unconverged=true", stage="publish")
        yield from _accepted(folder, code)


def _accepted(folder: Path, code: int) -> Iterator[Result]:
    releases = [path for path in (folder / "releases").iterdir() if (path / "manifest.json").is_file()]
    asked = run_command("query", str(releases[0]), "--from", "2019-01-01", "--to", "2019-01-31").stdout
    verified = run_command("verify", str(releases[0]), "--ledger", f"sqlite:///{folder}/ledger.db").stdout
    said = code == 0 and "not stated" in asked and "ended before" in asked and "threshold" in verified
    yield Result("accepted: query and verify say that rounds ended early", "said", "said" if said else asked, said)


def nearest_table() -> Iterator[Result]:
    """The nearest non-negative table of 1,024 days in 8 blocks: both layouts on Spark, and the driver's."""
    design = restaurant(solver={"block_days": BLOCK_DAYS, "tol": 1e-8}, counts="reals")
    with tempfile.TemporaryDirectory() as name:
        _measure(design, Path(name), 8.0)
        here = results_on_driver(design, Path(name))
        negative = float((here.solution.values[design.tree.leaf_nodes] < 0).mean())
        yield at_least("estimates of days below 0", 100 * negative, 10, " %")
        for layout in ("blocks", "reference"):
            before = processor_seconds()
            with session() as spark:
                there = results_in_layout(spark, design, Path(name), layout).tables
            claim = f"nearest non-negative table, T = {DAYS:,}, {layout} on Spark"
            yield at_most(f"{claim}: CPU with its session", processor_seconds() - before, 60, " s")
            gap = float(np.abs(here.tables.counts - there.counts).max())
            yield at_most(f"{claim}: off the driver (counts)", gap, 1e-6)
            yield at_least(f"{claim}: smallest count", float(there.counts.min()), 0)


def rehearsed_table() -> Iterator[Result]:
    """The rehearsal's errors of the published table beside those of the estimates, integers and reals."""
    with tempfile.TemporaryDirectory() as name:
        config = written(Path(name), _rehearsed(Path(name)))
        for counts in ("integers", "reals"):
            words = ("--config", str(config), "--rows", "20", "--set", f"publish.counts={counts}")
            said = run_command("rehearse", "consistent-histograms", *words).stdout
            rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()}
            for query in ("day", "total"):
                _, predicted, met, published = (float(each.replace(",", "")) for each in rows[query])
                shown = f"{met:.2f} and {published:.2f}"
                told = predicted > 0 and met > 0 and published > 0 and (query == "total" or published < met)
                yield Result(f"rehearsal, {counts}: error of {query}, estimates and published", "both", shown, told)


def _rehearsed(folder: Path) -> dict[str, Any]:
    """Sixteen days of the restaurant; the rehearsal makes its own rows."""
    own = {"path": str(folder / "rows.csv"), "columns": {"day": "day", "package": "package"}}
    places = {"ledger": "sqlite:///ledger.db", "secret": "file:dplib.key", "spark": {"master": "local[2]"}}
    return _settings("2019-01-16") | {"input": own, "queries": ["day", "total"]} | places


CHECKS: tuple[Check, ...] = (alternation_on_spark, named_splits, refused_publications, nearest_table, rehearsed_table)
