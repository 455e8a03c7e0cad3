"""What reservations of any job cost, worked out from the settings that the ledger keeps (`dplib.ledger.repricing`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dplib.canonical import settings_hash
from dplib.config.load import Model, check
from dplib.errors import ConfigError
from dplib.ledger.repricing import Priced
from dplib.ledger.runs import Account, Terms
from dplib.workflow.design import JobDesign, cost_of, neighbors_of
from dplib.workflow.settings import counted_settings


def price(job: str, settings: Mapping[str, Any], account: Account) -> Priced:
    """Cost, hash, terms and days of settings, as a run with them would state them.

    Args:
        job: name of the job.
        settings: the plan's settings of a reservation: everything that they name stands in them.
        account: the account that pays.

    Raises:
        ConfigError: if they are no settings of that job.
    """
    design = _design(job, settings)
    return Priced(
        settings_hash=settings_hash(counted_settings(settings)),
        cost=cost_of(design, account.terms.currency, account),
        terms=Terms(account.terms.currency, design.config.privacy.unit, neighbors_of(design)),
        window=design.config.day_window,
    )


def _design(job: str, settings: Mapping[str, Any]) -> JobDesign:
    # Each job is loaded when it is met: most accounts pay for one.
    base = Path("/nowhere")
    if job == "consistent-histograms":
        from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
        from dplib.jobs.consistent_histograms.design import Design as Counts

        return Counts.resolve(_config(ConsistentHistogramsConfig, settings), base)
    if job == "kmeans":
        from dplib.jobs.kmeans.config import KMeansConfig
        from dplib.jobs.kmeans.design import Design as Clusters

        return Clusters.resolve(_config(KMeansConfig, settings), base)
    if job == "minimum-cuts":
        from dplib.jobs.minimum_cuts.config import MinimumCutsConfig
        from dplib.jobs.minimum_cuts.design import Design as Cuts

        return Cuts.resolve(_config(MinimumCutsConfig, settings), base)
    if job == "network-statistics":
        from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
        from dplib.jobs.network_statistics.design import Design as Network

        return Network.resolve(_config(NetworkStatisticsConfig, settings), base)
    if job == "range-histograms":
        from dplib.jobs.range_histograms.config import RangeHistogramsConfig
        from dplib.jobs.range_histograms.design import Design as Ranges

        return Ranges.resolve(_config(RangeHistogramsConfig, settings), base)
    raise ConfigError("job", "be a job of this version", job)


def _config(model: type[Model], settings: Mapping[str, Any]) -> Model:
    """The configuration that resolved settings are of; versions of the code among them are left out."""
    given = {name: value for name, value in settings.items() if name in model.model_fields}
    return check(model, given | {"config_version": 1})
