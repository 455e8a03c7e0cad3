"""What only a server has: passwords, roles, TLS, and a death in the middle."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url

from dplib.errors import BudgetError, ConfigError, DplibError
from dplib.guide import read_page
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Run, RunState, Terms
from dplib.ledger.schema import public_address, resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.release.staging import MEASUREMENT
from dplib.workflow.run_keys import MeasurementKeys
from tests.support.ledgers import (
    KEY,
    PUBLICATION,
    TERMS,
    Place,
    Postgres,
    key_number,
    measurement,
    open_with,
    reserve_and_measure,
)

pytestmark = pytest.mark.postgres
PASSWORD = "p@ss/w:rd %41"


def changed(place: Place, **parts: Any) -> str:
    return make_url(place.url).set(**parts).render_as_string(hide_password=False)


def refused(url: str) -> DplibError:
    with pytest.raises(DplibError) as caught:
        Ledger.open(url)
    text = str(caught.value)
    assert re.fullmatch(r"ledger must [^\n]+, got [^\n]+", text)
    assert str(make_url(url).password) not in text
    return caught.value


def test_what_the_address_has_wrong_is_one_sentence_without_the_password(postgres_server: Postgres) -> None:
    place = postgres_server.new_place()
    open_with(place)
    wrong = refused(changed(place, password="hunter2"))
    assert isinstance(wrong, ConfigError)
    assert "accept the address's user" in str(wrong)
    missing = refused(changed(place, database="nowhere"))
    assert isinstance(missing, ConfigError)
    assert "name a database that exists" in str(missing)
    nobody = refused(changed(place, username="nobody_at_all"))
    assert isinstance(nobody, ConfigError)
    empty = refused(postgres_server.new_place().url)
    assert isinstance(empty, ConfigError)
    assert "dplib init has set up" in str(empty)
    away = refused(changed(place, port=1))
    assert away.exit_code == 1
    assert "reachable" in str(away)


def test_tls_settings_of_the_address_reach_the_driver(postgres_server: Postgres) -> None:
    place = postgres_server.new_place()
    open_with(place)
    plain = make_url(place.url).update_query_dict({"sslmode": "disable", "application_name": "nightly"})
    ledger = Ledger.open(plain.render_as_string(hide_password=False))
    with ledger.transaction(write=False) as connection:
        asked = "SELECT application_name, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) "
        found = connection.exec_driver_sql(asked + "WHERE pid = pg_backend_pid()").one()
    assert tuple(found) == ("nightly", False)
    # The throw-away server has no certificate: anyone who asks for TLS gets none and is told so.
    for mode in ("require", "verify-full"):
        demanding = make_url(place.url).update_query_dict({"sslmode": mode})
        error = refused(demanding.render_as_string(hide_password=False))
        assert isinstance(error, ConfigError)
        assert "TLS" in str(error)
    unknown = make_url(place.url).update_query_dict({"sslmode": "perhaps"})
    assert isinstance(refused(unknown.render_as_string(hide_password=False)), ConfigError)


def test_a_password_comes_from_the_environment_as_it_is_and_is_never_shown(
    postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = postgres_server.new_database()
    postgres_server.execute(f"CREATE ROLE outsider LOGIN PASSWORD '{PASSWORD.replace('%', '%%')}'")
    written = changed(place, username="outsider", password="${LEDGER_PASSWORD}")
    written = written.replace("%24%7BLEDGER_PASSWORD%7D", "${LEDGER_PASSWORD}")
    with pytest.raises(ConfigError, match=r"environment variables that are set, got \$\{LEDGER_PASSWORD\}"):
        resolve_ledger_url(written, Path())
    monkeypatch.setenv("LEDGER_PASSWORD", PASSWORD)
    url = resolve_ledger_url(written, Path())
    assert make_url(url).password == PASSWORD
    open_with(place)
    with pytest.raises(ConfigError, match="let this role do") as caught:  # it may log in, and nothing more
        Ledger.open(url)
    assert PASSWORD not in str(caught.value)
    assert "outsider@" in public_address(url)
    assert PASSWORD not in public_address(url)
    monkeypatch.setenv("LEDGER", place.url)
    assert resolve_ledger_url("${LEDGER}", Path()) == place.url


def guide_statements() -> list[str]:
    block = re.search(r"```sql\n(.*?)```", read_page("ledger"), re.DOTALL)
    assert block is not None
    return [statement.strip() for statement in block[1].split(";") if statement.strip()]


def test_the_roles_of_the_guide_can_do_their_part_and_no_more(postgres_server: Postgres) -> None:
    place = postgres_server.new_database()
    owner = open_with(place, Fraction(10))
    postgres_server.execute(*guide_statements(), database=str(make_url(place.url).database))
    numbered = {"dplib_jobs": 1, "dplib_officer": 2, "dplib_auditor": 3}
    urls = {role: changed(place, username=role, password=f"change this {n}") for role, n in numbered.items()}
    jobs, officer, auditor = (Ledger.open(urls[role]) for role in numbered)
    # Jobs run, and hold leases.
    run = jobs.reserve(KEY, TERMS, Fraction(1), "")
    with jobs.holding(run):
        run = jobs.record_measurement(run, measurement())
    assert jobs.record_published(run, PUBLICATION).state is RunState.PUBLISHED
    # They decide nothing about accounts.
    for refused_call in (
        lambda: jobs.create_account("other", TERMS, Fraction(1)),
        lambda: jobs.require_approval("takeaway", True, ""),
        lambda: jobs.approve("takeaway", "a" * 64, "me", ""),
        lambda: jobs.void(jobs.reserve(key_number(3), TERMS, Fraction(1), ""), ""),
        lambda: officer.reserve(key_number(4), TERMS, Fraction(1), ""),
        lambda: auditor.reserve(key_number(5), TERMS, Fraction(1), ""),
    ):
        with pytest.raises(ConfigError, match="let this role do"):
            refused_call()
    # Officers do; auditors read.
    officer.require_approval("takeaway", True, "board")
    officer.create_account("other", Terms(Currency.PURE, "order", Neighbors.ADD_REMOVE), Fraction(1))
    with pytest.raises(BudgetError, match="dplib ledger approve"):
        jobs.reserve(key_number(6), TERMS, Fraction(1), "", plan="b" * 64)
    officer.approve("takeaway", "b" * 64, "officer", "read")
    assert jobs.reserve(key_number(6), TERMS, Fraction(1), "", plan="b" * 64).plan == "b" * 64
    officer.void(officer.runs("takeaway")[1], "not needed")
    assert auditor.audit() == owner.audit() == []
    # None of them changes or removes an entry, or the tables.
    for role in numbered:
        engine = create_engine(urls[role])
        for statement in (
            "UPDATE entries SET why = 'x'",
            "DELETE FROM entries",
            "TRUNCATE entries",
            "DROP TABLE entries",
            "ALTER TABLE entries DISABLE TRIGGER ALL",
            "DELETE FROM head",
            "CREATE TABLE mine (x int)",
        ):
            with (
                engine.connect() as connection,
                pytest.raises(Exception, match=r"permission denied|must be owner"),
            ):
                connection.exec_driver_sql(statement)
        engine.dispose()
    assert owner.audit() == []


def test_a_role_without_rights_cannot_make_the_tables_and_is_told_so(postgres_server: Postgres) -> None:
    place = postgres_server.new_database()
    postgres_server.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    with pytest.raises(ConfigError, match="let this role do"):
        Ledger.open(changed(place, username="guest", password="guest"), create=True)


@pytest.fixture
def mortal() -> Any:
    with Postgres.running() as server:
        yield server


def test_a_server_killed_between_reserve_and_record_loses_nothing_and_the_retry_completes(mortal: Postgres) -> None:
    place = mortal.new_place()
    ledger = open_with(place)
    run = ledger.reserve(KEY, TERMS, Fraction(3, 4), "")
    mortal.do("kill")
    for call in (
        lambda: ledger.record_measurement(run, measurement()),
        lambda: ledger.reserve(key_number(2), TERMS, Fraction(1, 4), ""),
        lambda: Ledger.open(place.url),
    ):
        with pytest.raises(DplibError, match=r"ledger must be reachable .*, got no answer from postgresql") as caught:
            call()
        assert caught.value.exit_code == 1
        assert str(make_url(place.url).password) not in str(caught.value)
    mortal.do("restart")
    assert ledger.reserve(KEY, TERMS, Fraction(3, 4), "") == run
    assert ledger.record_measurement(run, measurement()).state is RunState.MEASURED
    with pytest.raises(BudgetError):
        ledger.reserve(key_number(2), TERMS, Fraction(1, 2), "")
    assert ledger.audit() == []


def test_a_run_whose_server_dies_while_it_measures_is_completed_by_its_retry(mortal: Postgres, tmp_path: Path) -> None:
    ledger = open_with(mortal.new_place())
    calls: list[str] = []

    def measure(run: Run, staging: Path) -> MeasurementKeys:
        (staging / MEASUREMENT).mkdir()
        (staging / MEASUREMENT / "top.parquet").write_text("noisy")
        if not calls:
            mortal.do("kill")
        calls.append(run.release_id)
        return MeasurementKeys("key-1", b"key", b"digest")

    with pytest.raises(DplibError, match="reachable") as caught:
        reserve_and_measure(ledger, tmp_path, measure, Fraction(3, 4))
    assert caught.value.exit_code == 1
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]  # nobody saw a release
    mortal.do("restart")
    assert reserve_and_measure(ledger, tmp_path, measure, Fraction(3, 4)).state is RunState.MEASURED
    assert len(set(calls)) == 1
    assert ledger.balance("takeaway").spent == Fraction(3, 4)
    assert ledger.balance("takeaway").reserved == 0
    assert ledger.audit() == []


def test_a_server_killed_inside_a_transaction_has_written_nothing_of_it(mortal: Postgres) -> None:
    ledger = open_with(mortal.new_place())

    def kill_at_the_end() -> None:
        with ledger.writing("takeaway") as writer:
            body = {"job": "j", "logical_date": "", "settings_hash": "h", "cost": "1/2"}
            writer.append("reserve", None, body)
            mortal.do("kill")

    with pytest.raises(DplibError, match="reachable") as caught:
        kill_at_the_end()
    assert caught.value.exit_code == 1
    mortal.do("restart")
    assert ledger.balance("takeaway").left == 1
    assert ledger.reserve(KEY, TERMS, Fraction(1), "").sequence == 2
    assert ledger.audit() == []


def test_a_writer_commits_durably_even_where_the_server_would_not_and_gives_the_lock_up_after_a_silence(
    postgres_server: Postgres,
) -> None:
    place = postgres_server.new_place()
    ledger = open_with(place)
    name = make_url(place.url).query["options"]
    lax = make_url(place.url).update_query_dict({"options": f"{name} -csynchronous_commit=off"})
    lax_ledger = Ledger.open(lax.render_as_string(hide_password=False))
    settings = ("synchronous_commit", "lock_timeout", "idle_in_transaction_session_timeout", "transaction_isolation")
    with lax_ledger.transaction(write=True) as connection:
        found = [connection.exec_driver_sql(f"SHOW {setting}").scalar_one() for setting in settings]
    assert found == ["on", "1min", "1min", "read committed"]
    with lax_ledger.transaction(write=False) as connection:
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar_one() == "repeatable read"
    assert ledger.audit() == []


def test_a_busy_ledger_is_one_sentence_and_worth_a_retry(
    postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dplib.ledger.schema._WRITER_SETTINGS", "SELECT set_config('lock_timeout', '200ms', true)")
    place = postgres_server.new_place()
    first, second = open_with(place), Ledger.open(place.url)
    with first.transaction(write=True), pytest.raises(DplibError, match="reachable and free") as caught:
        second.reserve(KEY, TERMS, Fraction(1, 4), "")
    assert caught.value.exit_code == 1
    assert second.reserve(KEY, TERMS, Fraction(1, 4), "").state is RunState.RESERVED


def test_leases_go_by_the_servers_clock(postgres_server: Postgres) -> None:
    place = postgres_server.new_place()
    ledger = open_with(place)
    ledger.reserve(KEY, TERMS, Fraction(1, 4), "")
    with ledger.transaction(write=True) as connection:
        remaining = connection.exec_driver_sql(
            "SELECT expires - extract(epoch FROM clock_timestamp()) FROM leases"
        ).scalar_one()
    assert 100 < float(remaining) <= 180
