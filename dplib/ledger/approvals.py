"""Approvals of plans: which measurements of an account someone signed off, and how often they may still be made.

A *plan* is what a privacy officer can read before anything is spent: the resolved measurement settings, the cost in the
account's currency, the unit and the neighbours. Its hash names the settings with the logical date left open, as
``{date}``, wherever it stands in the input's path or in the settings: so one approval covers a scheduled job, and each
run of it is one of the measurements that were approved, on some date. (For a given date the text with ``{date}`` and
the settings determine each other, so nothing else has the same hash.)

An account that requires approval refuses a reservation whose plan has none left, in the reservation's own transaction.
Each new reservation uses one; what returns an existing run uses none; a voided reservation gives its own back. Revoking
takes away what is left and bars open reservations of the plan from being measured, until it is approved again.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dplib.canonical import canonical_json
from dplib.errors import BudgetError
from dplib.validate import require

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Approval:
    """What was signed off for one plan.

    Attributes:
        plan: its hash.
        by: who said so last.
        left: how many more reservations may use it.
        used: how many did, voided ones left out.
        revoked: whether it stands revoked.
        revoked_at: ledger entry that revoked it last, 0 where none did.
    """

    plan: str
    by: str = ""
    left: int = 0
    used: int = 0
    revoked: bool = False
    revoked_at: int = 0


def plan_hash(settings: Mapping[str, object], date: str, cost: Fraction, unit: str, neighbors: str) -> str:
    """Return the hash, hex, that an approval names; the settings have their date left open, empty where none is."""
    plan = {"settings": undated(settings, date), "cost": cost, "unit": unit, "neighbors": neighbors}
    return hashlib.sha256(b"dplib plan 1\n" + canonical_json(plan)).hexdigest()


def undated(value: object, date: str) -> object:
    """Settings with their logical date left open."""
    if isinstance(value, str):
        # Braces are doubled, so that a setting that says {date} itself is told apart.
        escaped = value.replace("{", "{{")
        return escaped.replace(date, "{date}") if date else escaped
    if isinstance(value, Mapping):
        return {key: undated(part, date) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [undated(part, date) for part in value]
    return value


def check_plan(plan: str) -> str:
    """Return ``plan`` if it is a plan's hash."""
    require(_HASH.fullmatch(plan) is not None, "plan", "be the hash that dplib plan shows (64 hex digits)", plan)
    return plan


def require_approved(dataset: str, plan: str | None, approval: Approval | None) -> None:
    """Raise `BudgetError` unless one more run of the plan is approved."""
    if approval is None or approval.left < 1:
        got = "none" if approval is None else f"one that is {'revoked' if approval.revoked else 'used up'}"
        raise BudgetError(
            f"dataset {dataset} must have an approval of this run's plan, got {got} "
            f"(dplib ledger approve {dataset} {plan or 'HASH'} --by NAME --why REASON)"
        )


def require_not_revoked(dataset: str, release_id: str, approval: Approval | None) -> None:
    """Raise `BudgetError` if the approval that an open reservation used was revoked."""
    if approval is not None and approval.revoked:
        raise BudgetError(
            f"dataset {dataset} must have an approval of the plan of {release_id}, got one that is revoked "
            f"(dplib ledger approve {dataset} {approval.plan} ..., or dplib ledger void {release_id} ...)"
        )
