"""A ledger's accounts: made once, their balances, and what must be approved before it may be measured."""

from dataclasses import asdict
from fractions import Fraction

from dplib.ledger.approvals import Approval, check_plan
from dplib.ledger.book import Book
from dplib.ledger.periods import Renewal, check_unit
from dplib.ledger.replay import LedgerState
from dplib.ledger.repricing import COST_FORMAT
from dplib.ledger.runs import Account, Balance, Terms, safe_name
from dplib.privacy.budget import Currency
from dplib.validate import at_least, between, positive, require


class Accounts(Book):
    """The part of a ledger that the owner of a dataset and its privacy officer use."""

    def create_account(
        self,
        dataset: str,
        terms: Terms,
        budget: Fraction,
        delta: Fraction | None = None,
        reason: str = "",
        renewal: Renewal | None = None,
    ) -> Account:
        """Create the account of a dataset, whose terms and budget are fixed for ever.

        Args:
            dataset: name of the account.
            terms: currency (pure, zcdp or approx), privacy unit, neighbour relation.
            budget: total epsilon (pure, approx) or rho (zcdp); of each period where it renews.
            delta: where rho is converted to epsilon (zcdp), or the total delta (approx); not of pure accounts.
            reason: why, for the record.
            renewal: when the budget is new again; the unit's name then says so (`Renewal.unit_of`).

        Raises:
            ConfigError: if the account exists or a setting is wrong.
        """
        safe_name("dataset", dataset)
        positive("budget", budget)
        if terms.currency is Currency.PURE:
            require(delta is None, "delta", "not be set for a pure account", delta)
        else:
            require(delta is not None, "delta", f"be set for a {terms.currency.value} account", delta)
            between("delta", delta or Fraction(0), Fraction(0), Fraction(1))
        check_unit(terms.unit, terms.neighbors, renewal)
        body = {**asdict(terms), "budget": budget, "delta": delta, "cost_format": COST_FORMAT}
        if renewal is not None:
            body["renewal"] = asdict(renewal)
        with self.writing(dataset) as writer:
            require(dataset not in writer.state.accounts, "dataset", "be new to the ledger", dataset)
            writer.append("account", None, body, reason)
            return writer.state.accounts[dataset]

    def account(self, dataset: str) -> Account:
        """The account of a dataset; ConfigError if there is none."""
        return known_account(self.state(dataset), dataset)

    def accounts(self) -> list[Account]:
        """All accounts by name."""
        return sorted(self.state().accounts.values(), key=lambda account: account.dataset)

    def balance(self, dataset: str, at: int | None = None, period: str = "") -> Balance:
        """Exact balance of an account, or of a period of one that renews, now or just after the ledger entry ``at``.

        Raises:
            ConfigError: if there is no such account, or it renews and no period is named.
        """
        state = self.state(dataset, at)
        renews = known_account(state, dataset).renewal is not None
        require(renews == bool(period), "period", "be named where the account renews, and only there", period or "none")
        return state.balance(dataset, period)

    def require_approval(self, dataset: str, needed: bool, reason: str) -> Account:
        """From now on a reservation of this account needs an approved plan, or does not."""
        with self.writing(dataset) as writer:
            if known_account(writer.state, dataset).needs_approval != needed:
                writer.append("require", None, {"approval": needed}, reason)
            return writer.state.accounts[dataset]

    def approve(self, dataset: str, plan: str, by: str, reason: str, runs: int = 1) -> Approval:
        """Sign off a plan for this many more runs.

        Args:
            dataset: name of the account.
            plan: the hash that ``dplib plan`` shows.
            by: who signs.
            reason: why, for the record.
            runs: how many reservations, beside those that are left from earlier approvals.

        Raises:
            ConfigError: if there is no such account or a setting is wrong.
        """
        check_plan(plan)
        at_least("--runs", runs, 1)
        require(bool(by.strip()), "--by", "name who approves", repr(by))
        with self.writing(dataset) as writer:
            known_account(writer.state, dataset)
            writer.append("approve", None, {"plan": plan, "by": by, "runs": runs}, reason)
            return writer.state.approvals[dataset][plan]

    def revoke(self, dataset: str, plan: str, by: str, reason: str) -> Approval:
        """Take an approval back: nothing of the plan is reserved or measured any more.

        Raises:
            ConfigError: if no approval of the plan stands.
        """
        with self.writing(dataset) as writer:
            known_account(writer.state, dataset)
            standing = writer.state.approvals[dataset].get(plan)
            stands = standing is not None and not standing.revoked
            require(stands, "plan", f"have an approval of {dataset} that stands", plan)
            writer.append("revoke", None, {"plan": plan, "by": by}, reason)
            return writer.state.approvals[dataset][plan]

    def approvals(self, dataset: str) -> list[Approval]:
        """All approvals of an account, in the order of their plans' first."""
        state = self.state(dataset)
        known_account(state, dataset)
        return list(state.approvals[dataset].values())


def known_account(state: LedgerState, dataset: str) -> Account:
    """The account of a dataset; ConfigError if there is none."""
    require(dataset in state.accounts, "dataset", "be an account of the ledger (dplib init creates one)", dataset)
    return state.accounts[dataset]
