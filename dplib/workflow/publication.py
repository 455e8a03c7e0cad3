"""The end of every publication: the page and, last of all, the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplib.ledger.runs import MeasuredRun
from dplib.metrics.faint_totals import FaintTotals
from dplib.page.account_state import AccountState
from dplib.page.guarantee import Guarantee, Promise
from dplib.page.notices import release_notices
from dplib.privacy.accountant import totals
from dplib.release.files import REPORT
from dplib.workflow.design import JobDesign, delta_of, neighbors_of
from dplib.workflow.manifest import write_release_manifest
from dplib.workflow.prepared import Prepared
from dplib.workflow.quality import quality_report

if TYPE_CHECKING:
    from dplib.page.frame import PageFrame


_unseen: ContextVar[bool] = ContextVar("unseen", default=False)


@contextmanager
def without_page() -> Iterator[None]:
    """Make releases without a page in the block: for one that nobody sees, where drawing takes longer than the rest."""
    token = _unseen.set(True)
    try:
        yield
    finally:
        _unseen.reset(token)


@dataclass(frozen=True)
class Made:
    """What a job made of a stored measurement, beside its tables.

    Attributes:
        promise: the job's own words of the guarantee.
        faint: totals that do not stand out from their noise.
        fields: what its manifest says: sensitivities, mechanisms, solver, domain, details, and constraints
            where there are some.
        page: the page as HTML text.
    """

    promise: Promise
    faint: FaintTotals
    fields: dict[str, Any]
    page: Callable[[PageFrame], str]


def page_of(package: str, *content: object) -> Callable[[PageFrame], str]:
    """Draws by `build_page` of a job's module ``page``, which is loaded only then: that takes seconds."""

    def page(frame: PageFrame) -> str:
        drawn: str = import_module(f"{package}.page").build_page(*content, frame)
        return drawn

    return page


def finish_release(
    prepared: Prepared[JobDesign], directory: Path, run: MeasuredRun, account: AccountState, made: Made
) -> None:
    """Write the page and the manifest into the staging directory, which has all tables, from what the job made."""
    design, privacy = prepared.design, prepared.design.config.privacy
    guarantee = Guarantee(
        budget=privacy.budget.budget(),
        unit=privacy.unit,
        neighbors=neighbors_of(design),
        key_id=run.measurement.key_id,
        totals=totals(design.events, delta_of(design)),
        promise=made.promise,
    )
    quality = quality_report(directory, design.config)
    notices = release_notices(made.faint, design.public(), () if quality is None else quality.sentences)
    key = run.key
    if not _unseen.get():
        # Imported where it is needed: drawing takes seconds to load, and most commands draw nothing.
        from dplib.page.frame import PageFrame

        newest = max((day.date for day in run.days), default="")
        frame = PageFrame(run.release_id, key.dataset, key.logical_date, guarantee, account, notices, newest)
        (directory / REPORT).write_text(made.page(frame), encoding="utf-8")
    hashes = {"settings_hash": key.settings_hash, "publish_hash": prepared.publish_hash(run)}
    fields = made.fields | hashes
    write_release_manifest(directory, design, run, account.currency, guarantee, fields, made.faint, quality)
