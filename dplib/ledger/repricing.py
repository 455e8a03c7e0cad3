"""Cost and plan of reservations, worked out again from the settings that their entries carry.

A reservation states a cost, a plan, a period and a hash, and the account relies on all of them. Anyone who can append
to a ledger could state a cost of nearly nothing beside settings that cost all, or an approved plan beside settings that
nobody approved. So each entry carries its measurement settings, which are public, and anyone who relies on a
reservation works the rest out from them: a run before it spends, ``verify`` and ``audit``. How is handed in
(`Pricing`): the ledger lies below the jobs and knows none of them.

*Format*: `COST_FORMAT` says by which rules an entry's cost was worked out. An entry of an older format is *not
recomputed*, and that is said; an account whose newer entries are of a newer format, or that was made under it, takes
none of an older one, so nobody gets past by leaving the settings out.

A cost above the recomputed one is no forgery: later versions may charge less for the same.
"""

import base64
import datetime as dt
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dplib.canonical import canonical_json
from dplib.config.day_window import DayClock, DayWindow
from dplib.errors import ConfigError, DplibError
from dplib.ledger.approvals import plan_hash
from dplib.ledger.chain import Entry, Finding
from dplib.ledger.runs import Account, Terms

COST_FORMAT = 1
"""Raised when settings cost more than before."""
_MAX_PLAIN = 1 << 16
"""Bytes of settings that stand in an entry as they are; larger ones, as with long lists of names, are packed."""


@dataclass(frozen=True)
class Priced:
    """What settings say about a reservation.

    Attributes:
        settings_hash: of what decides the counts and the noise.
        cost: in the account's currency.
        terms: currency, unit and neighbours.
        window: the days that are read, None where they may be any.
    """

    settings_hash: str
    cost: Fraction
    terms: Terms
    window: DayWindow | None


Pricing = Callable[[str, Mapping[str, Any], Account], Priced]
"""From a job's name, the settings of an entry and the account that pays; ConfigError if they are no settings."""


def settings_body(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of a reservation's entry that hold its settings; none where there are none."""
    if settings is None:
        return {}
    text = canonical_json(settings)
    packed = base64.b64encode(zlib.compress(text, 9)).decode("ascii") if len(text) > _MAX_PLAIN else settings
    return {"settings": packed, "cost_format": COST_FORMAT}


def stored_settings(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The settings in a reservation's entry, None where it holds none.

    Raises:
        ConfigError: if they are not what `settings_body` writes.
    """
    found = body.get("settings")
    if isinstance(found, str):
        try:
            found = json.loads(zlib.decompress(base64.b64decode(found, validate=True)))
        except (ValueError, zlib.error):
            found = ()
    if found is not None and not isinstance(found, dict):
        raise ConfigError("settings", "be a mapping, or one that is packed", "something else")
    return found


def format_of(body: Mapping[str, Any]) -> int:
    """By which rules an entry's cost was worked out; 0, the oldest, where it says nothing that could be one."""
    stated = body.get("cost_format")
    return stated if type(stated) is int else 0


def window_of(days: Mapping[str, Any] | None) -> DayWindow | None:
    """The days that a reservation's entry states."""
    if days is None:
        return None
    first, last = dt.date.fromisoformat(days["first"]), dt.date.fromisoformat(days["last"])
    return DayWindow(first, last, DayClock(**days["clock"]))


def forged(entries: Iterable[Entry], accounts: Mapping[str, Account], pricing: Pricing) -> list[Finding]:
    """What is wrong with the reservations of sound entries, in order, by the settings that they hold."""
    newest: dict[str, int] = {}
    findings = []
    for entry in entries:
        if entry.kind not in ("account", "reserve"):
            continue
        body, least = entry.content(), newest.get(entry.dataset, 0)
        newest[entry.dataset] = max(least, format_of(body))
        problem = None
        if entry.kind == "reserve":
            problem = _problem(entry, body, accounts[entry.dataset], pricing, least)
        if problem is not None:
            findings.append(Finding(entry.sequence, problem))
    return findings


def _problem(entry: Entry, body: dict[str, Any], account: Account, pricing: Pricing, least: int) -> str | None:
    """What is wrong with a reservation of an account whose entries before had a format of up to ``least``."""
    if format_of(body) < least:
        return (
            "holds no settings of this format, though its account takes no others: forged, or written by an older dplib"
        )
    if format_of(body) < COST_FORMAT:
        return None  # not recomputed: `dplib.ledger.audit.not_recomputed` counts these
    try:
        return _reservation_problem(entry, body, account, pricing)
    except DplibError as error:
        return f"states settings that cannot be priced: {error}"
    except (KeyError, TypeError, ValueError) as error:
        return f"states settings that cannot be priced ({type(error).__name__})"


def _reservation_problem(entry: Entry, body: dict[str, Any], account: Account, pricing: Pricing) -> str | None:
    settings, cost = stored_settings(body), Fraction(body["cost"])
    if settings is None or (settings.get("dataset"), settings.get("job")) != (entry.dataset, body["job"]):
        return "holds no settings of its account and job: forged"
    priced = pricing(body["job"], settings, account)
    if priced.settings_hash != body["settings_hash"]:
        return "states another hash than its settings have: forged"
    if priced.terms != account.terms:
        return "holds settings of another unit or other neighbours than its account: forged"
    if cost < priced.cost:
        return f"states a cost of {body['cost']} where its settings cost {priced.cost}: forged"
    if account.period_of(priced.window) != account.period_of(window_of(body.get("days"))):
        return "draws on another period than its settings read: forged"
    terms = account.terms
    plan = plan_hash(settings, body["logical_date"], cost, terms.unit, terms.neighbors)
    if body.get("plan") not in (None, plan):
        return "names another plan than its settings are: forged"
    return None
