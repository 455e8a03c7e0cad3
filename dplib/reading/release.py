"""A release in Python: opened from its folder, asked, plotted; neither Spark, the ledger nor a secret is needed.

    release = dplib.open_release("releases/shop-000002")
    release.query(["tea", "coffee"], start="2024-03-01", by="week", sum=True)

Everything is computed from the stored noisy values and public settings: it is post-processing and costs no privacy.
Standard errors are those of the whole answer: what estimates have in common is in them, so that the error of a month is
not made up from the errors of its days. Intervals are of 95 %, from the very law of the noise.
"""

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dplib.config.sections import BudgetSetting
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.table import JOBS
from dplib.privacy.neighbors import Neighbors
from dplib.release.answers import table_of
from dplib.release.files import require_release
from dplib.release.manifest import Manifest, load_manifest, version_as_of
from dplib.release.question import OPTIONS, Question
from dplib.validate import one_of, require

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance
    from matplotlib.axes import Axes

Bound = str | float | dt.date
"""Where a range begins or ends: a day, an edge, a category, a vertex, or a point as a text."""
ARGUMENTS = {option: name for name, option in OPTIONS.items()} | {
    "--item": "items",
    "--group": "group",
    "--sum": "sum",
    "--from and --to": "start and end",
}
"""What the options that errors name are called here."""


@contextmanager
def arguments() -> Iterator[None]:
    """Errors name arguments, not the options of the command line."""
    try:
        yield
    except ConfigError as error:
        got = error.got.replace("--where ", "where ") if isinstance(error.got, str) else error.got
        raise ConfigError(ARGUMENTS.get(error.name, error.name), error.rule, got) from None


def query_module(job: str) -> ModuleType:
    """What answers questions to releases of a job; loaded late, since other jobs need other libraries."""
    return import_module(JOBS[one_of("job", job, tuple(JOBS))].rpartition(".")[0] + ".query")


def frame_of(table: pa.Table) -> "pd.DataFrame":
    """As pandas holds it: days as moments, repeated texts as categories."""
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    return frame


def question_of(
    items: str | Sequence[str],
    where: Mapping[str, str | Sequence[str]] | None,
    start: Bound | None,
    end: Bound | None,
    by: str | None,
    add_up: bool,
) -> Question:
    """A question from the arguments of `Release.query`."""
    values = [
        f"{column}={value}"
        for column, given in (where or {}).items()
        for value in ([given] if isinstance(given, str) else given)
    ]
    first, last = (None if bound is None else str(bound) for bound in (start, end))
    return Question([items] if isinstance(items, str) else list(items), first, last, values, add_up, by)


class Askable(ABC):
    """What answers questions: a release, or several together."""

    @abstractmethod
    def answer_table(self, asked: Question) -> pa.Table:
        """Answers to a question, a row each."""

    def query(
        self,
        items: str | Sequence[str] = (),
        *,
        where: Mapping[str, str | Sequence[str]] | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        by: str | None = None,
        sum: bool = False,  # noqa: A002 - the word of the command line
    ) -> "pd.DataFrame":
        """Answers with their standard errors and 95 % intervals.

        Args:
            items: items, totals, groups, statistics, vertices or centers; all where empty.
            where: values of columns of the items' table: ``{"region": "north", "kind": ["tea", "coffee"]}``.
            start: first day, lower edge or first category; the first there is where None. Of k-means a point ``"x,y"``.
            end: last day or category, inclusive, or upper edge.
            by: day, week, month, quarter, year (the first and last are cut by the range), or bin.
            sum: the sum of all that is named, in place of each.

        Returns:
            A row an answer: keys, the interval of days or bins, estimate, std_error, low, high; of one release
            published too.

        Raises:
            ConfigError: if a release does not have what is named, or an error that is to be combined is not stated.
        """
        with arguments():
            return frame_of(self.answer_table(question_of(items, where, start, end, by, sum)))


