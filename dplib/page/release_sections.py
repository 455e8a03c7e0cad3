"""What the pages of all jobs say in the same words: what tables and intervals are for, notes from the plan."""

from collections.abc import Collection, Sequence

from dplib.page.blocks import Block, Bullets, Column, DataTable, Mono, Paragraphs, Text

INTERVALS = (
    "A 95 % interval is a quantile of the noise's own law: 1.96 standard errors where many draws add up, 2.12 where "
    "one draw of Laplace noise decides, a whole number where the answer is one. It holds the bounded true value in "
    "95 of 100 cases."
)
"""What the error bars of all jobs mean."""


def tables_of_release(estimates: Text, published: Text, measurement: Text) -> DataTable:
    """Which of the three tables is for what."""
    texts = {"estimates/": estimates, "published/": published, "measurement/": measurement}
    columns = (Column("Table"), Column("What it holds, and for whom"))
    rows = tuple(((Mono(name),), text) for name, text in texts.items())
    return DataTable("Which of the tables is for what", columns, rows)


def notes_from_plan(notes: Sequence[str], said: Collection[str] = ()) -> tuple[Block, ...]:
    """What the plan had to say, without what the page says elsewhere; nothing where nothing is left."""
    left = tuple(note for note in notes if note not in said)
    return (Paragraphs(("Notes from the plan:",)), Bullets(left)) if left else ()
