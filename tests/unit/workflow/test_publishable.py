"""What a process has found publishable is not tried again; whatever a publication depends on makes it another one."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dplib.errors import ConfigError
from dplib.jobs.table import job_named
from dplib.page.account_state import AccountState
from dplib.privacy.budget import Currency
from dplib.workflow import dry_publication
from dplib.workflow.dry_publication import require_publishable, unseen
from tests.support.jobs import JOB, Shop, new_shop

ACCOUNT = AccountState(Currency.PURE, Fraction(10), Fraction(2), Fraction(1))


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The dates that a publication was tried for."""
    found: list[str] = []
    monkeypatch.setattr(dry_publication, "_sound", set())
    monkeypatch.setattr(dry_publication, "try_publication", lambda prepared, *_, **__: found.append(prepared.date))
    return found


def ask(shop: Shop, date: str = "", account: AccountState = ACCOUNT) -> None:
    require_publishable(job_named(JOB).prepare(shop.config, date=date), unseen, account)


def test_the_same_settings_are_tried_once_for_all_dates(tmp_path: Path, tried: list[str]) -> None:
    shop = new_shop(tmp_path)
    for date in ("2024-01-01", "2024-01-02"):
        ask(shop, date)
    ask(shop, "2024-01-03", replace(ACCOUNT, before=Fraction(3)))
    assert tried == ["2024-01-01"]


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "other"},
        {"input__columns": {"day": "date", "item": "ware", "quantity": "quantity", "unit": "order_id"}},
        {"domain__items": ["bread", "milk", "tea", "rye"]},
        {"privacy__budget": {"epsilon": 2}},
        {"publish__output__csv": True},
        {"publish__solver": {"layout": "blocks"}},
    ],
)
def test_other_settings_are_tried_too(changes: dict[str, object], tmp_path: Path, tried: list[str]) -> None:
    shop = new_shop(tmp_path)
    ask(shop, "2024-01-01")
    ask(shop.set(**changes), "2024-01-02")
    ask(shop, "2024-01-03", replace(ACCOUNT, this=Fraction(2)))
    assert tried == ["2024-01-01", "2024-01-02", "2024-01-03"]


def test_what_failed_is_tried_again(tmp_path: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shop = new_shop(tmp_path)

    def refused(*_: object, **__: object) -> None:
        raise ConfigError("the settings", "give a release", "none")

    with monkeypatch.context() as patched:
        patched.setattr(dry_publication, "try_publication", refused)
        with pytest.raises(ConfigError):
            ask(shop)
    ask(shop, "2024-01-02")
    assert tried == ["2024-01-02"]
