"""Whether the data's owner has looked at what a configuration's input rules do, before they cost a budget.

`dplib inspect` leaves a marker where it ended well: an empty file in the user's own state folder (``DPLIB_STATE``, else
``XDG_STATE_HOME``/dplib, else ~/.local/state/dplib), readable by the user only. It stands neither beside the ledger,
which may be a database of a team, nor in a release: who inspected what is nobody else's business. Its name is a hash of
what decides which rows count: input, domain, caps, vertices, bounds; not of budget, noise, tree, statistics or date. So
tomorrow's day of the same rules counts as inspected, and a changed cap or pattern does not. A lost marker costs one
question; nothing rests on it.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dplib.canonical import canonical_json
from dplib.ledger.approvals import undated
from dplib.workflow.prepared import Prepared

VARIABLE = "DPLIB_STATE"
_WHOLE = ("dataset", "job", "input", "domain", "constraints", "histogram")
_PARTS = {
    "privacy": ("unit", "max_rows_per_unit", "max_rows_per_day", "max_quantity"),
    "graph": ("vertices", "degree_bound", "weights", "weight_cap"),
    "clustering": ("bounds", "radius", "missing", "scale"),
}


def mark_inspected(prepared: Prepared[Any]) -> bool:
    """Leave the marker; whether it could be left (a service may have no home)."""
    marker = _marker(prepared)
    try:
        marker.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(marker, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        return False
    return True


def is_inspected(prepared: Prepared[Any]) -> bool:
    """Whether these input rules have a marker."""
    try:
        return _marker(prepared).is_file()
    except OSError:
        return False


def rules_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The measurement settings that decide which rows count, and as what."""
    found = {name: settings[name] for name in _WHOLE if name in settings}
    for section, names in _PARTS.items():
        given = settings.get(section)
        if isinstance(given, Mapping):
            found[section] = {name: given[name] for name in names if name in given}
    return found


def _marker(prepared: Prepared[Any]) -> Path:
    rules = {"rules": undated(rules_of(prepared.settings), prepared.date), "base": str(prepared.base)}
    return _folder() / hashlib.sha256(b"dplib inspected 1\n" + canonical_json(rules)).hexdigest()


def _folder() -> Path:
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given) / "inspected"
    state = os.environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    return Path(state) / "dplib" / "inspected"
