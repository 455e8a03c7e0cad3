"""Acceptance of the ledger for teams: a real PostgreSQL server, moves, audits, renewal, approvals, clocks, backups."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from dplib.ledger.audit import audit_entries, export_lines, read_export
from dplib.ledger.chain import Entry
from dplib.ledger.ledger import Ledger
from dplib.ledger.migration import migrate
from dplib.ledger.runs import RunKey, Terms
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from scripts.accept.claims import Check, Result, at_most, tests_pass
from tests.ledgers import NoServer, Postgres, measurement

TERMS = Terms(Currency.PURE, "order", Neighbors.ADD_REMOVE)
RUNS = 300
"""Nearly a year of one daily job."""


def both_databases() -> Iterator[Result]:
    """The same tests of accounts, runs, tampering and laws on SQLite and on a server."""
    yield from tests_pass(
        "accounts, runs, refusals, tampering and laws under any sequence of calls: the same on SQLite and PostgreSQL",
        "tests/unit/test_ledger.py",
        "tests/unit/test_ledger_tampering.py",
        "tests/property/test_ledger_laws.py",
    )
    yield from tests_pass(
        "a run killed at any step costs once and shows one measurement", "tests/unit/test_lifecycle.py"
    )


def races() -> Iterator[Result]:
    """Many processes on one budget."""
    yield from tests_pass(
        "20 jobs at once on a budget for 7: exactly 7 succeed, 13 exit 4, nothing overspent (both databases)",
        "tests/unit/test_ledger_races.py::test_of_twenty_jobs_at_once_exactly_those_succeed_that_the_budget_pays_for",
    )
    yield from tests_pass(
        "all other races: leases, kills, one key from many processes", "tests/unit/test_ledger_races.py"
    )
    yield from tests_pass(
        "3 real `dplib run` at once, a Spark each, on a budget for 1: one succeeds, two exit 4 (both databases)",
        "tests/jobs/test_ledger_server.py::test_real_jobs_at_once_spend_no_more_than_there_is",
    )


def server() -> Iterator[Result]:
    """What only a server has."""
    page = "tests/unit/test_ledger_postgres.py"
    for claim, test in (
        (
            "wrong password, user, database, port, no tables: one sentence without the password, exit 2 (1 if away)",
            "test_what_the_address_has_wrong_is_one_sentence_without_the_password",
        ),
        (
            "TLS and other parameters of the address reach the driver",
            "test_tls_settings_of_the_address_reach_the_driver",
        ),
        (
            "${NAME} in the address is the environment's, needs no escapes, is never shown",
            "test_a_password_comes_from_the_environment_as_it_is_and_is_never_shown",
        ),
        (
            "the guide's roles: jobs run but neither approve nor create accounts; nobody changes or deletes an entry",
            "test_the_roles_of_the_guide_can_do_their_part_and_no_more",
        ),
        (
            "a role without rights cannot create the tables and is told so",
            "test_a_role_without_rights_cannot_make_the_tables_and_is_told_so",
        ),
        (
            "server killed (SIGKILL) between reserve and record: nothing lost, the retry completes",
            "test_a_server_killed_between_reserve_and_record_loses_nothing_and_the_retry_completes",
        ),
        (
            "server killed while a run measures: exit 1, nobody saw anything, the retry completes",
            "test_a_run_whose_server_dies_while_it_measures_is_completed_by_its_retry",
        ),
        (
            "server killed inside a transaction: nothing of it is written",
            "test_a_server_killed_inside_a_transaction_has_written_nothing_of_it",
        ),
        (
            "commits are durable even with synchronous_commit=off; a silent lock holder loses it after 60 s",
            "test_a_writer_commits_durably_even_where_the_server_would_not_and_gives_the_lock_up_after_a_silence",
        ),
        ("a busy ledger is exit 1, one sentence", "test_a_busy_ledger_is_one_sentence_and_worth_a_retry"),
        ("no password in any ledger command's output", "test_no_password_in_what_a_command_prints"),
    ):
        yield from tests_pass(claim, f"{page}::{test}")
    yield from tests_pass(
        "a whole run on a server: its password is in no output, release, key, configuration or ledger file",
        "tests/jobs/test_ledger_server.py::test_a_whole_run_on_a_server_leaves_its_password_nowhere",
    )


def moves() -> Iterator[Result]:
    """Migration in both directions, its refusals and crashes."""
    yield from tests_pass(
        "moves SQLite <-> PostgreSQL: entries as they are, source closed, refusals, a crash at each step completed",
        "tests/unit/test_ledger_migration.py",
    )
    yield from tests_pass(
        "an old configuration exits 2 and is told the new place; releases from before are found there",
        "tests/jobs/test_team_ledger.py::test_a_moved_ledger_is_named_to_old_configurations_and_its_releases_are_found",
    )


def audits() -> Iterator[Result]:
    """From the database, from an export, against releases."""
    yield from tests_pass(
        "tampering at every kind of entry is found, in an export too; rewritten or older books by a kept tip",
        "tests/unit/test_ledger_audit.py",
    )
    yield from tests_pass(
        "an older backup is noticed by run (exit 2), audit --releases and verify",
        "tests/jobs/test_team_ledger.py::test_an_older_backup_is_noticed_by_run_audit_and_verify",
    )
    yield from tests_pass(
        "show has filters and fits 80 columns; export and audit --from work without the database",
        "tests/jobs/test_team_ledger.py::test_show_filters_exports_and_audits_from_a_file",
    )
    yield from tests_pass(
        "a clock that runs an hour (a year) wrong steals no live lease, waits for no dead one, overspends nothing",
        "tests/unit/test_ledger_races.py::"
        "test_a_job_with_a_wrong_clock_takes_no_live_lease_waits_for_no_dead_one_and_overspends_nothing",
        "tests/unit/test_ledger_postgres.py::test_leases_go_by_the_servers_clock",
    )


def renewal() -> Iterator[Result]:
    """Budgets by the period."""
    yield from tests_pass(
        "budgets renew by period only: one period a run, one clock an account, period in the unit, audit replays it",
        "tests/unit/test_ledger_periods.py",
    )
    yield from tests_pass(
        "plan, run, manifest, report and show name the unit with its period, and its balance; refusals exit 2 or 4",
        "tests/jobs/test_team_ledger.py::test_a_budget_renews_by_the_month_of_the_rows_and_everything_says_so",
        "tests/jobs/test_team_ledger.py::test_a_job_without_declared_days_cannot_draw_on_an_account_that_renews",
    )
    yield from tests_pass(
        "rows of other periods, of the same customers too, change no byte of a release",
        "tests/jobs/test_team_ledger.py::"
        "test_rows_of_other_periods_change_nothing_of_a_period_even_of_the_same_customers",
    )


def approvals() -> Iterator[Result]:
    """Plans that are signed off."""
    yield from tests_pass(
        "approvals: checked in the reservation's transaction, used once, revoked, given back; hashes tell plans apart",
        "tests/unit/test_ledger_approvals.py",
    )
    yield from tests_pass(
        "a run without approval exits 4 before Spark starts and names the command; one approval covers a schedule",
        "tests/jobs/test_team_ledger.py::test_a_run_waits_for_the_approval_of_its_plan_and_a_schedule_needs_one",
    )


def year_of_runs() -> Iterator[Result]:
    """Seconds of processor time of a reservation, an audit and a move after many runs; the export's size."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/ledger.db"
        ledger = Ledger.open(url, create=True)
        ledger.create_account("shop", TERMS, Fraction(RUNS + 1))
        seconds = []
        for number in range(RUNS):
            started = time.process_time()
            run = ledger.reserve(RunKey("shop", "job", str(number), "h"), TERMS, Fraction(1), "")
            seconds.append(time.process_time() - started)
            ledger.record_measurement(run, measurement())
        last = statistics.median(seconds[-20:])
        yield at_most(f"processor time of a reservation after {RUNS} runs", last, 0.1, " s")
        book, tip = ledger.entries()
        path = Path(folder) / "book.jsonl"
        path.write_text("\n".join(export_lines(book, tip)), encoding="utf-8")
        started = time.process_time()
        findings = audit_entries(*read_export(path))
        yield Result(f"offline audit of {len(book)} entries", "no finding", f"{len(findings)} findings", not findings)
        yield at_most("processor time of that audit", time.process_time() - started, 1.0, " s")
        yield from _moved(url, book, tip)


def _moved(url: str, book: list[Entry], tip: tuple[int, str]) -> Iterator[Result]:
    claim = f"{len(book)} entries moved to a server as they are, audited against the tip from before"
    try:
        server = Postgres.start()
    except NoServer as reason:
        yield Result(claim, "equal, no finding", str(reason), None)
        return
    try:
        place = server.new_place()
        migrate(url, place.url)
        moved = Ledger.open(place.url)
        same, findings = moved.entries()[0] == book, moved.audit([tip])
        measured = f"{'equal' if same else 'others'}, {len(findings)} findings"
        yield Result(claim, "equal, no finding", measured, same and not findings)
    finally:
        server.do("stop")


CHECKS: list[Check] = [both_databases, races, server, moves, audits, renewal, approvals, year_of_runs]
