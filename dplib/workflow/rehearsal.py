"""A rehearsal's run: the job on generated rows, with a throw-away secret and an account that can pay.

Nothing private is touched: the rows are random, the secret is thrown away, the ledger and the output are temporary.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.secret.file import create_secret_file
from dplib.workflow.design import AnyDesign, JobDesign, cost_of, delta_of, natural_terms
from dplib.workflow.job import PreparedJob

_LEDGER, _KEY = "ledger.db", "rehearsal.key"


def on_generated_rows(
    prepared: PreparedJob[AnyDesign],
    changed: dict[str, Any],
    folder: Path,
    resolve: Callable[[Mapping[str, object], Path], AnyDesign] | None = None,
) -> PreparedJob[AnyDesign]:
    """The same job on other rows, with a ledger, a secret and an output of its own.

    Args:
        prepared: a checked configuration.
        changed: sections that replace those of the configuration, the input at least.
        folder: a temporary folder, to which the paths of the input are relative.
        resolve: derives the design from the changed settings and the folder; as the job does where None.
    """
    config = prepared.design.config
    own = {"ledger": f"sqlite:///{_LEDGER}", "secret": f"file:{_KEY}"}
    settings = config.model_dump(mode="json", by_alias=True) | own | changed
    settings["publish"]["output"] = {"path": "releases"}
    design = (resolve or prepared.job.resolve)(settings, folder)
    _open_account(design, folder)
    return replace(prepared, design=design, base=folder)


def _open_account(design: JobDesign, folder: Path) -> None:
    """Create the secret, the ledger and an account that can pay for the design once."""
    create_secret_file(folder / _KEY)
    terms = natural_terms(design)
    ledger = Ledger.open(resolve_ledger_url(design.config.ledger, folder), create=True)
    delta = None if terms.currency is Currency.PURE else delta_of(design)
    ledger.create_account(design.config.dataset, terms, cost_of(design, terms.currency), delta, "rehearsal")
