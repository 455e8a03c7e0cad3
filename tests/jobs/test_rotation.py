"""A secret that is rotated while runs are under way: which key a run uses, and what needs an old key."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dplib.jobs.consistent_histograms import measure, run
from dplib.secret.secret import Secret
from tests.support.jobs import SECRET, Shop, content, dplib, new_shop

pytestmark = pytest.mark.usefixtures("rows_in_python")
OLD = Secret(SECRET).key_id


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return new_shop(tmp_path / "shop")


def secret(shop: Shop, *words: str) -> str:
    """``dplib secret`` on the shop's file; its output, which must hold no key."""
    found = dplib("secret", *words, "--config", str(shop.config))
    assert found.code == 0, found.err
    for line in (shop.folder / "shop.key").read_text().split():
        assert line not in found.out + found.err
    return found.out


def ids(shop: Shop) -> list[str]:
    """The ids of the keys that ``dplib secret show`` lists, the current one first."""
    return [line.split()[0] for line in secret(shop, "show").splitlines() if " current" in line or " old" in line]


def key_of(release: Path) -> str:
    return str(json.loads((release / "manifest.json").read_text())["key_id"])


def failing(*_: Any, **__: Any) -> None:
    raise RuntimeError("planted")


def reserve(shop: Shop, monkeypatch: pytest.MonkeyPatch, owner: Any = run, name: str = "count_cells") -> None:
    """A run that dies after its reservation."""
    broken: Callable[..., Any] = failing
    with monkeypatch.context() as patched:
        patched.setattr("dplib.workflow.run.require_publishable", lambda *_: True)
        patched.setattr(owner, name, broken)
        assert shop.run().code == 1
    assert shop.entries() == ["account", "reserve"]


def test_a_retry_uses_the_key_of_its_reservation_and_new_runs_the_new_one(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = content(new_shop(tmp_path / "other").run().release)
    reserve(shop, monkeypatch, measure, "write_top")
    secret(shop, "rotate")
    new, old = ids(shop)
    assert old == OLD != new
    release = shop.run().release
    assert content(release) == undisturbed
    assert key_of(release) == OLD
    assert key_of(shop.run("--again").release) == new
    assert key_of(shop.run("--date", "2024-01-14").release) == new
    assert shop.run("--date", "2024-01-14").release != release
    assert shop.spent() == 3


def test_what_is_measured_needs_no_key(shop: Shop) -> None:
    shop.run("--stage", "measure")
    (shop.folder / "shop.key").unlink()
    published = shop.run().release
    assert key_of(published) == OLD
    assert key_of(shop.set(queries=["total"]).run().release) == OLD
    assert shop.spent() == 1


def test_a_reservation_whose_key_is_gone_is_refused_until_it_is_given_back(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve(shop, monkeypatch)
    secret(shop, "rotate")
    new = ids(shop)[0]
    reserved = shop.ledger.runs("shop")[0].release_id
    kept = dplib("secret", "drop", OLD, "--config", str(shop.config))
    assert kept.code == 2
    assert "needed by no open reservation" in kept.err
    assert f"{OLD}  old                      1" in secret(shop, "show")
    # Someone drops it by hand all the same.
    key = shop.folder / "shop.key"
    key.write_text(key.read_text().split()[0])
    before = content(shop.folder)
    with monkeypatch.context() as patched:
        patched.setattr("dplib.spark.engine.session.open_session", failing)
        refused = shop.run()
    assert refused.code == 2
    assert refused.err == (
        f"dplib: secret must hold the key {OLD}, which {reserved} was reserved under, got {new}: put it back, or give "
        f"the reservation up (dplib ledger void {reserved})\n"
    )
    assert content(shop.folder) == before
    address = f"sqlite:///{shop.folder}/ledger.db"
    assert dplib("ledger", "void", reserved, "--reason", "key is gone", "--ledger", address).code == 0
    release = shop.run().release
    assert key_of(release) == new
    # What is measured is not given back any more.
    refused = dplib("ledger", "void", release.name, "--reason", "regret", "--ledger", address)
    assert (refused.code, "must be a reservation without a measurement" in refused.err) == (2, True)
    assert shop.spent() == 1


def test_an_old_key_that_nobody_needs_is_dropped(shop: Shop) -> None:
    first = shop.run().release
    secret(shop, "rotate")
    secret(shop, "drop", OLD)
    assert OLD not in ids(shop)
    assert shop.run().release == first
    assert dplib("verify", str(first), "--ledger", f"sqlite:///{shop.folder}/ledger.db").code == 0
    assert OLD in dplib("secret", "drop", OLD, "--config", str(shop.config)).err


def test_rotation_of_a_secret_that_is_no_file_is_the_operators(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    new = os.urandom(32)
    monkeypatch.setenv("SHOP_SECRET", f"{new.hex()} {SECRET.hex()}")
    shop.set(secret="env:SHOP_SECRET")
    assert ids(shop) == [Secret(new).key_id, OLD]
    refused = dplib("secret", "rotate", "--config", str(shop.config))
    assert refused.code == 2
    assert refused.err.startswith("dplib: secret must be a file: to be changed here")
    assert key_of(shop.run().release) == Secret(new).key_id
