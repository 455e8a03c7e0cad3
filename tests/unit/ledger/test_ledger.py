import stat
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import postgresql

from dplib.errors import BudgetError, ConfigError, DplibError, IntegrityError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Balance, MeasuredRun, Publication, RunKey, RunState, Terms
from dplib.ledger.schema import head, resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from tests.support.ledgers import (
    KEY,
    PUBLICATION,
    TERMS,
    Place,
    exported,
    key_number,
    measurement,
    open_with,
    tamper,
    url_of,
)

# ---- addresses and opening -------------------------------------------------------------------------------------------


def test_relative_sqlite_path_is_taken_from_the_base_and_postgres_gets_its_driver(tmp_path: Path) -> None:
    assert resolve_ledger_url("sqlite:///sub/l.db", tmp_path) == f"sqlite:///{tmp_path.resolve()}/sub/l.db"
    assert resolve_ledger_url("sqlite:////var/l.db", tmp_path) == "sqlite:////var/l.db"
    assert resolve_ledger_url("postgresql://u:pw@h/db", tmp_path) == "postgresql+psycopg://u:pw@h/db"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://h/db", "ledger.db"])
def test_other_addresses_are_refused_by_name(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ledger must"):
        resolve_ledger_url(url, tmp_path)


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    with pytest.raises(DplibError) as caught:
        Ledger.open("postgresql+psycopg2://user:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(caught.value)


def test_opening_needs_an_existing_ledger_and_creating_makes_a_private_file(tmp_path: Path) -> None:
    url = url_of(tmp_path)
    with pytest.raises(ConfigError, match="dplib init"):
        Ledger.open(url)
    assert not (tmp_path / "ledger.db").exists()
    Ledger.open(url, create=True)
    assert stat.S_IMODE((tmp_path / "ledger.db").stat().st_mode) == 0o600
    Ledger.open(url, create=True)
    assert Ledger.open(url).accounts() == []


def test_files_that_are_no_ledger_of_this_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(b"no database at all, but long enough to be read as one" * 40)
    with pytest.raises(IntegrityError, match="sound database"):
        Ledger.open(url_of(tmp_path))
    (tmp_path / "ledger.db").write_bytes(b"")
    with pytest.raises(ConfigError, match="dplib init"):
        Ledger.open(url_of(tmp_path))
    open_with(tmp_path)
    tamper(tmp_path, "UPDATE head SET schema_version = 99")
    with pytest.raises(ConfigError, match="schema version 1"):
        Ledger.open(url_of(tmp_path))


def test_a_directory_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can be written"):
        Ledger.open(f"sqlite:///{tmp_path}/file/ledger.db", create=True)


def test_writers_lock_the_tip_row_on_postgres() -> None:
    compiled = str(select(head.c.id).with_for_update().compile(dialect=postgresql.dialect()))
    assert compiled.endswith("FOR UPDATE")


# ---- accounts --------------------------------------------------------------------------------------------------------


def test_account_is_created_once_with_exact_budget(place: Place) -> None:
    ledger = open_with(place, Fraction(1, 3))
    assert ledger.balance("takeaway") == Balance(Fraction(1, 3), Fraction(0), Fraction(0))
    with pytest.raises(ConfigError, match="dataset must be new to the ledger, got takeaway"):
        ledger.create_account("takeaway", TERMS, Fraction(5))
    zcdp = Terms(Currency.ZCDP, "customer", Neighbors.REPLACE_ONE)
    account = ledger.create_account("flights", zcdp, Fraction(1, 2), Fraction(1, 10**6))
    assert Ledger.open(url_of(place)).account("flights") == account
    assert [each.dataset for each in ledger.accounts()] == ["flights", "takeaway"]


@pytest.mark.parametrize(
    ("dataset", "currency", "budget", "delta", "named"),
    [
        ("../x", Currency.PURE, Fraction(1), None, "dataset"),
        ("x y", Currency.PURE, Fraction(1), None, "dataset"),
        ("x\n", Currency.PURE, Fraction(1), None, "dataset"),
        ("x", Currency.PURE, Fraction(0), None, "budget"),
        ("x", Currency.PURE, Fraction(1), Fraction(1, 100), "delta"),
        ("x", Currency.ZCDP, Fraction(1), None, "delta"),
        ("x", Currency.ZCDP, Fraction(1), Fraction(1), "delta"),
    ],
)
def test_wrong_accounts_are_refused_and_nothing_is_written(
    dataset: str, currency: Currency, budget: Fraction, delta: Fraction | None, named: str, place: Place
) -> None:
    ledger = open_with(place)
    with pytest.raises(ConfigError, match=f"^{named} must"):
        ledger.create_account(dataset, Terms(currency, "order", Neighbors.ADD_REMOVE), budget, delta)
    assert len(exported(ledger)) == 1


def test_unknown_dataset_and_other_terms_are_refused_by_name(place: Place) -> None:
    ledger = open_with(place)
    unknown = RunKey("nobody", "job", "", "h")
    for refused in (
        lambda: ledger.reserve(unknown, TERMS, Fraction(1), ""),
        lambda: ledger.balance("nobody"),
        lambda: ledger.account("nobody"),
        lambda: ledger.find_run(unknown),
    ):
        with pytest.raises(ConfigError, match=r"dataset must be an account.*got nobody"):
            refused()
    for name, terms in {
        "budget": Terms(Currency.ZCDP, "order", Neighbors.ADD_REMOVE),
        "unit": Terms(Currency.PURE, "event", Neighbors.ADD_REMOVE),
        "neighbors": Terms(Currency.PURE, "order", Neighbors.REPLACE_ONE),
    }.items():
        with pytest.raises(ConfigError, match=rf"^privacy\.{name} must be .* takeaway fixed it"):
            ledger.reserve(KEY, terms, Fraction(1), "")
    assert len(exported(ledger)) == 1


# ---- the life of a run -----------------------------------------------------------------------------------------------


def test_a_run_goes_from_reserved_to_published_and_can_be_found(place: Place) -> None:
    ledger = open_with(place)
    assert ledger.find_run(KEY) is None
    run = ledger.reserve(KEY, TERMS, Fraction(1, 3), "nightly")
    assert (run.state, run.sequence) == (RunState.RESERVED, 2)
    assert run.release_id == "takeaway-consistent-histograms-2024-01-01-000002"
    assert ledger.balance("takeaway") == Balance(Fraction(1), Fraction(0), Fraction(1, 3))
    run = ledger.record_measurement(run, measurement())
    assert (run.state, run.measurement) == (RunState.MEASURED, measurement())
    assert ledger.balance("takeaway") == Balance(Fraction(1), Fraction(1, 3), Fraction(0))
    run = ledger.record_published(run, PUBLICATION)
    assert (run.state, run.publication) == (RunState.PUBLISHED, PUBLICATION)
    other = Ledger.open(url_of(place))
    assert other.find_run(KEY) == other.run(run.release_id) == other.runs("takeaway")[0] == run
    assert other.balance("takeaway").left == Fraction(2, 3)
    assert other.audit() == []


def test_publishing_again_spends_nothing_and_repeats_no_entry(place: Place) -> None:
    ledger = open_with(place)
    run = ledger.record_measurement(ledger.reserve(KEY, TERMS, Fraction(1, 3), ""), measurement())
    ledger.record_published(run, PUBLICATION)
    length = len(exported(ledger))
    ledger.record_published(run, PUBLICATION)
    assert len(exported(ledger)) == length
    other = Publication("/releases/x", "q" * 64, "n" * 64)
    assert ledger.record_published(run, other).publication == other
    assert ledger.balance("takeaway").spent == Fraction(1, 3)


def test_publishing_needs_a_measurement(place: Place) -> None:
    ledger = open_with(place)
    run = ledger.reserve(KEY, TERMS, Fraction(1, 3), "")
    with pytest.raises(IntegrityError, match="must be measured or published"):
        ledger.record_published(run, PUBLICATION)
    assert len(exported(ledger)) == 2
    with pytest.raises(IntegrityError, match="must have a measurement before it is published"):
        MeasuredRun.of(run)
    measured = ledger.record_measurement(run, measurement())
    assert vars(MeasuredRun.of(measured)) == vars(measured)


def test_refusal_names_dataset_needed_and_left_and_writes_nothing(place: Place) -> None:
    ledger = open_with(place, Fraction(1))
    ledger.record_measurement(ledger.reserve(key_number(1), TERMS, Fraction(1, 2), ""), measurement())
    ledger.reserve(key_number(2), TERMS, Fraction(1, 4), "")
    before = exported(ledger)
    with pytest.raises(BudgetError) as caught:
        ledger.reserve(key_number(3), TERMS, Fraction(1, 3), "")
    assert str(caught.value) == (
        "dataset takeaway must have epsilon 1/3 (about 0.333333) left for this release, got 0.25 of 1 "
        "(0.5 spent, 0.25 reserved)"
    )
    assert caught.value.exit_code == 4
    assert exported(ledger) == before
    assert ledger.find_run(key_number(3)) is None
    assert ledger.reserve(key_number(3), TERMS, Fraction(1, 4), "").state is RunState.RESERVED


def test_same_key_reuses_the_run_in_every_state_and_again_makes_a_new_one(place: Place) -> None:
    ledger = open_with(place)
    run = ledger.reserve(KEY, TERMS, Fraction(1, 4), "")
    assert ledger.reserve(KEY, TERMS, Fraction(1, 4), "") == run
    # What a first attempt at --again left open is what --again wants.
    assert ledger.reserve(KEY, TERMS, Fraction(1, 4), "", again=True) == run
    measured = ledger.record_measurement(run, measurement())
    assert ledger.reserve(KEY, TERMS, Fraction(1, 4), "") == measured
    second = ledger.reserve(KEY, TERMS, Fraction(1, 4), "", again=True)
    assert second.sequence > run.sequence
    assert ledger.find_run(KEY) == second
    assert ledger.balance("takeaway") == Balance(Fraction(1), Fraction(1, 4), Fraction(1, 4))
    ledger.void(second, "wrong file")
    assert ledger.find_run(KEY) == measured


@pytest.mark.parametrize("change", ["job", "logical_date", "settings_hash"])
def test_any_other_part_of_the_key_is_another_run(change: str, place: Place) -> None:
    ledger = open_with(place)
    first = ledger.reserve(KEY, TERMS, Fraction(1, 4), "")
    parts = {name: getattr(KEY, name) for name in ("dataset", "job", "logical_date", "settings_hash")}
    second = ledger.reserve(RunKey(**{**parts, change: "other"}), TERMS, Fraction(1, 4), "")
    assert second.sequence != first.sequence
    assert ledger.balance("takeaway").reserved == Fraction(1, 2)


def test_void_gives_back_an_open_reservation_and_nothing_else(place: Place) -> None:
    ledger = open_with(place)
    run = ledger.reserve(KEY, TERMS, Fraction(1), "")
    assert ledger.void(run, "typo").state is RunState.VOIDED
    assert ledger.balance("takeaway").left == 1
    assert ledger.find_run(KEY) is None
    with pytest.raises(ConfigError, match="without a measurement"):
        ledger.void(run, "twice")
    # A job that was measuring meanwhile must not get its measurement in.
    with pytest.raises(IntegrityError, match="got voided"):
        ledger.record_measurement(run, measurement())
    second = ledger.record_measurement(ledger.reserve(KEY, TERMS, Fraction(1), ""), measurement())
    with pytest.raises(ConfigError, match="without a measurement"):
        ledger.void(second, "too late")
    assert ledger.balance("takeaway").left == 0


def test_release_id_is_safe_whatever_the_date(place: Place) -> None:
    ledger = open_with(place)
    dates = ["2024-01-01T00:00:00+00:00", "../../etc", "", "é"]
    runs = [ledger.reserve(RunKey("takeaway", "job", date, "h"), TERMS, Fraction(1, 100), "") for date in dates]
    assert [run.release_id for run in runs] == [
        "takeaway-job-2024-01-01T00_00_00_00_00-000002",
        "takeaway-job-.._.._etc-000003",
        "takeaway-job-undated-000004",
        "takeaway-job-_-000005",
    ]
    assert [ledger.run(run.release_id) for run in runs] == runs


@pytest.mark.parametrize("release_id", ["", "x", "takeaway-job-undated-000002", "takeaway-job-x-99999999999999999999"])
def test_unknown_release_is_a_config_error(release_id: str, place: Place) -> None:
    ledger = open_with(place)
    ledger.reserve(KEY, TERMS, Fraction(1, 100), "")
    with pytest.raises(ConfigError, match="release must name a run"):
        ledger.run(release_id)


@pytest.mark.parametrize(("job", "date"), [("a/b", ""), ("", ""), (".x", ""), ("job", "x" * 65), ("job", "a\nb")])
def test_unsafe_names_are_refused(job: str, date: str) -> None:
    with pytest.raises(ConfigError, match="must"):
        RunKey("takeaway", job, date, "h")


def test_balance_at_an_entry_is_fixed_for_ever(place: Place) -> None:
    ledger = open_with(place)
    run = ledger.reserve(key_number(1), TERMS, Fraction(1, 4), "")
    then = ledger.balance("takeaway", at=run.sequence)
    ledger.record_measurement(run, measurement())
    ledger.reserve(key_number(2), TERMS, Fraction(1, 2), "")
    assert ledger.balance("takeaway", at=run.sequence) == then == Balance(Fraction(1), Fraction(0), Fraction(1, 4))


def test_private_parts_are_in_the_ledger_but_in_no_text_of_a_run(place: Place) -> None:
    ledger = open_with(place)
    run = ledger.record_measurement(ledger.reserve(KEY, TERMS, Fraction(1, 3), ""), measurement())
    assert run.measurement is not None
    assert run.measurement.data_digest == "PRIVATE-DIGEST"
    assert "PRIVATE" not in f"{run} {run!r} {run.release_id}"


def test_entries_say_who_when_and_why(place: Place) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    ledger = open_with(place, clock=lambda: moment)
    ledger.reserve(KEY, TERMS, Fraction(1, 3), "asked by the board")
    entry = exported(ledger)[-1]
    assert entry["why"] == "asked by the board"
    assert entry["at"] == "2024-05-06T07:08:09.000000+00:00"
    assert "@" in entry["who"]
    assert entry["body"]["cost"] == "1/3"
