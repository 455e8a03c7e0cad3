r"""What the ledger says about accounts and runs: frozen values, without any database.

*Account*: a dataset's budget, in one currency, for one privacy unit and one neighbour relation, for ever; or for each
period anew, where the period is part of the unit (`dplib.ledger.periods`).
*Run*: one reservation of budget and what became of it.

    reserved -> measured -> published (again and again, as publish settings change)
        \-> voided

*Stream*: a run that is reserved for a horizon of days and measured day by day (`Run.days`); it costs the same
however many its days, and is measured from its first day on.

A run counts as *reserved* while it is reserved, as *spent* once it is measured, and as nothing once it is voided; it
can be voided only while no measurement exists.
"""

import datetime as dt
import re
from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction

from dplib.config.day_window import DayWindow
from dplib.errors import IntegrityError
from dplib.ledger.periods import Renewal
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.validate import require

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def safe_name(name: str, value: str) -> str:
    """Return ``value`` if it can stand in a release id and a file name."""
    rule = "start with a letter or digit and hold at most 64 letters, digits, '_', '.' and '-'"
    require(_SAFE.fullmatch(value) is not None, name, rule, repr(value))
    return value


def sequence_of(release_id: str) -> int | None:
    """The number of the reservation that a release id names; None where it names none."""
    number = release_id.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else None


class RunState(StrEnum):
    """How far a run has come."""

    RESERVED = "reserved"
    MEASURED = "measured"
    PUBLISHED = "published"
    VOIDED = "voided"


@dataclass(frozen=True)
class Terms:
    """What an account's budget is measured in, and whom it protects.

    Attributes:
        currency: pure (sum of epsilon), zcdp (sum of rho), or approx (sums of epsilon and of delta).
        unit: the privacy unit.
        neighbors: the neighbour relation.
    """

    currency: Currency
    unit: str
    neighbors: Neighbors


@dataclass(frozen=True)
class Account:
    """A dataset's budget: ``total`` in the currency of ``terms``.

    ``delta`` converts rho to epsilon, once; of an approx account it is the total delta, beside the total epsilon.
    ``renewal`` says when the budget is new again, None where it never is. ``needs_approval``: a reservation is refused
    unless its plan was approved (`dplib.ledger.approvals`).
    """

    dataset: str
    terms: Terms
    total: Fraction
    delta: Fraction | None
    renewal: Renewal | None = None
    needs_approval: bool = False

    def period_of(self, window: DayWindow | None) -> str:
        """The period whose budget a run of these days draws on; empty where the budget does not renew.

        Raises:
            ConfigError: if the account renews and the days do not lie in one of its periods.
        """
        return "" if self.renewal is None else self.renewal.period_of(self.dataset, window)

    def require_terms(self, terms: Terms) -> None:
        """Raise ConfigError unless a release's terms are the account's own."""
        settings = {"currency": "privacy.budget", "unit": "privacy.unit", "neighbors": "privacy.neighbors"}
        for name, setting in settings.items():
            own, other = getattr(self.terms, name), getattr(terms, name)
            require(own == other, setting, f"be {own} as the ledger's account {self.dataset} fixed it", other)


@dataclass(frozen=True)
class Balance:
    """Where an account's budget is: total = spent + reserved + left, exactly."""

    total: Fraction
    spent: Fraction
    reserved: Fraction

    @property
    def left(self) -> Fraction:
        """What a new release can still cost."""
        return self.total - self.spent - self.reserved


