"""What reservations of any job cost, worked out from the settings that the ledger keeps (`dplib.ledger.repricing`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dplib.canonical import settings_hash
from dplib.errors import ConfigError
from dplib.jobs.table import JOBS, job_named
from dplib.ledger.repricing import Priced
from dplib.ledger.runs import Account, Terms
from dplib.workflow.design import cost_of, neighbors_of
from dplib.workflow.settings import counted_settings

_known: dict[tuple[str, str, Account], Priced] = {}


def price(job: str, settings: Mapping[str, Any], account: Account) -> Priced:
    """Cost, hash, terms and days of settings, as a run with them would state them.

    Equal settings are priced once in a process: an account pays for the same ones again and again, and a call with
    many dates looks at the runs before each.

    Args:
        job: name of the job.
        settings: the plan's settings of a reservation: everything that they name stands in them.
        account: the account that pays.

    Raises:
        ConfigError: if they are no settings of that job.
    """
    # The ledger's writer names the job: its word is no option of a command.
    if job not in JOBS:
        raise ConfigError("job", "be a job of this version", job)
    key = job, settings_hash(settings), account
    if key not in _known:
        _known[key] = _price(job, settings, account)
    return _known[key]


def _price(job: str, settings: Mapping[str, Any], account: Account) -> Priced:
    found = job_named(job)
    # Versions of the code stand among the settings.
    given = {name: value for name, value in settings.items() if name in found.config.model_fields}
    run = found.resolve(given | {"config_version": 1}, Path("/nowhere"), "")
    design = run.design
    return Priced(
        settings_hash=settings_hash(counted_settings(settings)),
        cost=cost_of(design, account.terms.currency, account),
        terms=Terms(account.terms.currency, design.config.privacy.unit, neighbors_of(design)),
        window=run.window,
    )
