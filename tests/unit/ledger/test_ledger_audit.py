"""Audits from outside: an export, a tip kept elsewhere, releases that the book does not know."""

import datetime as dt
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dplib.config.day_window import DayClock, DayWindow
from dplib.errors import ConfigError
from dplib.ledger.audit import audit_entries, export_lines, known_tips, read_export
from dplib.ledger.chain import GENESIS, Entry, seal
from dplib.ledger.ledger import Ledger
from dplib.ledger.migration import migrate
from dplib.ledger.periods import Period, Renewal
from dplib.ledger.runs import Publication, Run, RunKey, StoredMeasurement, Terms
from dplib.ledger.summary import summarise
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.release.files import MANIFEST
from dplib.release.staging import MEASUREMENT, Staging
from dplib.release.verify import output_folders, unknown_releases
from dplib.workflow.run_keys import MeasurementKeys
from dplib.workflow.storing import publish_run
from tests.support.ledgers import KEY, TERMS, key_number, measurement, open_with, reserve_and_measure, tamper, url_of

PLAN = "a" * 64
CLOCK = DayClock("day", "yyyy-MM-dd", "UTC")
JANUARY = DayWindow(dt.date(2024, 1, 1), dt.date(2024, 1, 31), CLOCK)
MONTHLY_TERMS = Terms(Currency.PURE, "customer-month", Neighbors.ADD_REMOVE)


def every_kind(folder: Path) -> Ledger:
    """A book with an entry of every kind."""
    ledger = open_with(folder)
    ledger.create_account("shop", MONTHLY_TERMS, Fraction(1), renewal=Renewal(Period.MONTH, CLOCK))
    ledger.require_approval("takeaway", True, "board")
    ledger.approve("takeaway", PLAN, "officer", "read it", runs=3)
    done = ledger.record_measurement(ledger.reserve(KEY, TERMS, Fraction(1, 4), "", plan=PLAN), measurement())
    ledger.record_published(done, Publication(f"{folder}/releases/{done.release_id}", "p" * 64, "m" * 64))
    ledger.void(ledger.reserve(key_number(2), TERMS, Fraction(1, 4), "", plan=PLAN), "typo")
    ledger.reserve(RunKey("shop", "job", "", "h"), MONTHLY_TERMS, Fraction(1), "", window=JANUARY)
    with ledger.holding(ledger.runs("shop")[0]):
        pass
    ledger.revoke("takeaway", PLAN, "officer", "done")
    return ledger


@pytest.fixture(scope="module")
def closed_book(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Entry], tuple[int, str]]:
    """The entries of a book of every kind that was moved, and its tip; nobody changes them."""
    folder = tmp_path_factory.mktemp("book")
    every_kind(folder)
    migrate(url_of(folder), f"sqlite:///{folder}/new.db")
    book, tip = Ledger.open(url_of(folder), even_closed=True).entries()
    kinds = ("account", "reserve", "measure", "publish", "void", "require", "approve", "revoke", "close", "moved")
    assert {entry.kind for entry in book} == set(kinds)
    return book, tip


def write_export(path: Path, book: list[Entry], tip: tuple[int, str]) -> Path:
    path.write_text("\n".join(export_lines(book, tip)) + "\n", encoding="utf-8")
    return path


def test_an_export_is_audited_without_the_database(
    closed_book: tuple[list[Entry], tuple[int, str]], tmp_path: Path
) -> None:
    book, tip = closed_book
    assert read_export(write_export(tmp_path / "book.jsonl", book, tip)) == closed_book
    assert audit_entries(*read_export(tmp_path / "book.jsonl")) == []


