"""Which settings make a run a new one beside the last release of its output: names alone, never a value.

What is compared is what names a run and is hashed: that decides the counts and the noise (`dplib.workflow.settings`).
The last release's settings are those that its reservation carries.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplib.canonical import canonical_json
from dplib.errors import ConfigError
from dplib.workflow.design import JobDesign
from dplib.workflow.prepared import Prepared
from dplib.workflow.settings import counted_settings

SHOWN = 8
"""Names in a sentence."""


@dataclass(frozen=True)
class Changed:
    """What differs from the last release.

    Attributes:
        release_id: of that one.
        same_date: whether it is of the same logical date.
        settings: dotted names; empty where only the date or what a path leads to differs.
    """

    release_id: str
    same_date: bool
    settings: tuple[str, ...]

    @property
    def text(self) -> str:
        """The names, of many the first, in one clause."""
        names = ("--date",) * (not self.same_date) + self.settings
        if len(names) > SHOWN:
            names = (*names[:SHOWN], f"and {len(names) - SHOWN} more")
        return f"{', '.join(names) or 'nothing'} differ{'s' if len(names) < 2 else ''} from {self.release_id}"


def changed_settings(run: Prepared[JobDesign]) -> Changed | None:
    """What makes a planned run new; None where it exists, nothing was released into its output, or no ledger is there.

    Args:
        run: a checked configuration; nothing of its input is read.
    """
    try:
        ledger = run.open_ledger()
        runs = ledger.runs(run.design.config.dataset)
    except ConfigError:
        return None
    known = [each for each in runs if each.key.job == run.key.job and each.publication is not None]
    mine = [each for each in known if each.publication and Path(each.publication.location).parent == run.output]
    if not mine or ledger.find_run(run.key) is not None:
        return None
    # A release of the same date says more than a later one of another.
    last = ([each for each in mine if each.key.logical_date == run.key.logical_date] or mine)[-1]
    try:
        settings = ledger.settings_of(last)
        if settings is None:
            return None
        names = _names(settings, json.loads(canonical_json(run.plan_settings)))
    except (ConfigError, KeyError, TypeError, AttributeError):
        return None  # no settings that dplib wrote: runs and audits say so, a hint stops nothing
    return Changed(last.release_id, last.key.logical_date == run.key.logical_date, names)


def _names(settings: dict[str, Any], now: dict[str, Any]) -> tuple[str, ...]:
    """What differs in sections that decide the counts."""
    # Totals that are not measured are no part of what counts; where they became so, or ceased to be, is told.
    sections = {name.split(".")[0] for name in differing(counted_settings(settings), counted_settings(now))}
    return tuple(name for name in differing(settings, now) if name.split(".")[0] in sections)


def differing(one: Any, other: Any, name: str = "") -> Iterator[str]:
    """Dotted names of what differs between two settings; lists of sections are looked into, lists of values are not."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            yield from differing(one.get(key), other.get(key), f"{name}.{key}" if name else key)
    elif _are_sections(one) and _are_sections(other) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from differing(*pair, f"{name}.{number}")
    elif one != other:
        yield name


def _are_sections(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value)
