"""What a rehearsal needs besides its generated rows: a throw-away secret and an account that can pay.

Nothing private is touched: the rows are random, the secret is thrown away, the ledger and the output are temporary.
"""

from pathlib import Path

from dplib.privacy.budget import Currency
from dplib.randomness.secret import create_secret_file
from dplib.release.ledger import Ledger
from dplib.release.ledger_schema import resolve_ledger_url
from dplib.workflow.design import JobDesign, cost_of, delta_of, natural_terms

REHEARSAL_SETTINGS = {"ledger": "sqlite:///ledger.db", "secret": "file:rehearsal.key"}
"""What replaces these settings of a configuration in the temporary folder."""


def open_rehearsal_account(design: JobDesign, folder: Path) -> None:
    """Create the secret, the ledger and an account that can pay for the design once.

    Args:
        design: its configuration holds `REHEARSAL_SETTINGS`.
        folder: the temporary folder.
    """
    create_secret_file(folder / "rehearsal.key")
    terms = natural_terms(design)
    ledger = Ledger.open(resolve_ledger_url(design.config.ledger, folder), create=True)
    delta = None if terms.currency is Currency.PURE else delta_of(design)
    ledger.create_account(design.config.dataset, terms, cost_of(design, terms.currency), delta, "rehearsal")
