"""What of a run's settings is hashed: what decides counts and noise, and nothing that must not be told.

`measurement_settings` hold all that a configuration says about the measurement. Three texts are made of them:

    counted     decides the counts and the noise: names the run and enters the noise key; its hash is in the manifest
    plan        `counted`, and what is free besides: what a privacy officer approves, and what the ledger keeps, so that
                cost and plan can be worked out again (`dplib.ledger.repricing`)
    former      all of them, as versions before hashed them: such runs are still found, under the hash that they
                have, from which a retry derives the same noise

Left out of `plan` are the reader's options that only say how the input is reached: addresses and credentials change
without another row being read, and an unsalted hash of a password can be guessed. Left out of `counted` besides are
totals that are not measured, unless one that is measured has them as members: they are sums, made when publishing. So
are what totals are called together (`name`), groupings that are not measured and, of the items' table, the attributes
that no measured grouping needs.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dplib.config.job_config import JobConfig
from dplib.config.paths import has_scheme
from dplib.config.reader_options import counted_options
from dplib.config.sections import Source
from dplib.config.table_text import without_columns
from dplib.workflow.design import JobDesign


def measurement_settings(config: JobConfig, design: JobDesign) -> dict[str, Any]:
    """All that a configuration says about the measurement of its design; options may hold passwords.

    A listed file enters with its contents, not with its name; paths enter as written.
    """
    return config.with_input(design.config.measured()) | design.formats


def plan_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The measurement settings that an officer reads and the ledger keeps; nothing in them is secret."""
    source = settings["input"]
    return dict(settings) | {"input": source | {"options": counted_options(source["format"], source["options"])}}


def counted_settings(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What of a plan's settings decides the counts and the noise."""
    if "constraints" not in plan:
        return dict(plan)
    free = _free(plan)
    kept = [dict(each) for number, each in enumerate(plan["constraints"]) if number not in free]
    for each in kept:
        each.pop("name", None)
    return dict(plan) | {"constraints": kept} | _counted_domain(plan)


def free_settings(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The rest of a plan's settings, which shapes a release and spends nothing; empty where there is none."""
    free = [plan["constraints"][number] for number in sorted(_free(plan))]
    found: dict[str, Any] = {"constraints": free} if free else {}
    names = {str(number): each["name"] for number, each in enumerate(plan.get("constraints", [])) if "name" in each}
    found |= {"names": names} if names else {}
    counted = _counted_domain(plan).get("domain")
    return found if counted in (None, plan.get("domain")) else found | {"domain": plan["domain"]}


def _counted_domain(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A table's domain without groupings that are not measured, and without the attributes that only these need."""
    domain = dict(plan.get("domain", {}))
    if not isinstance(domain.get("items"), Mapping) or "measure" in plan:  # Shares are of all groupings.
        return {}
    measured = [each for each in domain.pop("groupings", []) if each.get("measured")]
    items = domain["items"]
    needed = {name for each in measured for name in each["by"]}
    attributes = [name for name in items["attributes"] if name in needed]
    left_out = set(items["attributes"]) - set(attributes)
    domain["items"] = dict(items) | {"attributes": attributes, "table": without_columns(items["table"], left_out)}
    return {"domain": domain | ({"groupings": measured} if measured else {})}


def _free(plan: Mapping[str, Any]) -> set[int]:
    """Numbers of the constraints that are totals without a measurement, which nothing that is measured refers to."""
    constraints: Sequence[Mapping[str, Any]] = plan.get("constraints", [])
    if "measure" in plan:  # The shares of all totals are given, or chosen for all of them.
        return set()
    free = {n for n, each in enumerate(constraints) if each["totals"] is not None and not each["measured"]}
    while True:
        others = [each for number, each in enumerate(constraints) if number not in free]
        named = {name for each in others for members in (each["totals"] or {}).values() for name in members}
        named |= {
            name
            for each in others
            for equation in (each["equations"] or {}).values()
            for name in equation["coefficients"]
        }
        needed = {number for number in free if named & set(constraints[number]["totals"])}
        if not needed:
            return free
        free -= needed


def input_place(source: Source, base: Path) -> tuple[str, ...] | None:
    """What the paths of an input name here, for the ledger; None for a catalogue's table.

    A path is hashed as it is written, so that a folder that moves changes no settings. Two folders may then mean two
    inputs by one word, and so may two values of a variable; what is named is compared besides. What variables held is
    kept as a digest only.
    """
    if source.path is None:
        return None
    given = [source.path] if isinstance(source.path, str) else source.path
    return tuple(
        f"sha256:{hashlib.sha256(path.encode()).hexdigest()}" if "${" in word else _normal(path)
        for word, path in zip(given, source.paths(base), strict=True)
    )


def _normal(path: str) -> str:
    return path if has_scheme(path) else os.path.normpath(path)
