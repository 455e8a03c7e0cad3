"""Acceptance of operations: secrets and their rotation, recovery and damage, what runs say and leave, the doctor."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dplib.guide import read_page
from dplib.secret.file import create_secret_file, rotate_secret_file
from dplib.secret.secret import load_secret
from scripts.accept.claims import Check, Result, tests_pass

ROOT = Path(__file__).resolve().parents[2]
SECRET, ROTATION = "tests/unit/test_secret.py::test_", "tests/jobs/test_rotation.py::test_"
FAULTS, DISK = "tests/jobs/test_fault_points.py::test_", "tests/jobs/test_full_disk.py::test_"
DAMAGE, LEAKS = "tests/jobs/test_damaged_releases.py::test_", "tests/jobs/test_leaks.py::test_"
DOCTOR = "tests/jobs/test_doctor.py"
TEACHES = {
    "secrets": ("secret rotate", "secret drop", "dplib ledger void", "0600"),
    "recovery": ("Run the same command again", "dplib verify", "disk full", ".staging-"),
    "threat-model": (
        "reader of releases",
        "reader of logs",
        "neighbour",
        "operator",
        "ledger",
        "client",
        "side channels",
    ),
    "known-vulnerabilities": ("Mironov", "Haney", "Casacuberta", "Haeberlen", "Jin", "PipelineDP", "ANSI", "Our own"),
}
"""What each page must speak of."""


def secrets() -> Iterator[Result]:
    """Places, checks, and what refusals show."""
    yield from tests_pass(
        "the secret comes from a file, a variable or a command", f"{SECRET}three_places_give_one_secret"
    )
    yield from tests_pass(
        "a file is closed to others, its user's or root's, in folders nobody else can write; links followed; no pipe",
        f"{SECRET}files_open_to_others_are_refused",
        f"{SECRET}closed_files_are_read",
        f"{SECRET}a_file_of_another_user_is_refused",
        f"{SECRET}folders_in_which_everybody_could_replace_the_file_are_refused",
        f"{SECRET}a_pipe_is_refused_without_waiting",
    )
    yield from tests_pass(
        "wrong length, encoding, place: one sentence, not even in local variables the content",
        f"{SECRET}texts_that_are_no_secret_are_refused_and_never_shown",
        f"{SECRET}places_that_cannot_be_read_are_refused",
        f"{SECRET}errors_below_a_key_show_none_of_it",
        f"{SECRET}weak_keys_are_refused",
    )
    yield from tests_pass(
        "a command that fails, hangs, prints nothing or without end: one sentence, no output, no child left",
        f"{SECRET}a_failing_or_slow_command_shows_none_of_its_output",
        f"{SECRET}what_a_slow_command_started_ends_with_it",
        f"{SECRET}a_command_runs_without_a_shell",
    )
    yield from tests_pass(
        "a variable is not inherited by Java and workers",
        f"{SECRET}a_variable_is_not_inherited_by_children_and_can_be_read_again",
    )


def rotation() -> Iterator[Result]:
    """Rings of keys, and which key a run uses."""
    yield from tests_pass(
        "rotation: new key first, old ones stay readable, dropped by id, written in one step",
        f"{SECRET}the_first_key_is_the_current_one_and_the_others_are_found",
        f"{SECRET}rotation_puts_a_new_key_first_and_drops_old_ones_by_name",
        f"{SECRET}a_rotation_that_cannot_be_written_leaves_the_file_and_shows_nothing",
        f"{SECRET}a_file_full_of_keys_is_not_rotated",
    )
    yield from tests_pass(
        "a retry uses its reservation's key, --again and new days the new one, a stored measurement none",
        f"{ROTATION}a_retry_uses_the_key_of_its_reservation_and_new_runs_the_new_one",
        f"{ROTATION}what_is_measured_needs_no_key",
    )
    yield from tests_pass(
        "a reservation whose key is gone: a sentence, exit code 2, before Spark starts; void frees it",
        f"{ROTATION}a_reservation_whose_key_is_gone_is_refused_until_it_is_given_back",
    )
    yield from tests_pass(
        "dplib secret show|rotate|drop show ids only; a needed key is not dropped",
        f"{ROTATION}an_old_key_that_nobody_needs_is_dropped",
        f"{ROTATION}rotation_of_a_secret_that_is_no_file_is_the_operators",
    )
    yield from tests_pass("the ledger refuses a measurement under another key", "tests/unit/test_reserved_keys.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.key"
        create_secret_file(path)
        first = load_secret("file:a.key", path.parent).current
        ring = rotate_secret_file(path)
        kept = ring.find(first.key_id)
        same = kept is not None and kept.derive("x") == first.derive("x") != ring.current.derive("x")
        yield Result("sub-keys of an old key after a rotation", "unchanged", "unchanged" if same else "changed", same)


def leaks() -> Iterator[Result]:
    """What runs of every job say and leave, with Spark's event log turned on."""
    yield from tests_pass(
        "5 jobs killed with the event log on: no key, no value of a row in log, temporary files, staging, ledger, "
        "output; no number of rows in our logs and release",
        f"{LEAKS}nothing_private_is_said_or_left_behind",
    )
    yield from tests_pass("the search finds planted keys and values", f"{LEAKS}the_search_finds_what_it_looks_for")
    yield from tests_pass(
        "event log and user interface are off in all confs and in our sessions",
        f"{LEAKS}no_settings_of_ours_turn_the_event_log_on",
        f"{LEAKS}the_session_has_no_event_log_and_no_page",
    )
    yield from tests_pass(
        "unforeseen errors: class and place, no message; values in rows appear nowhere", "tests/jobs/test_bad_rows.py"
    )


