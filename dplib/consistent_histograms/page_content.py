"""What the page of a release shows, as plain values: no rows, no noise, no Spark.

Whoever fills this in draws on the stored noisy measurement, on what was computed from it and on public settings. The
page adds nothing but words: `dplib.consistent_histograms.page`.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dplib.inference.problem import Round
from dplib.privacy.accountant import Total
from dplib.privacy.budget import Budget, Currency
from dplib.privacy.neighbors import Neighbors

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Guarantee:
    """What is promised, to whom, and under which conditions.

    Attributes:
        budget: the release's budget.
        unit: name of the privacy unit, such as ``order``; ``event`` where it is a row.
        neighbors: which two inputs the guarantee compares.
        max_rows_per_unit: public cap on the rows of one unit.
        max_rows_per_day: public cap on one unit's rows a day; None where there is none.
        max_quantity: public cap on a row's quantity.
        invariants: public facts the guarantee is conditional on, a sentence each.
        key_id: which key of the operator drew the noise.
        totals: what the levels cost together, by each accountant; the one of zCDP states the guarantee in epsilon and
            delta where the budget is in rho.
    """

    budget: Budget
    unit: str
    neighbors: Neighbors
    max_rows_per_unit: int
    max_rows_per_day: int | None
    max_quantity: int
    invariants: tuple[str, ...]
    key_id: str
    totals: tuple[Total, ...]


@dataclass(frozen=True)
class LevelNoise:
    """The noise of one level of the tree.

    Attributes:
        level: its name.
        n_nodes: intervals on it.
        mechanism: ``discrete_laplace`` or ``discrete_gaussian``; empty where the level was not measured.
        noise: scale ``b`` of Laplace, ``sigma^2`` of Gaussian noise; None where not measured.
        variance: of one noisy count; ``inf`` where not measured.
        sensitivity: L1 for Laplace, squared L2 for Gaussian noise; None where not measured.
        share: of the budget; 0 where not measured.
    """

    level: str
    n_nodes: int
    mechanism: str
    noise: Fraction | None
    variance: float
    sensitivity: Fraction | None
    share: Fraction


@dataclass(frozen=True, eq=False)
class ExpectedErrors:
    """Standard errors that follow from the settings, before any row is read.

    Attributes:
        of: which series they are for, in words.
        queries: kinds of query, such as ``month``.
        ours: standard error of this release's estimates, shape (n_queries,).
        baselines: name to the standard errors of another way to spend the same budget, shape (n_queries,), NaN where
            it has none; at most three.
    """

    of: str
    queries: tuple[str, ...]
    ours: FloatArray
    baselines: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Points:
    """One series at one level of the tree.

    Attributes:
        level: its name, such as ``day``.
        dates: first day of each interval, n of them.
        estimate: shape (n,).
        std_error: shape (n,).
        published: shape (n,), or None where nothing is published.
    """

    level: str
    dates: tuple[dt.date, ...]
    estimate: FloatArray
    std_error: FloatArray
    published: IntArray | None


@dataclass(frozen=True, eq=False)
class SeriesChart:
    """One series to draw, at one or more levels from fine to coarse."""

    name: str
    levels: tuple[Points, ...]


@dataclass(frozen=True, eq=False)
class SeriesTotals:
    """Every series over the whole range: shapes (n_series,); ``published`` is None where nothing is published."""

    names: tuple[str, ...]
    estimate: FloatArray
    std_error: FloatArray
    published: IntArray | None


@dataclass(frozen=True)
class Estimation:
    """How the estimates were made.

    Attributes:
        solver: its name.
        reason: why this one, a sentence.
        layout: where it ran, a phrase such as ``one process on the driver``.
        rounds: one record a round; empty for solvers without rounds.
        converged: whether the stop rule was met; always for exact solvers.
        constraints: what holds on each day, a sentence each.
        notes: what the plan had to say, a sentence each.
        unpublished: why nothing stands in ``published/``; empty where something does.
    """

    solver: str
    reason: str
    layout: str
    rounds: tuple[Round, ...]
    converged: bool
    constraints: tuple[str, ...]
    notes: tuple[str, ...]
    unpublished: str = ""


@dataclass(frozen=True)
class Account:
    """The dataset's account around this release: budgets in its currency."""

    currency: Currency
    total: Fraction
    before: Fraction
    this: Fraction


@dataclass(frozen=True, eq=False)
class PageContent:
    """Everything the page of one release shows.

    Attributes:
        release_id: the release's public name.
        dataset: the ledger's account that paid.
        logical_date: as given to the run; empty where none was.
        first_day: first day of the declared range.
        last_day: last one, inclusive.
        n_items: declared items, without totals.
        guarantee: what is promised.
        noise: one entry a level of the tree, from the root down.
        errors: expected errors by query.
        charts: up to about three series.
        totals: every series over the whole range.
        estimation: how the estimates were made.
        account: budget before and after.
        version: of dplib.
    """

    release_id: str
    dataset: str
    logical_date: str
    first_day: dt.date
    last_day: dt.date
    n_items: int
    guarantee: Guarantee
    noise: tuple[LevelNoise, ...]
    errors: ExpectedErrors
    charts: tuple[SeriesChart, ...]
    totals: SeriesTotals
    estimation: Estimation
    account: Account
    version: str

    @property
    def n_days(self) -> int:
        """Number of days."""
        return (self.last_day - self.first_day).days + 1
