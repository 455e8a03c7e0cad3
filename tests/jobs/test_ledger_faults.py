"""Restored, edited and forged ledgers stop run and audit; what is free or secret spends and shows nothing."""

import json
from pathlib import Path

import pytest

from dplib.jobs.consistent_histograms.job import JOB
from tests.support.jobs import content, dplib, new_shop
from tests.support.ledger_faults import (
    OTHER,
    aged,
    attacked,
    audit,
    bypassed,
    copy_of,
    crash_at_record,
    files_with,
    forged,
    forged_beside,
    measurement_of,
    restored,
    two_folders,
    under_former_hash,
)

pytestmark = pytest.mark.usefixtures("rows_in_python")
FREE = {"totals": {"food": ["bread", "milk"]}}
SECRETIVE = {"header": "true", "fs.s3a.secret.key": "hunter2"}


def test_a_restored_backup_is_refused_although_entries_followed(tmp_path: Path) -> None:
    seen = restored(tmp_path, "all")
    assert seen.refused, str(seen)
    assert "ledger must be as new as the releases of shop" in seen.run.err
    assert "not in the ledger, which may be an older backup" in seen.audit.err


def test_forged_reservations_are_refused(tmp_path: Path) -> None:
    for number, seen in enumerate(
        [
            forged(tmp_path / "a", with_settings=True),
            forged(tmp_path / "b", with_settings=False),
            forged_beside(tmp_path / "c"),
            bypassed(tmp_path / "d"),
        ]
    ):
        assert seen.refused, f"{number}: {seen}"
        assert "forged" in seen.run.err + seen.audit.err


def test_runs_of_earlier_versions_are_said_not_to_be_recomputed(tmp_path: Path) -> None:
    shop = aged(new_shop(tmp_path))
    assert under_former_hash(shop).code == 0
    assert shop.run(*OTHER).code == 0
    found = audit(shop)
    assert found.code == 0
    assert "Not recomputed: 1 reservations of earlier versions" in found.out
    # Once the account has reservations with settings it takes none without.
    assert under_former_hash(shop, "--set", "privacy.budget.epsilon=3").code == 0
    seen = attacked(shop, "--set", "privacy.budget.epsilon=1/2")
    assert seen.refused, str(seen)


def test_a_new_password_spends_nothing_and_shows_nowhere(tmp_path: Path) -> None:
    shop = new_shop(tmp_path)
    plain = JOB.prepare(shop.config).key.settings_hash
    shop.set(input__options=SECRETIVE)
    release = shop.run().release
    spent = shop.spent()
    assert json.loads((release / "manifest.json").read_text())["settings_hash"] == plain
    assert shop.set(input__options={"header": "true", "fs.s3a.secret.key": "another"}).run().release == release
    assert shop.spent() == spent
    assert files_with(tmp_path, "hunter2") == []


def test_a_retry_of_a_reservation_of_earlier_versions_repeats_its_noise(tmp_path: Path) -> None:
    shop = aged(new_shop(tmp_path / "shop").set(input__options=SECRETIVE))
    shop.settings["constraints"].append(FREE)
    shop.set()
    undisturbed = copy_of(shop, tmp_path / "undisturbed")
    crash_at_record(lambda: under_former_hash(shop))
    assert shop.entries()[-1] == "reserve"
    assert measurement_of(shop.run().release) == measurement_of(under_former_hash(undisturbed).release)
    assert shop.entries() == ["account", "reserve", "measure", "publish"]


def test_a_free_total_added_later_is_published_from_the_same_measurement(tmp_path: Path) -> None:
    shop = new_shop(tmp_path)
    release = shop.run().release
    noisy, spent = measurement_of(release), shop.spent()
    shop.settings["constraints"].append(FREE)
    assert shop.set().run().release == release
    assert (measurement_of(release), shop.spent()) == (noisy, spent)
    answer = json.loads(shop_query(release, "food"))
    assert [each["item"] for each in answer] == ["food"]
    before = content(release)
    assert shop.run().release == release
    assert content(release) == before
    checked = dplib("verify", str(release), "--ledger", f"sqlite:///{tmp_path}/ledger.db")
    assert checked.code == 0, checked.out


def shop_query(release: Path, item: str) -> str:
    found = dplib("query", str(release), "--item", item, "--json")
    assert found.code == 0, found.err
    return found.out


def test_the_same_words_in_another_folder_are_another_input(tmp_path: Path) -> None:
    first, second = two_folders(tmp_path)
    release = first.run().release
    entries = first.entries()
    refused = second.run()
    assert refused.code == 2
    assert f"input.path must name the input that {release.name} was measured from" in refused.err
    assert second.command("plan").code == 2
    assert first.entries() == entries
    other = second.run("--again").release
    assert other != release
    assert (first.run().release, second.run().release) == (release, other)
    assert measurement_of(other) != measurement_of(release)