@dataclass(frozen=True, eq=False)
class Release(Askable):
    """A release that was opened.

    Attributes:
        path: its folder.
        manifest: what it says of itself.
    """

    path: Path
    manifest: Manifest

    @property
    def job(self) -> str:
        """The job that made it."""
        return self.manifest.job

    @property
    def settings(self) -> dict[str, Any]:
        """The public settings that it was measured by."""
        return dict(self.manifest.details["design"])  # type: ignore[arg-type]  # JSON: written as a mapping

    @property
    def privacy_unit(self) -> str:
        """Whose presence or absence is protected: event (a row), order, customer ..."""
        return self.manifest.privacy_unit

    @property
    def cost(self) -> Fraction:
        """What it took from the account of its data set, exactly, in the currency `Manifest.currency`."""
        return Fraction(self.manifest.cost)

    @property
    def guarantee(self) -> str:
        """The promise in plain words: budget, neighbours, and what it is conditional on."""
        budget = BudgetSetting.model_validate(self.settings["privacy"]["budget"]).budget().describe()
        neighbors = Neighbors(self.manifest.neighbors).describe(self.privacy_unit)
        return ". ".join([f"{budget}; {neighbors}", *(fact.rstrip(".") for fact in self.manifest.invariants)]) + "."

    def answers(self, asked: Question) -> list["DataclassInstance"]:
        """Answers to a question, as `dplib query` prints them.

        Raises:
            ConfigError: if it asks for what the release does not have.
        """
        found: list[DataclassInstance] = query_module(self.job).ask(self.path, self.manifest, asked)
        return found

    def answer_table(self, asked: Question) -> pa.Table:
        """Answers to a question, a row each."""
        return table_of(self.answers(asked))

    def to_pandas(self) -> "pd.DataFrame":
        """Every number of the release, a row each: keys, interval, estimate, std_error, low, high, published."""
        return frame_of(query_module(self.job).tidy(self.path, self.manifest))

    def to_spark(self, spark: Any) -> Any:
        """The same as a data frame of a Spark session: days as dates, null where there is no number."""
        table = query_module(self.job).tidy(self.path, self.manifest)
        plain = (
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        )
        return spark.createDataFrame(table.cast(pa.schema(list(plain))))

    def _shape(self, statistic: str, group: str | Sequence[str] | None, **asked: Any) -> "pd.DataFrame":
        with arguments():
            groups = [group] if isinstance(group, str) else list(group or ())
            return frame_of(table_of(shape_answers(self, statistic, groups, **asked)))

    def quantile(self, q: float | Sequence[float], group: str | Sequence[str] | None = None) -> "pd.DataFrame":
        """Quantiles of histograms of numbers or days, each with a 95 % interval.

        Args:
            q: between 0 and 1, or several: 0.5 is the median.
            group: of which histograms; all where None.

        Raises:
            ConfigError: if the release is of another job, or its bins have no order.
        """
        return self._shape("quantile", group, q=[q] if isinstance(q, int | float) else list(q))

    def mean(self, group: str | Sequence[str] | None = None) -> "pd.DataFrame":
        """Means; the interval holds wherever in its bin a value is.

        Raises:
            ConfigError: as of `quantile`.
        """
        return self._shape("mean", group)

    def share(
        self, start: Bound | None = None, end: Bound | None = None, group: str | Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """The part of a histogram that a range of bins holds.

        Raises:
            ConfigError: as of `quantile`.
        """
        first, last = (None if bound is None else str(bound) for bound in (start, end))
        return self._shape("share", group, start=first, end=last)

    def plot(self, items: str | Sequence[str] = (), *, ax: "Axes | None" = None, **asked: Any) -> "Axes":
        """Draw answers with their 95 % intervals; partial periods are hollow, the guarantee stands above.

        Args:
            items: as of `query`; of many the largest are drawn.
            ax: where to draw; a new figure where None.
            asked: more arguments of `query`; ``by`` is bin, or the longest period of which there are enough, where
                nothing is said.

        Raises:
            ConfigError: as of `query`, or if the release has no counts by day or bin.
        """
        # Imported where it is needed: it brings matplotlib.
        from dplib.reading.plots import plot_release

        return plot_release(self, items, ax, asked)


def shape_answers(release: Release, statistic: str, groups: Sequence[str], **asked: Any) -> list["DataclassInstance"]:
    """A quantile, mean or share of histograms (`dplib.jobs.range_histograms.quantiles`).

    Raises:
        ConfigError: if the release is of another job, or the function of the same name refuses.
    """
    require(release.job == "range-histograms", statistic, "be asked of a release of range-histograms", release.job)
    # Imported where it is needed: releases of other jobs do without.
    from dplib.jobs.range_histograms import quantiles

    found: list[DataclassInstance] = getattr(quantiles, statistic)(release.path, release.manifest, groups, **asked)
    return found


def open_release(path: str | Path, as_of: str | None = None) -> Release:
    """Open a release, after a look at its manifest and that its files are there in their sizes.

    Args:
        path: its folder; of a stream, its newest version. `dplib verify` checks every byte.
        as_of: of a stream: the version that knew no day after this one, YYYY-MM-DD.

    Raises:
        ConfigError: if the folder holds no release.
        IntegrityError: if the manifest is not what was written, or a file is missing or has another size.
    """
    directory = require_release(Path(path)) if as_of is None else version_as_of(Path(path), as_of)
    manifest = load_manifest(directory)
    for entry in manifest.files:
        file = directory / entry.path
        if not file.is_file() or file.stat().st_size != entry.size:
            raise IntegrityError(f"release must hold its files as they were written, got another {entry.path}")
    return Release(directory, manifest)
