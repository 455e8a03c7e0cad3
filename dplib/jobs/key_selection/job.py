"""The job ``key-selection``: the keys that enough units share, where the list of them is itself private."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dplib.jobs.key_selection.config import NAME, KeySelectionConfig
from dplib.jobs.key_selection.design import Design
from dplib.jobs.key_selection.example import EXAMPLE
from dplib.jobs.key_selection.plan import make_plan, shown_plan
from dplib.jobs.key_selection.query import Answer, ask
from dplib.jobs.key_selection.tables import MEASUREMENT, PUBLISHED, read_selected
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.release.verify import Check
from dplib.workflow.job import Job, publishing_of, stages_of
from dplib.workflow.plan import planned
from dplib.workflow.prepared import resolver
from dplib.workflow.shown import Shown, TextTable

TOP_ROWS = 12
"""Rows of the table that a finished run prints."""


def query(release: Path, manifest: Manifest, asked: Question) -> tuple[list[Answer], Iterator[Shown]]:
    """The keys of a release, or whether those that are named are among them."""
    answers = ask(release, manifest, asked)
    return answers, shown_answers("Keys", answers)


def shown_answers(title: str, answers: Sequence[Answer]) -> Iterator[Shown]:
    """A table of keys."""
    rows = [
        [each.key, "yes" if each.released else "no", "-" if each.weight is None else f"{each.weight:,.1f}"]
        for each in answers
    ]
    yield TextTable(title, ["key", "released", "weight"], rows, frozenset({"weight"}))


def show(release: Path, manifest: Manifest) -> Iterator[Shown]:
    """The first keys of a release, the largest weights before others."""
    answers = ask(release, manifest, Question())
    answers.sort(key=lambda each: (-(each.weight or 0), each.key))
    more = f" (the first {TOP_ROWS})" if len(answers) > TOP_ROWS else ""
    yield from shown_answers(f"{manifest.release_id}: {len(answers):,} keys{more}", answers[:TOP_ROWS])


def verify(release: Path, manifest: Manifest) -> list[Check]:
    """Published keys are those that were drawn, within the limit, each by a round and above the threshold."""
    design = Design.of_release(manifest)
    drawn, published = read_selected(design, release, MEASUREMENT), read_selected(design, release, PUBLISHED)
    n_keys, limit = len(drawn.keys), design.config.selection.max_keys
    least = design.noisy.threshold if design.noisy else 0
    fits = all(1 <= number <= len(design.selectors) for number in drawn.rounds)
    same = (drawn.keys, drawn.noisy) == (published.keys, published.noisy)
    return [
        Check("published keys are the drawn ones", same, f"{n_keys} keys"),
        Check("no more keys than allowed", n_keys <= limit, f"{limit} at most"),
        Check("every key has a round of the settings", fits, f"{len(design.selectors)} rounds"),
        Check("noisy weights reach the threshold", all(noisy >= least for noisy in drawn.noisy), ""),
    ]


JOB = Job(
    name=NAME,
    example=EXAMPLE,
    config=KeySelectionConfig,
    resolve=resolver(KeySelectionConfig, lambda config, _: Design.resolve(config)),
    plan=planned(make_plan, shown_plan),
    show=show,
    query=query,
    verify=verify,
    publishing=publishing_of("dplib.jobs.key_selection.run"),
    stages=stages_of("dplib.jobs.key_selection.run"),
)
"""The job."""
