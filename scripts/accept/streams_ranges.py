"""A year of range histograms day by day, whose groups add up, beside the batch of the same tree, shares and key."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.config.load import check, read_yaml
from dplib.jobs.range_histograms.config import RangeHistogramsConfig, RangesRelease
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors, estimate_sums
from dplib.jobs.range_histograms.kinds import recent_errors
from dplib.jobs.range_histograms.stream_measure import closing, measure_closing
from dplib.jobs.range_histograms.stream_parts import stream_errors, stream_state
from dplib.jobs.range_histograms.stream_publish import estimate_part
from dplib.release.staging import MEASUREMENT
from dplib.release.stream_tops import read_days
from dplib.workflow.run_keys import RunKeys
from scripts.accept.claims import Check, Result, at_most
from scripts.accept.runs import ROOT

KEYS = RunKeys("accept", bytes(32), bytes(range(32)), bytes(range(1, 33)))
"""Of this test alone; never keys that protect data."""


def bakery_year() -> Iterator[Result]:
    """366 days in a random order, at once, and as the batch; errors of the plan against those of each day."""
    settings = read_yaml(ROOT / "conf" / "bakery_stream.yaml")
    design = Design.resolve(check(RangeHistogramsConfig, settings), ROOT / "conf")
    generator, n_days = np.random.default_rng(18), design.bins.n_days
    counts = generator.poisson(40, (len(design.bins.groups), n_days)).astype(np.int64)
    dates = [str(np.datetime64(design.bins.first_day) + day) for day in range(n_days)]
    state = stream_state(design, dates)
    parts = [part for top in state.tops.tolist() for part in state.parts(top)]
    with tempfile.TemporaryDirectory() as name:
        orders = [generator.permutation(n_days).tolist(), list(range(n_days))]
        noisy = [_measured(design, counts, order, dates, Path(name, str(place))) for place, order in enumerate(orders)]
        same = all(np.array_equal(each, noisy[0]) for each in noisy)
        yield Result("measurements of 366 days in a random order, against in order", "the same", f"{same}", same)
        batch = _batch(design)
        expected = estimate_sums(batch, noisy[0].T)
        off, apart = 0.0, 0
        for part in parts:
            found = estimate_part(state, part, Path(name, "0"))
            off = max(off, float(np.abs(found.estimates - expected.estimates[:, part.nodes]).max()))
            alone = estimate_sums(part.design, noisy[0][part.nodes].T)
            apart += int((alone.counts != found.counts).sum())
        yield at_most("estimates, off those of the batch release", off, 1e-9)
        yield Result("integers, those of a release of each closed period alone", "equal", f"{apart} apart", apart == 0)
    cost = sum(event.rho for event in design.events)
    own = sum(event.rho for event in batch.events)
    yield Result("cost, that of the batch release", f"{own}", f"{cost}", cost == own)
    every = np.arange(len(design.series))
    errors = [Errors(part.design).nodes(np.arange(len(part.nodes)), every) for part in parts]
    nodes = np.concatenate([part.nodes for part in parts])
    off = float(np.abs(np.hstack(errors) / Errors(batch).nodes(nodes, every) - 1).max())
    yield at_most("standard errors, off those of the batch release", off, 1e-9)
    yield from _known(design, dates)


def _batch(design: Design) -> Design:
    """The design of the batch release of the stream's days, tree and shares."""
    settings = design.config.model_dump(exclude={"stream", "queries"}, exclude_none=True)
    measure = None if design.sums is None else design.sums.columns.measure
    return Design.of(RangesRelease.model_validate(settings), design.strategy, measure)


def _measured(design: Design, counts: IntArray, order: list[int], dates: list[str], folder: Path) -> FloatArray:
    """What a stream measures, shape (n_nodes, n_series)."""
    for day in order:
        staged, (_, first) = folder / "staged", closing(design, day)
        measure_closing(design, day, counts[:, first : day + 1], KEYS, staged)
        (staged / MEASUREMENT).rename(folder / dates[day])
    state = stream_state(design, dates)
    nodes = np.arange(design.strategy.tree.n_nodes)
    return read_days(folder, state.dates, nodes, "group", design.series_number)


def _known(design: Design, dates: list[str]) -> Iterator[Result]:
    """Errors of the year to date that the plan states, and those of each day's answer on that day."""
    every, found = np.arange(len(design.bins.groups)), []
    for day in range(len(dates)):
        errors = stream_errors(stream_state(design, dates[: day + 1]))
        found.append(errors.std_errors(0, day + 1, every))
    stated = {(each.query, each.of): each.error for each in recent_errors(design)[0]}["year to date", "groups"]
    off = abs(float(np.mean(found)) / stated - 1)
    yield at_most("mean error of the year to date over 366 days, off the plan's", off, 1e-6)


CHECKS: tuple[Check, ...] = (bakery_year,)
