"""The frame of a page: which release it is, what it promises, what its account paid, and how to use it.

The same for all jobs, as `dplib.workflow.plan.PlanFrame` is for their plans. A job's own page fills it: what was
released, the noise, the sections in the middle, an example of a query.
"""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dplib.page.account import budget_section
from dplib.page.account_state import AccountState
from dplib.page.blocks import (
    Block,
    Bullets,
    Callout,
    Code,
    DataTable,
    KeyValues,
    Mono,
    Paragraphs,
    Section,
    Strong,
    Text,
    heads,
)
from dplib.page.guarantee import Guarantee, NoiseTable, budget_text, guarantee_section, unit_text
from dplib.page.page import render_page
from dplib.version import __version__

INTERVALS = (
    "A 95 % interval is a quantile of the noise's own law: 1.96 standard errors where many draws add up, 2.12 where "
    "one draw of Laplace noise decides, a whole number where the answer is one. It holds the bounded true value in "
    "95 of 100 cases."
)
"""What the error bars of all jobs mean."""
SWALLOWED = "grey where the 95 % interval holds 0"
"""What tables say of rows that stand back."""


@dataclass(frozen=True)
class Released:
    """What was released.

    Attributes:
        section: at the top of the page.
        tables: which of the release's tables is for what, where it says how to use them.
    """

    section: Section
    tables: DataTable


@dataclass(frozen=True)
class PageFrame:
    """The part of a page that all jobs share.

    Attributes:
        release_id: the release's public name.
        dataset: the ledger's account that paid.
        logical_date: as given to the run; empty where none was.
        guarantee: what is promised.
        account: the budget around this release.
        notices: what must not be missed, above all sections.
        newest_day: the last one that is measured of a stream, whose versions have one name; empty of other releases.
    """

    release_id: str
    dataset: str
    logical_date: str
    guarantee: Guarantee
    account: AccountState
    notices: tuple[Callout, ...] = ()
    newest_day: str = ""

    @property
    def _dated(self) -> tuple[str, str]:
        return ("Stream up to", self.newest_day) if self.newest_day else ("Logical date", self.logical_date)

    @property
    def _named(self) -> str:
        """The release with its date."""
        name, date = self._dated
        return f"{self.release_id}, {name.lower()} {date}" if date else self.release_id

    def page(
        self, title: str, kind: str, released: "Released", noise: NoiseTable, middle: Sequence[Section], use: Section
    ) -> str:
        """Return the page as HTML text; the same content gives the same bytes.

        Args:
            title: the heading up to the dataset's name.
            kind: what is released, for the line below the heading.
            released: from `released`.
            noise: of the release, for the section on the guarantee.
            middle: the job's own sections, counts and charts first; the guarantee stands after them.
            use: from `use`.
        """
        return render_page(
            f"{title} of {self.dataset}",
            f"{kind} under differential privacy. Release {self._named}",
            (
                released.section,
                *middle,
                guarantee_section(self.guarantee, noise),
                budget_section(self.dataset, self.account),
                Section(use.title, (released.tables, *use.blocks)),
            ),
            self.notices,
        )

    def released(
        self,
        what: str,
        serves: str,
        extent: tuple[str, str],
        tables: DataTable,
        numbers: Sequence[Block] = (),
        private: str = "rows",
    ) -> "Released":
        """What was released, and what may be done with it.

        Args:
            what: what the release holds, a phrase without an end.
            serves: sentences on what it is good for and what was not counted.
            extent: name and value of what it covers, such as days or bins.
            tables: which of its tables is for what.
            numbers: what is to be seen at once.
            private: what must not be used with it.
        """
        unit = unit_text(self.guarantee.unit)
        text: Text = (
            f"This release holds {what}, with random noise added; the guarantee below bounds what it can say about any "
            f"one {unit}. ",
            Strong("Anyone may read it, pass it on, join it with other data and compute with it as they like"),
            f": nothing done with it afterwards weakens the guarantee, as long as neither the {private} nor the "
            f"operator's secret are used. {serves}",
        )
        identity = KeyValues(
            (
                ("Release", (Mono(self.release_id),)),
                ("Dataset", self.dataset),
                (self._dated[0], self._dated[1] or "none"),
                extent,
                ("Guarantee", f"{budget_text(self.guarantee.budget)} for one {unit}"),
            )
        )
        blocks = (Paragraphs((text,)), *numbers, identity)
        return Released(Section("What was released, and for whom it is safe", blocks), tables)

    def use(self, cited: str, query: tuple[str, str], references: Sequence[str]) -> Section:
        """How to query and cite.

        Args:
            cited: what it is, such as ``consistent histograms, 2024-01-01 to 2024-01-31``.
            query: options of ``dplib query`` for an example, and what they answer.
            references: where the method is described.
        """
        release = shlex.quote(self.release_id)
        options, answer = query
        cite = (
            f"{self.dataset}: {cited}. Differentially private release {self._named} "
            f"({budget_text(self.guarantee.budget)} for one {self.guarantee.unit}). Made with dplib "
            f"{__version__}."
        )
        where: Text = (
            "Run these where the release's directory is, or give its path in place of ",
            Mono(self.release_id),
            ".",
        )
        checked = "Whether the files are those that were released, and every constraint holds"
        blocks = (
            Paragraphs((where,)),
            Code(f"dplib query {release} \\\n    {options}", answer),
            Code(f"dplib verify {release}", checked),
            Code(cite, "To cite this release"),
            Paragraphs(("The method is described in:",)),
            Bullets(tuple(references)),
        )
        return Section("How to query and cite", blocks)


def tables_of_release(estimates: Text, published: Text, measurement: Text) -> DataTable:
    """Which of the three tables is for what."""
    texts = {"estimates/": estimates, "published/": published, "measurement/": measurement}
    columns = heads("Table", "What it holds, and for whom")
    rows = tuple(((Mono(name),), text) for name, text in texts.items())
    return DataTable("Which of the tables is for what", columns, rows)


def notes_from_plan(notes: Sequence[str], said: Collection[str] = ()) -> tuple[Block, ...]:
    """What the plan had to say, without what the page says elsewhere; nothing where nothing is left."""
    left = tuple(note for note in notes if note not in said)
    return (Paragraphs(("Notes from the plan:",)), Bullets(left)) if left else ()