def test_the_digest_is_what_the_guide_says(closed_book: tuple[list[Entry], tuple[int, str]], tmp_path: Path) -> None:
    """Another program can check the chain from the export and the guide's sentence alone."""
    lines = write_export(tmp_path / "book.jsonl", *closed_book).read_text().splitlines()
    before = "0" * 64
    for line in lines[1:]:
        fields = json.loads(line)
        digest = fields.pop("digest")
        text = json.dumps(fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        assert digest == hashlib.sha256(f"dplib ledger entry 1\n{text}".encode()).hexdigest()
        assert fields["previous"] == before
        before = digest
    assert json.loads(lines[0])["digest"] == before


CHANGES: dict[str, Callable[[str], Any]] = {
    "body": lambda old: old[:-2] + ("0" if old[-2] != "0" else "1") + old[-1],
    "who": lambda old: old + "x",
    "at": lambda old: old.replace("20", "19", 1),
    "why": lambda old: old + "x",
    "dataset": lambda old: "other",
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_of_any_entry_of_any_kind_is_found_where_it_is(
    field: str, closed_book: tuple[list[Entry], tuple[int, str]]
) -> None:
    book, tip = closed_book
    for place, entry in enumerate(book):
        changed = replace(entry, **{field: CHANGES[field](getattr(entry, field))})
        findings = audit_entries([*book[:place], changed, *book[place + 1 :]], tip)
        assert any(finding.sequence == entry.sequence and "was changed" in finding.problem for finding in findings)


def test_an_entry_of_any_kind_that_is_missing_repeated_or_moved_is_found(
    closed_book: tuple[list[Entry], tuple[int, str]],
) -> None:
    book, tip = closed_book
    for place in range(len(book)):
        assert audit_entries([*book[:place], *book[place + 1 :]], tip) != []
        assert audit_entries([*book[: place + 1], *book[place:]], tip) != []
        if place:
            swapped = [*book[: place - 1], book[place], book[place - 1], *book[place + 1 :]]
            assert audit_entries(swapped, tip) != []


def rewritten(book: list[Entry], place: int, **changes: object) -> tuple[list[Entry], tuple[int, str]]:
    """The whole chain anew with one entry changed, as by someone who knows how it is made."""
    made: list[Entry] = []
    for number, entry in enumerate(book):
        fields = {name: value for name, value in vars(entry).items() if name != "digest"}
        fields |= changes if number == place else {}
        fields["previous"] = made[-1].digest if made else GENESIS
        made.append(seal(**fields))
    return made, (made[-1].sequence, made[-1].digest)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("account", '"budget":"1"', '"budget":"1/8"'),
        ("account", '"unit":"customer-month"', '"unit":"customer"'),
        ("reserve", '"cost":"1/4"', '"cost":"2"'),
        ("reserve", '"cost":"1/4"', '"cost":"-1/4"'),
        ("reserve", '"last":"2024-01-31"', '"last":"2024-02-01"'),
        ("reserve", '"days":', '"dates":'),
        ("reserve", '"timezone":"UTC"', '"timezone":"Asia/Tokyo"'),
        ("reserve", f'"plan":"{PLAN}"', f'"plan":"{"b" * 64}"'),
        ("approve", '"runs":3', '"runs":1'),
        ("approve", '"runs":3', '"runs":0'),
        ("revoke", PLAN, "b" * 64),
        ("measure", '"staged"', '"stage"'),
        ("publish", '"publish_hash"', '"hash"'),
        ("moved", "new.db", "elsewhere.db"),
    ],
)
def test_a_chain_rewritten_whole_still_has_to_keep_the_rules(
    kind: str, old: str, new: str, closed_book: tuple[list[Entry], tuple[int, str]]
) -> None:
    book, _ = closed_book
    place = next(n for n, entry in enumerate(book) if entry.kind == kind and old in entry.body)
    findings = audit_entries(*rewritten(book, place, body=book[place].body.replace(old, new)))
    assert findings
    assert all("breaks a rule" in finding.problem for finding in findings)


