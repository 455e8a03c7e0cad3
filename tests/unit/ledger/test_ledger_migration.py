import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete
from sqlalchemy.engine.base import RootTransaction

from dplib.errors import ConfigError, DplibError, IntegrityError
from dplib.ledger import migration as ledger_migration
from dplib.ledger.ledger import Ledger
from dplib.ledger.migration import migrate
from dplib.ledger.runs import RunState
from dplib.ledger.schema import entries
from tests.support.ledgers import (
    KEY,
    PUBLICATION,
    TERMS,
    Place,
    Postgres,
    exported,
    key_number,
    measurement,
    open_with,
    run_child,
    url_of,
)


@pytest.fixture(params=["to sqlite", pytest.param("to postgresql", marks=pytest.mark.postgres)])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place, in both databases."""
    if request.param == "to sqlite":
        return Place(f"sqlite:///{tmp_path}/other.db")
    server: Postgres = request.getfixturevalue("postgres_server")
    return server.new_place()


def with_history(place: Place) -> Ledger:
    ledger = open_with(place)
    ledger.record_published(
        ledger.record_measurement(ledger.reserve(KEY, TERMS, Fraction(1, 4), "é"), measurement()), PUBLICATION
    )
    open_run = ledger.reserve(key_number(1), TERMS, Fraction(1, 4), "left open")
    with ledger.holding(open_run):
        pass
    ledger.approve("takeaway", "a" * 64, "officer", "why")
    return ledger


def test_every_entry_moves_as_it_is_and_the_book_goes_on_at_the_new_place(place: Place, other: Place) -> None:
    source = with_history(place)
    book = source.entries()
    moved = migrate(place.url, other.url)
    target = Ledger.open(other.url)
    assert (moved.n_entries, moved.address) == (len(book[0]), target.address)
    assert target.entries() == book  # hashes, times and texts
    assert target.audit([book[1]]) == []
    # What was published before is found, what was open is completed, and the budget is what it was.
    found = target.find_run(KEY)
    assert found is not None
    assert (found.state, found.publication) == (RunState.PUBLISHED, PUBLICATION)
    assert target.run(found.release_id) == found
    retry = target.reserve(key_number(1), TERMS, Fraction(1, 4), "")
    assert target.record_measurement(retry, measurement()).sequence == retry.sequence == 5
    assert target.balance("takeaway").left == Fraction(1, 2)
    assert target.audit([book[1]]) == []


def test_the_old_place_is_closed_and_says_where_the_book_is(place: Place, other: Place) -> None:
    source = with_history(place)
    run = source.find_run(key_number(1))
    assert run is not None
    migrate(place.url, other.url)
    address = Ledger.open(other.url).address
    for refused in (
        lambda: Ledger.open(place.url),
        lambda: source.reserve(key_number(2), TERMS, Fraction(1, 4), ""),  # a job that had it open
        lambda: source.record_measurement(run, measurement()),
        lambda: source.void(run, ""),
        lambda: source.create_account("late", TERMS, Fraction(1)),
    ):
        with pytest.raises(ConfigError) as caught:
            refused()
        assert str(caught.value) == (
            f"ledger must be the one in use, got one that was moved to {address} (name that in `ledger`)"
        )
        assert caught.value.exit_code == 2
    closed = Ledger.open(place.url, even_closed=True)
    assert closed.audit() == []
    assert [entry["kind"] for entry in exported(closed)][-2:] == ["close", "moved"]
    assert closed.state().moved_to == address
    if "postgresql" in other.url:
        assert other.url.split("@")[0].rpartition(":")[2] not in str(closed.entries())


def test_what_must_not_move_is_refused_and_both_places_stay_as_they_are(place: Place, other: Place) -> None:
    source = with_history(place)
    run = source.reserve(key_number(1), TERMS, Fraction(1, 4), "")
    before = source.entries()

    def refused(kind: type[DplibError], match: str) -> None:
        with pytest.raises(kind, match=match):
            migrate(place.url, other.url)
        assert source.entries() == before
        assert Ledger.open(other.url).entries()[0] == []

    refused(DplibError, r"idle to be moved, got a run that is being measured on .* \(process \d+\)")
    with source.holding(run):
        pass
    place.change("UPDATE entries SET why = 'x' WHERE sequence = 2")
    before = source.entries()
    refused(IntegrityError, "sound to be moved, got")
    place.change("UPDATE entries SET why = 'é' WHERE sequence = 2")
    before = source.entries()
    with pytest.raises(ConfigError, match="--to must be another place"):
        migrate(place.url, place.url)
    open_with(other)
    with pytest.raises(ConfigError, match=r"--to must be an empty ledger, got .* which has entries"):
        migrate(place.url, other.url)
    assert source.entries() == before
    assert source.audit() == []


def test_a_ledger_moves_once(place: Place, other: Place, tmp_path: Path) -> None:
    with_history(place)
    migrate(place.url, other.url)
    third = f"sqlite:///{tmp_path}/third.db"
    with pytest.raises(ConfigError, match=r"--from must be a ledger in use, got .* which was moved to"):
        migrate(place.url, third)
    assert Ledger.open(third).entries()[0] == []
    # A target that was lost is not filled again from a book that forgot what it spent.
    other.change(delete(entries), "UPDATE head SET sequence = 0, digest = '" + "0" * 64 + "'")
    with pytest.raises(ConfigError, match="--from must be a ledger in use"):
        migrate(place.url, other.url)


# ---- a crash in the middle -------------------------------------------------------------------------------------------


STEPS = ["copied", "source committed", "target committed"]


def die_in(step: str, source: str, target: str) -> None:
    """Move, and die: after the copy, between the two commits, or after both."""
    copy, commit = ledger_migration._copy, RootTransaction._do_commit
    steps_left = iter(range(STEPS.index(step), -1, -1))

    def make_a_step() -> None:
        if next(steps_left) == 0:
            os._exit(9)

    def commit_and_die(transaction: RootTransaction) -> None:
        commit(transaction)
        make_a_step()

    def copy_and_die(*arguments: Any) -> None:
        copy(*arguments)
        RootTransaction._do_commit = commit_and_die  # type: ignore[method-assign]  # planted
        make_a_step()

    ledger_migration._copy = copy_and_die
    migrate(source, target)


@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_at_most_one_place_is_open_and_the_same_command_completes(
    step: str, place: Place, other: Place
) -> None:
    source = with_history(place)
    book = source.entries()[0]
    assert run_child(die_in, step, place.url, other.url) == 9
    places: list[Callable[[], Ledger]] = [lambda: Ledger.open(place.url), lambda: Ledger.open(other.url)]
    if step == "copied":
        assert places[0]().entries()[0] == book
        assert places[1]().entries()[0] == []
    else:
        with pytest.raises(ConfigError, match="was moved to"):
            places[0]()
        assert places[1]().entries()[0] == ([] if step == "source committed" else book)
    migrate(place.url, other.url)
    assert places[1]().entries()[0] == book
    with pytest.raises(ConfigError, match="was moved to"):
        places[0]()
    assert Ledger.open(place.url, even_closed=True).audit() == []


def test_an_empty_ledger_moves_too(tmp_path: Path) -> None:
    source = Place(url_of(tmp_path))
    Ledger.open(source.url, create=True)
    target = f"sqlite:///{tmp_path}/other.db"
    assert migrate(source.url, target).n_entries == 0
    with pytest.raises(ConfigError, match="was moved to"):
        Ledger.open(source.url)
    assert Ledger.open(target).entries()[0] == []
