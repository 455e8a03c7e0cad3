"""A page of the main job with made-up content, and a small one for tests of its words."""

import dataclasses
import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np

from dplib.jobs.consistent_histograms.page_content import (
    Estimation,
    ExpectedErrors,
    PageContent,
    Points,
    SeriesChart,
    SeriesTotals,
)
from dplib.page.account_state import AccountState
from dplib.page.frame import PageFrame
from dplib.page.guarantee import Guarantee, NoiseRow, Promise
from dplib.privacy.accountant import Total
from dplib.privacy.budget import Currency, PureDP
from dplib.privacy.neighbors import Neighbors


def _points(rng: np.random.Generator, level: str, dates: list[dt.date], size: float, error: float) -> Points:
    wave = size * (1 + 0.35 * np.sin(np.arange(len(dates)) * 2 * np.pi / len(dates) - 1.2))
    estimate = wave + rng.normal(0, error, len(dates))
    published = np.maximum(0, np.rint(estimate + rng.normal(0, error / 9, len(dates)))).astype(np.int64)
    return Points(level, tuple(dates), estimate, np.full(len(dates), error), published)


def _noise_row(level: str, n_nodes: int, seed: int) -> NoiseRow:
    error = 31.83 * (1 + 0.3137 * (seed - 1))
    scale, shares = Fraction(4 * seed), (Fraction(2 * seed), Fraction(1, 1 + seed))
    return NoiseRow(level, n_nodes, "discrete_laplace", scale, error, *shares)


def frame(seed: int = 1) -> PageFrame:
    """The frame of `sample`."""
    factor = 1 + 0.3137 * (seed - 1)
    epsilon = Fraction(seed)
    promise = Promise(
        caps=f"at most {seed} rows of one event; each row counts at most {3 * seed}",
        invariants=(),
        public_settings="Items, days and caps",
    )
    guarantee = Guarantee(
        budget=PureDP(epsilon),
        unit="event",
        neighbors=Neighbors.ADD_REMOVE,
        key_id=f"key-{'pqr'[seed % 3]}",
        totals=(
            Total("basic", float(epsilon), 0.0, epsilon, "sum of the epsilons"),
            Total("advanced", float(epsilon), 1e-6 * seed, None, "gains nothing here: the plain sum"),
            Total("zcdp", 1.7193 * factor, 1e-6 * seed, epsilon**2 / 4, "sum of the rhos, converted once"),
            Total("pld", 0.9871 * factor, 1e-6 * seed, None, "loss distributions of the events' epsilons"),
        ),
        promise=promise,
    )
    account = AccountState(Currency.PURE, Fraction(10 + 7 * seed), Fraction(3 * seed), epsilon)
    return PageFrame(f"nycflights-{'abc'[seed % 3]}", "nycflights", "", guarantee, account)


FRAME = frame()


def sample(seed: int = 1, first: dt.date = dt.date(2013, 1, 1), n_days: int = 365, n_items: int = 35) -> PageContent:
    """Realistic content: departures by carrier and day; another seed changes every number."""
    rng = np.random.default_rng(seed)
    days = [first + dt.timedelta(days=day) for day in range(n_days)]
    months = [day for day in days if day.day == 1] or days[:1]
    names = tuple(f"route {chr(65 + number % 26)}{chr(97 + number // 26)}" for number in range(n_items))
    factor = 1 + 0.3137 * (seed - 1)
    estimate = np.sort(rng.gamma(1.1, 9000, n_items))[::-1] - 40
    return PageContent(
        first_day=days[0],
        last_day=days[-1],
        n_days=n_days,
        n_items=n_items,
        noise=(
            NoiseRow("all days", 1, "", None, np.inf, None, Fraction(0)),
            _noise_row("month", 12 * seed, seed),
            _noise_row("day", n_days, seed),
        ),
        errors=ExpectedErrors(
            of="one item, the average over items",
            queries=("day", "month", "whole range"),
            ours=np.array([5.62, 5.55, 19.4]) * factor,
            baselines={
                "flat day histogram": np.array([2.83, 15.6, 54.1]) * factor,
                "binary tree": np.array([16.2, 33.7, 46.3]) * factor,
            },
        ),
        charts=tuple(
            SeriesChart(
                name,
                (
                    _points(rng, "day", days, day * factor, 5.62 * factor),
                    _points(rng, "month", months, month * factor, 55.5 * factor),
                ),
            )
            for name, day, month in ((names[0], 62, 1886), (names[-1], 3, 91))
        ),
        totals=SeriesTotals(
            names, estimate, np.full(n_items, 19.4 * factor), np.rint(estimate).clip(0).astype(np.int64)
        ),
        estimation=Estimation(
            solver="tree_blue",
            reason="every node has the same constraints and the variances are a product: one pass is exact.",
            layout="one process on the driver",
            rounds=(),
            converged=True,
            constraints=("every carrier's total is the sum of its origins",),
            notes=("months have unequal lengths",),
        ),
    )


def lean(seed: int = 1, **shape: Any) -> PageContent:
    """The same with one small chart, for tests of the words: drawing takes most of a page's time."""
    content = sample(seed, **shape)
    chart = content.charts[0]
    return dataclasses.replace(content, charts=(dataclasses.replace(chart, levels=chart.levels[1:]),))
