"""The ledger's account as a page shows it; apart from the page, so that a run that draws nothing loads no drawing."""

from dataclasses import dataclass
from fractions import Fraction

from dplib.privacy.budget import Currency


@dataclass(frozen=True)
class AccountState:
    """The dataset's account around one release: budgets in its currency.

    ``period`` names the one whose budget paid, where the budget is new each period; empty elsewhere.
    """

    currency: Currency
    total: Fraction
    before: Fraction
    this: Fraction
    period: str = ""
