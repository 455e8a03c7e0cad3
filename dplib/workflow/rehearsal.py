"""A rehearsal's run: the job on generated rows, with a throw-away secret and an account that can pay.

Nothing private is touched: the rows are random, the secret is thrown away, the ledger and the output are temporary.
"""

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.progress import Progress
from dplib.secret.file import create_secret_file
from dplib.workflow.design import AnyDesign, JobDesign, cost_of, delta_of, natural_terms
from dplib.workflow.job import PreparedJob
from dplib.workflow.prepared import Resolve
from dplib.workflow.run import run_job

_LEDGER, _KEY = "ledger.db", "rehearsal.key"


@contextmanager
def run_on_edges(
    prepared: PreparedJob[AnyDesign], edges: Iterable[tuple[str, str]], progress: Progress, **graph: object
) -> Iterator[tuple[AnyDesign, Path]]:
    """Run a graph job on generated edges: its design on them and the release, which goes with the block.

    ``graph`` are settings of that section that are others than the configuration's.
    """
    with TemporaryDirectory(prefix="dplib-rehearsal-") as name:
        folder = Path(name)
        with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([("source", "target"), *edges])
        options, columns = {"header": "true", "escape": '"'}, {"source": "source", "target": "target"}
        rows = {"path": "edges.csv", "format": "csv", "options": options, "columns": columns}
        # Listed files enter with their contents: their names are relative to another folder.
        changed = {"input": rows, "graph": prepared.settings["graph"] | graph}
        rehearsed = on_generated_rows(prepared, changed, folder)
        _, release = run_job(rehearsed, progress=progress)
        assert release is not None
        yield rehearsed.design, release


def on_generated_rows(
    prepared: PreparedJob[AnyDesign],
    changed: dict[str, Any],
    folder: Path,
    resolve: Resolve[AnyDesign] | None = None,
) -> PreparedJob[AnyDesign]:
    """The same job on other rows, with a ledger, a secret and an output of its own in a temporary folder.

    ``changed`` are sections that replace those of the configuration, the input at least; ``resolve`` derives the design
    from them, as the job does where None.
    """
    config = prepared.config
    own = {"ledger": f"sqlite:///{_LEDGER}", "secret": f"file:{_KEY}"}
    settings = config.model_dump(mode="json", by_alias=True) | own | changed
    settings["publish"]["output"] = {"path": "releases"}
    changed_job = (resolve or prepared.job.resolve)(settings, folder, prepared.date)
    _open_account(changed_job.design, changed_job.config.ledger, folder)
    return replace(prepared, design=changed_job.design, config=changed_job.config, base=folder)


def _open_account(design: JobDesign, ledger_address: str, folder: Path) -> None:
    """Create the secret, the ledger and an account that can pay for the design once."""
    create_secret_file(folder / _KEY)
    terms = natural_terms(design)
    ledger = Ledger.open(resolve_ledger_url(ledger_address, folder), create=True)
    delta = None if terms.currency is Currency.PURE else delta_of(design)
    ledger.create_account(design.config.dataset, terms, cost_of(design, terms.currency), delta, "rehearsal")