def test_a_book_that_is_sound_but_another_is_found_by_any_tip_kept_elsewhere(
    closed_book: tuple[list[Entry], tuple[int, str]], tmp_path: Path
) -> None:
    book, tip = closed_book
    earlier = write_export(tmp_path / "earlier.jsonl", book[:5], (5, book[4].digest))
    assert known_tips([f"{tip[0]}:{tip[1]}", str(earlier)])[:2] == [tip, (1, book[0].digest)]
    assert audit_entries(book, tip, known_tips([f"{tip[0]}:{tip[1]}", str(earlier)])) == []
    other, its_tip = rewritten(book, 3, why="another reason")
    assert audit_entries(other, its_tip) == []
    found = audit_entries(other, its_tip, known_tips([str(earlier)]))
    assert {finding.sequence for finding in found} == {4, 5}
    # An older backup is sound by itself as well.
    assert audit_entries(book[:6], (6, book[5].digest)) == []
    assert [finding.sequence for finding in audit_entries(book[:6], (6, book[5].digest), [tip])] == [tip[0]]


@pytest.mark.parametrize(
    "text",
    ["", "nothing", '{"format": "another"}', '{"format": "dplib ledger export 1"}', "[]"],
)
def test_what_is_no_export_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "book.jsonl").write_text(text)
    with pytest.raises(ConfigError, match="an export must be a file that dplib ledger export wrote"):
        read_export(tmp_path / "book.jsonl")
    with pytest.raises(ConfigError, match="an export must"):
        known_tips(["no-such-file"])


def test_exports_with_fields_of_other_types_are_refused(
    closed_book: tuple[list[Entry], tuple[int, str]], tmp_path: Path
) -> None:
    path = write_export(tmp_path / "book.jsonl", *closed_book)
    good = path.read_text()
    for old, new in (('"sequence": 2', '"sequence": "2"'), ('"why": ""', '"why": null'), ('"who"', '"whom"')):
        path.write_text(good.replace(old, new))
        assert path.read_text() != good
        with pytest.raises(ConfigError, match="an export must"):
            read_export(path)


# ---- older backups ---------------------------------------------------------------------------------------------------


def stored(folder: Path, ledger: Ledger, number: int, last: str) -> Run:
    """A run that went as far as ``last``: staged, measured (in place, without a release), or published."""

    def measure(run: Run, staging: Path) -> MeasurementKeys:
        (staging / MEASUREMENT).mkdir()
        (staging / MEASUREMENT / "top.parquet").write_text("noisy")
        if last == "staged":
            raise KeyboardInterrupt
        return MeasurementKeys("key-1", b"key", b"digest")

    def publish(run: Run, staging: Path) -> None:
        fields = {"release_id": run.release_id, "dataset": run.key.dataset, "reservation": run.nonce}
        (staging / MANIFEST).write_text(json.dumps(fields))

    with pytest.MonkeyPatch.context() as crash:
        crash.setattr(Staging, "discard", lambda self: None)
        with suppress(KeyboardInterrupt):
            run = reserve_and_measure(ledger, folder, measure, Fraction(1, 8), key_number(number))
            if last == "published":
                publish_run(ledger, run, folder, "p" * 64, publish)
    return ledger.runs("takeaway")[-1]


@pytest.mark.parametrize(
    ("last", "written_since"),
    [
        *((last, "nothing") for last in ("staged", "measured", "published")),
        *((last, "the same run") for last in ("staged", "published")),
        ("measured", "unrelated"),
        ("published", "a run of another account"),
    ],
)
def test_an_older_book_that_went_on_is_noticed_by_run_and_audit(tmp_path: Path, last: str, written_since: str) -> None:
    ledger, releases = open_with(tmp_path), tmp_path / "releases"
    stored(releases, ledger, 1, "published")
    backup = (tmp_path / "ledger.db").read_bytes()
    forgotten = stored(releases, ledger, 2, last)
    assert unknown_releases(releases, ledger.entries()[0]) == []
    (tmp_path / "ledger.db").write_bytes(backup)
    restored = Ledger.open(url_of(tmp_path))
    if written_since == "unrelated":
        for _ in range(2):  # more entries than were forgotten
            restored.require_approval("takeaway", True, "")
            restored.require_approval("takeaway", False, "")
    elif written_since == "the same run":
        assert restored.reserve(key_number(2), TERMS, Fraction(1, 8), "").release_id == forgotten.release_id
    elif written_since == "a run of another account":
        restored.create_account("other", TERMS, Fraction(1))
        restored.reserve(RunKey("other", "job", "", "h"), TERMS, Fraction(1, 8), "")
    before = restored.entries()

    def measure(_run: Run, _staging: Path) -> MeasurementKeys:
        raise AssertionError("nothing may be measured")

    # Also where the next release is to go elsewhere: the book names the folder where it stored before.
    for number, output in ((2, releases), (3, releases), (3, tmp_path / "elsewhere")):
        with pytest.raises(ConfigError, match="ledger must be as new as the releases of takeaway") as caught:
            reserve_and_measure(restored, output, measure, Fraction(1, 8), key_number(number))
        assert caught.value.exit_code == 2
    assert restored.entries() == before
    assert restored.audit() == []  # sound in itself
    for own_accounts in (False, True):
        (found,) = unknown_releases(releases, before[0], own_accounts)
        assert forgotten.release_id in found
    assert output_folders(before[0]) == [releases]


