"""What the pages of all jobs say in the same words: a release is free to use, what its tables are for, how to cite."""

import shlex
from collections.abc import Sequence

import dplib
from dplib.page.blocks import (
    Bullets,
    Code,
    Column,
    DataTable,
    KeyValues,
    Mono,
    Paragraphs,
    Section,
    Strong,
    Text,
)
from dplib.page.guarantee import budget_text, unit_text
from dplib.privacy.budget import Budget

RELEASED = "What was released, and for whom it is safe"
INTERVALS = (
    "A 95 % interval is a quantile of the noise's own law: 1.96 standard errors where many draws add up, 2.12 where "
    "one draw of Laplace noise decides, a whole number where the answer is one. It holds the bounded true value in "
    "95 of 100 cases."
)
"""What the error bars of all jobs mean."""


def subtitle(kind: str, release_id: str, logical_date: str) -> str:
    """The line below a page's heading."""
    dated = f", logical date {logical_date}" if logical_date else ""
    return f"{kind} under differential privacy. Release {release_id}{dated}"


def free_to_use(what: str, unit: str, private: str, serves: str) -> Paragraphs:
    """The paragraph on what was released and what may be done with it.

    Args:
        what: what the release holds, a phrase without an end.
        unit: the privacy unit.
        private: what must not be used with it, such as ``rows``.
        serves: sentences on what it is good for and what was not counted.
    """
    text: Text = (
        f"This release holds {what}, with random noise added; the guarantee below bounds what it can say about any one "
        f"{unit_text(unit)}. ",
        Strong("Anyone may read it, pass it on, join it with other data and compute with it as they like"),
        f": nothing done with it afterwards weakens the guarantee, as long as neither the {private} nor the operator's "
        f"secret are used. {serves}",
    )
    return Paragraphs((text,))


def identity(
    release_id: str, dataset: str, logical_date: str, budget: Budget, unit: str, extent: tuple[str, str]
) -> KeyValues:
    """Which release this is; ``extent`` names what it covers, such as days or bins."""
    return KeyValues(
        (
            ("Release", (Mono(release_id),)),
            ("Dataset", dataset),
            ("Logical date", logical_date or "none"),
            extent,
            ("Guarantee", f"{budget_text(budget)} for one {unit_text(unit)}"),
        )
    )


def tables_of_release(estimates: Text, published: Text, measurement: Text) -> DataTable:
    """Which of the three tables is for what."""
    texts = {"estimates/": estimates, "published/": published, "measurement/": measurement}
    columns = (Column("Table"), Column("What it holds, and for whom"))
    rows = tuple(((Mono(name),), text) for name, text in texts.items())
    return DataTable("Which of the tables is for what", columns, rows)


def use_section(
    release_id: str, cited: str, budget: Budget, unit: str, query: tuple[str, str], references: Sequence[str]
) -> Section:
    """How to query and cite.

    Args:
        release_id: the release.
        cited: what it is, such as ``shop: consistent histograms, 2024-01-01 to 2024-01-31``.
        budget: of the guarantee.
        unit: of the guarantee.
        query: options of ``dplib query`` for an example, and what they answer.
        references: where the method is described.
    """
    release = shlex.quote(release_id)
    options, answer = query
    cite = (
        f"{cited}. Differentially private release {release_id} ({budget_text(budget)} for one {unit}). "
        f"Made with dplib {dplib.__version__}."
    )
    where: Text = (
        "Run these where the release's directory is, or give its path in place of ",
        Mono(release_id),
        ".",
    )
    blocks = (
        Paragraphs((where,)),
        Code(f"dplib query {release} \\\n    {options}", answer),
        Code(f"dplib verify {release}", "Whether the files are those that were released, and every constraint holds"),
        Code(cite, "To cite this release"),
        Paragraphs(("The method is described in:",)),
        Bullets(tuple(references)),
    )
    return Section("How to query and cite", blocks)