@dataclass(frozen=True)
class RunKey:
    """What makes two runs the same run: neither spends if the other has.

    Attributes:
        dataset: the account that pays.
        job: name of the job.
        logical_date: the schedule's date as text, empty where there is none.
        settings_hash: hash of the resolved measurement settings.
        former: hashes of the same settings by the rules of earlier versions, under which a run may stand in the ledger.
        place: what the input's words name here: its paths, absolute and with variables filled in; None where that is
            not known (runs of earlier versions) or where a catalogue resolves them.
    """

    dataset: str
    job: str
    logical_date: str
    settings_hash: str
    former: tuple[str, ...] = field(default=(), compare=False)
    place: tuple[str, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        safe_name("dataset", self.dataset)
        safe_name("job", self.job)
        short = len(self.logical_date) <= 64 and (self.logical_date.isprintable() or not self.logical_date)
        require(short, "date", "be at most 64 printable characters", repr(self.logical_date))
        require(bool(self.settings_hash), "settings hash", "not be empty", repr(self.settings_hash))

    def has_settings_of(self, run: "RunKey") -> bool:
        """Whether a run's key says the same as this one, be it by the rules of an earlier version."""
        same = (self.dataset, self.job, self.logical_date) == (run.dataset, run.job, run.logical_date)
        return same and run.settings_hash in (self.settings_hash, *self.former)

    def has_place_of(self, run: "RunKey") -> bool:
        """Whether a run may have read the very input that this key means."""
        return self.place is None or run.place is None or self.place == run.place


@dataclass(frozen=True)
class StoredMeasurement:
    """Where a run's one noisy measurement is.

    Attributes:
        staged: name of the staging directory that held it when it was recorded.
        location: directory of the release that it belongs to.
        content_sha256: hash of the stored files, to refuse one that was changed; of noisy values, hence not private.
        key_id: public name of the secret.
        key_commitment: SHA-256 of the measurement key, private.
        data_digest: keyed digest of the exact counts, hex, private.
    """

    staged: str
    location: str
    content_sha256: str
    key_id: str
    key_commitment: str = field(repr=False)
    data_digest: str = field(repr=False)


@dataclass(frozen=True)
class MeasuredDay:
    """What a stream measured on one day: all nodes whose last day it is.

    Attributes:
        date: the day, ISO 8601.
        measurement: where it is stored.
        chosen: name of the table of chosen rows that the run made, where units span days; private.
        after: name of the one that it started from; None for the first.
    """

    date: str
    measurement: StoredMeasurement
    chosen: str | None = field(default=None, repr=False)
    after: str | None = field(default=None, repr=False)

    def follows(self, run: "Run") -> bool:
        """Whether it started from what the newest day of a stream left."""
        is_of_kind = not run.days or (self.chosen is None) == (run.days[-1].chosen is None)
        return is_of_kind and self.after == (run.days[-1].chosen if run.days else None)


@dataclass(frozen=True)
class Publication:
    """The newest release made of a run's measurement; ``publish_hash`` is that of its publish settings."""

    location: str
    publish_hash: str
    manifest_sha256: str


@dataclass(frozen=True)
class Run:
    """One reservation of budget and what became of it; ``sequence`` is that of its first ledger entry.

    ``key_id`` is the public name of the secret that it was reserved under and must be measured with; None in ledgers
    from before keys could change. ``period`` is the one whose budget pays, empty where the budget does not renew.
    ``plan`` is the approved plan that it used, None where none was needed. ``at`` is when it was reserved. ``nonce`` is
    random text that was drawn with the reservation: it stands beside the measurement and in the manifest, so that
    what lies on a disk is known as this ledger's or another's; None in entries of earlier versions. ``horizon`` are the
    first and the last day of a stream, ``days`` what it measured, in the order of recording, and ``is_closed`` whether
    it takes no more.
    """

    sequence: int
    key: RunKey
    cost: Fraction
    state: RunState
    measurement: StoredMeasurement | None = None
    publications: tuple[Publication, ...] = ()
    key_id: str | None = None
    period: str = ""
    plan: str | None = None
    at: str = ""
    nonce: str | None = None
    horizon: tuple[str, str] | None = None
    days: tuple[MeasuredDay, ...] = ()
    is_closed: bool = False

    @property
    def publication(self) -> Publication | None:
        """The newest release."""
        return self.publications[-1] if self.publications else None

    def is_measured(self, date: str) -> bool:
        """Whether nothing is left to measure: of a stream, on a day."""
        if self.horizon is None:
            return self.state is not RunState.RESERVED
        return self.measured_on(date) is not None

    def state_on(self, date: str) -> RunState:
        """The state of a run: of a stream on a day, reserved until that day is measured."""
        return RunState.RESERVED if date and not self.is_measured(date) else self.state

    @property
    def stored(self) -> tuple[StoredMeasurement, ...]:
        """All that was measured: one measurement, or one a day."""
        one = () if self.measurement is None else (self.measurement,)
        return (*one, *(day.measurement for day in self.days))

    def measured_on(self, date: str) -> MeasuredDay | None:
        """What a stream measured on a day."""
        return next((day for day in self.days if day.date == date), None)

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the tables of chosen rows that its days made, in their order."""
        return tuple(day.chosen for day in self.days if day.chosen is not None)

    @property
    def is_to_measure(self) -> bool:
        """Whether who reserves it measures: a stream on some day."""
        return self.state is RunState.RESERVED or self.horizon is not None

    @property
    def takes_days(self) -> bool:
        """Whether a stream has days to measure."""
        if self.horizon is None or self.is_closed:
            return False
        first, last = map(dt.date.fromisoformat, self.horizon)
        return len(self.days) <= (last - first).days

    def is_same_reservation(self, other: "Run") -> bool:
        """Whether two runs are one reservation of one ledger, whatever became of it."""
        mine, others = ((run.sequence, run.key, run.cost, run.nonce, run.key_id) for run in (self, other))
        return mine == others

    @property
    def release_id(self) -> str:
        """Public name: dataset, job, logical date and sequence; no part of it depends on rows."""
        date = re.sub(r"[^A-Za-z0-9_.-]", "_", self.key.logical_date) or "undated"
        return f"{self.key.dataset}-{self.key.job}-{date}-{self.sequence:06d}"


@dataclass(frozen=True)
class MeasuredRun(Run):
    """A run whose noise was drawn and stored, a stream's at least on one day: all that a release can be made from."""

    measurement: StoredMeasurement = field()

    @classmethod
    def of(cls, run: Run) -> "MeasuredRun":
        """The same run.

        Raises:
            IntegrityError: if it has no measurement.
        """
        if not run.stored:
            raise IntegrityError(f"{run.release_id} must have a measurement before it is published")
        given = {each.name: getattr(run, each.name) for each in fields(run)}
        return cls(**given | {"measurement": run.stored[-1]})