def test_a_changed_release_is_listed_and_no_folder_refused(tmp_path: Path) -> None:
    ledger, releases = open_with(tmp_path), tmp_path / "releases"
    known = stored(releases, ledger, 1, "published")
    (releases / known.release_id / MANIFEST).write_text("changed")
    assert unknown_releases(releases, ledger.entries()[0])[0].endswith("not one that the ledger recorded")
    with pytest.raises(ConfigError, match="--releases must be a folder"):
        unknown_releases(tmp_path / "nowhere", [])


def test_a_book_put_back_between_reservation_and_record_is_noticed(tmp_path: Path) -> None:
    """The reservation is known, its measurement is not: it would be measured a second time on one payment."""
    ledger, releases = open_with(tmp_path), tmp_path / "releases"
    backup: list[bytes] = []
    original = Ledger.record_measurement

    def copied_before(self: Ledger, run: Run, mine: StoredMeasurement) -> Run:
        backup.append((tmp_path / "ledger.db").read_bytes())
        return original(self, run, mine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "record_measurement", copied_before)
        run = stored(releases, ledger, 1, "measured")
    (tmp_path / "ledger.db").write_bytes(backup[0])
    restored = Ledger.open(url_of(tmp_path))
    with pytest.raises(ConfigError, match=f"beside {run.release_id}, which is measured, which the ledger does not"):
        stored(releases, restored, 1, "measured")


# ---- what is shown ---------------------------------------------------------------------------------------------------


def test_a_summary_has_filters_and_no_private_part(tmp_path: Path) -> None:
    ledger = every_kind(tmp_path)
    found = summarise(ledger)
    assert [each.account.dataset for each in found.accounts] == ["shop", "takeaway"]
    assert found.tip == ledger.tip
    assert "PRIVATE" not in json.dumps(found.to_dict())
    shop, takeaway = found.to_dict()["accounts"]
    assert shop["balances"] == {"2024-01": {"total": "1", "spent": "0", "reserved": "1", "left": "0"}}
    assert (shop["renews_by"], takeaway["needs_approval"]) == ("month", True)
    assert [run["state"] for run in takeaway["runs"]] == ["published", "voided"]
    assert takeaway["approvals"] == [{"plan": PLAN, "by": "officer", "left": 0, "used": 1, "revoked": True}]
    (only,) = summarise(ledger, "shop").accounts
    assert only.account.dataset == "shop"
    today = dt.datetime.now(dt.UTC).date()
    tomorrow = today + dt.timedelta(days=1)
    assert len(summarise(ledger, "takeaway", today).accounts[0].runs) == 2
    assert summarise(ledger, "takeaway", tomorrow).accounts[0].runs == []
    with pytest.raises(ConfigError, match="--dataset must be an account"):
        summarise(ledger, "nobody")
    tamper(tmp_path, "UPDATE entries SET why = 'x' WHERE sequence = 3")
    with pytest.raises(Exception, match="ledger entry 3 must be as it was written"):
        summarise(ledger)
