"""The page's section on the ledger's account: what was spent before, by this release, and what is left."""

from dplib.page.account_state import AccountState
from dplib.page.blocks import Figure, KeyValues, Paragraphs, Section
from dplib.page.figures import budget_bar
from dplib.page.number_text import bound_text, exact_text
from dplib.privacy.budget import Currency


def budget_section(dataset: str, account: AccountState) -> Section:
    """The account's budget before and after."""
    after = account.before + account.this
    currency = "rho (zCDP)" if account.currency is Currency.ZCDP else "epsilon"
    caption = f"All in {currency}. Releases of one account add up, whatever their dates."
    if account.period:
        caption = (
            f"All in {currency}. The budget is new each period: releases of rows of {account.period} add up. Anyone "
            "who has rows in several periods is protected in each, and less over all of them together."
        )
    if account.currency is Currency.APPROX:
        caption += " The account has a total delta, too: a release that takes more of that, in proportion, counts as so"
        caption += " much epsilon."
    left = account.total - after
    figure = Figure(
        budget_bar(account.total, account.before, account.this, currency),
        f"Account of {dataset}" + (f" in {account.period}" if account.period else ""),
        caption,
        f"Bar of the account: {bound_text(account.before)} spent before, {bound_text(account.this)} by this release, "
        f"{exact_text(left)} left of {exact_text(account.total)}.",
    )
    values = KeyValues(
        (
            ("Before", f"{bound_text(account.before)} spent"),
            ("This release", bound_text(account.this)),
            ("After", f"{bound_text(after)} spent, {exact_text(left)} left"),
            ("Account", f"{exact_text(account.total)} in {account.period or 'all'}"),
        )
    )
    again = (
        "Making other estimates, tables or charts from this release's measurement costs nothing; measuring again does."
    )
    return Section("Budget before and after", (figure, values, Paragraphs((again,))))
