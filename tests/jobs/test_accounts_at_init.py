"""What `dplib init` fixes for ever is said by a person, and an account that exists is never taken for another one."""

from pathlib import Path

import pytest

from tests.support.jobs import Shop, content, dplib, named, new_shop, new_shop_without_ledger


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return new_shop(tmp_path)


def test_no_account_is_made_without_a_budget(tmp_path: Path) -> None:
    shop = new_shop_without_ledger(tmp_path)
    before = content(tmp_path)
    refused = dplib("init", "--config", str(shop.config), "--yes")
    assert (refused.code, named(refused)) == (2, "--budget")
    assert content(tmp_path) == before
    assert dplib("init", "--config", str(shop.config), "--budget", "3", "--yes").code == 0


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--budget", "11"), "budget"),
        (("--unit", "customer"), "unit"),
        (("--neighbors", "replace_one"), "neighbors"),
        (("--currency", "zcdp"), "currency"),
        (("--currency", "zcdp", "--delta", "1e-6", "--budget", "1"), "currency and budget and delta"),
        (("--renew", "monthly"), "unit and renewal"),
    ],
)
def test_a_second_init_with_other_terms_is_refused(words: tuple[str, ...], names: str, shop: Shop) -> None:
    before = content(shop.folder)
    refused = dplib("init", "--config", str(shop.config), *words, "--yes")
    assert (refused.code, named(refused)) == (2, names)
    assert content(shop.folder) == before


def test_a_configuration_of_another_unit_or_price_is_refused_too(shop: Shop) -> None:
    shop.set(privacy__unit="customer")
    assert named(dplib("init", "--config", str(shop.config), "--yes")) == "unit"
    shop.set(privacy__unit="order", privacy__budget={"rho": 1})
    assert named(dplib("init", "--config", str(shop.config), "--yes")) == "privacy.noise"


@pytest.mark.parametrize("words", [(), ("--budget", "10.0"), ("--unit", "order", "--currency", "pure")])
def test_a_second_init_with_the_same_terms_changes_nothing(words: tuple[str, ...], shop: Shop) -> None:
    before = content(shop.folder)
    assert dplib("init", "--config", str(shop.config), *words, "--yes").code == 0
    assert content(shop.folder) == before


def test_init_takes_the_date_of_a_configuration(tmp_path: Path) -> None:
    shop = new_shop_without_ledger(tmp_path, domain__first_day="{date}", domain__last_day="{date}", tree="(dropped)")
    words = ("init", "--config", str(shop.config), "--budget", "1", "--yes")
    assert named(dplib(*words)) == "domain.first_day"
    assert dplib(*words, "--date", "2024-01-03").code == 0
    assert named(dplib("init", "--dataset", "b", "--budget", "1", "--date", "2024-01-03", "--yes")) == "--date"


@pytest.mark.parametrize("as_json", [True, False])
def test_a_plan_that_the_account_does_not_pay_is_read_and_ends_so(as_json: bool, shop: Shop) -> None:
    words = ("--json",) if as_json else ()
    poor = shop.set(privacy__budget={"epsilon": 11}).command("plan", *words)
    assert poor.code == 4
    assert (
        poor.err
        == "dplib: dataset shop must have epsilon 11 left for this release, got 10 of 10 (0 spent, 0 reserved)\n"
    )
    other = shop.set(privacy={"unit": "customer", "max_rows_per_unit": 1, "budget": {"epsilon": 1}})
    other.set(input__columns__quantity="(dropped)")
    refused = other.command("plan", *words)
    assert refused.code == 2
    assert refused.err.startswith(
        "dplib: privacy.unit must be order as the ledger's account shop fixed it, got customer"
    )
    for found in (poor, refused):
        assert "standard error" in found.out or '"errors"' in found.out