def kills() -> Iterator[Result]:
    """Processes killed at every step of a run's life."""
    after = "same bytes, one ledger entry paid, nothing left"
    yield from tests_pass(f"killed at 9 steps from reserving to storing: {after}", f"{FAULTS}a_kill_while_measuring")
    yield from tests_pass(f"killed at 11 steps of publishing: {after}", f"{FAULTS}a_kill_while_publishing")
    yield from tests_pass(f"every other job killed at 5 main steps: {after}", f"{FAULTS}a_kill_of_every_job")
    yield from tests_pass(
        "killed at 11 steps while a release is replaced: old or new, then the new one",
        f"{FAULTS}a_kill_while_a_release_is_replaced_leaves_the_old_or_the_new_one",
    )
    yield from tests_pass(
        "errors at every step, in one process", "tests/jobs/test_recovery.py", "tests/unit/test_lifecycle.py"
    )
    yield from tests_pass("a swap that crashes at any step", "tests/unit/test_staging.py")


def at_once() -> Iterator[Result]:
    """Two runs of one id, and a dead one's lease."""
    yield from tests_pass(
        "two processes with the same id: one measures, the other is told, same bytes, paid once",
        f"{FAULTS}two_runs_at_once_measure_once",
    )
    yield from tests_pass("a dead run's lease is taken over", f"{FAULTS}the_lease_of_a_dead_run_is_taken_over")


def disks() -> Iterator[Result]:
    """A small file system as output."""
    yield from tests_pass(
        "disk full before reserving, while measuring, while publishing: a sentence, exit code 1, same bytes by a retry",
        f"{DISK}a_disk_that_is_full_at_any_moment",
        f"{DISK}a_full_disk_under_every_job",
    )
    yield from tests_pass(
        "read-only output: exit code 2, nothing spent; a release that is there can be had",
        f"{DISK}a_read_only_output_is_a_setting_to_mend_and_costs_nothing",
    )
    yield from tests_pass(
        "output on another file system than the measurement, and behind a link",
        f"{DISK}an_output_on_another_file_system_than_the_measurement",
    )


def damage() -> Iterator[Result]:
    """Releases of every job, damaged."""
    yield from tests_pass(
        "each file of each job's release cut, emptied, one bit flipped, removed: verify exits 1 and names it",
        f"{DAMAGE}damage_to_any_file_is_found_and_named",
    )
    yield from tests_pass(
        "a file too many (hidden too), another folder, an edited manifest: found and named",
        f"{DAMAGE}a_file_too_many_is_named",
        f"{DAMAGE}another_folder_is_named",
        f"{DAMAGE}a_manifest_that_was_edited_with_its_form_kept_is_found_by_the_ledger",
    )
    yield from tests_pass(
        "running again mends a release for nothing, and refuses a changed measurement",
        f"{DAMAGE}running_again_mends_all_but_the_measurement_for_nothing",
    )
    yield from tests_pass("verify against files and books", "tests/unit/test_verify.py")


def doctor() -> Iterator[Result]:
    """What the doctor sees."""
    yield from tests_pass("dplib doctor: each line well, warned or bad, with how to mend it; exit codes", DOCTOR)
    command = [sys.executable, "-m", "dplib.cli.main", "doctor", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    found = {each["name"]: each["verdict"] for each in json.loads(done.stdout)} if done.stdout else {}
    ill = ", ".join(name for name, verdict in found.items() if verdict == "bad")
    ok = done.returncode == 0 and not ill and len(found) >= 8
    yield Result(
        "dplib doctor --json on this machine", "8 findings, none bad", f"{len(found)}, bad: {ill or 'none'}", ok
    )


def pages() -> Iterator[Result]:
    """The four pages."""
    for page, words in TEACHES.items():
        text = read_page(page).lower()
        missing = [word for word in words if word.lower() not in text]
        yield Result(f"dplib guide {page}", f"speaks of {len(words)} topics", ", ".join(missing) or "all", not missing)
    yield from tests_pass(
        "files and commands that the pages name exist",
        "tests/docs/test_guide.py::test_what_a_page_names_exists",
    )


CHECKS: list[Check] = [secrets, rotation, leaks, kills, at_once, disks, damage, doctor, pages]
"""All of them; a quiet machine needs about half an hour."""
