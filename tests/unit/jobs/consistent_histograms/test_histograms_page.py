"""The page of the main job says what its content says, in the stated order, and nothing else."""

import dataclasses
import datetime as dt
import re
import shlex
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import dplib
from dplib.jobs.consistent_histograms import page
from dplib.jobs.consistent_histograms.page import build_page
from dplib.jobs.consistent_histograms.page_content import (
    PageContent,
)
from dplib.page.account_state import AccountState
from dplib.privacy.budget import ZCDP, ApproxDP, Currency, PureDP
from dplib.privacy.neighbors import Neighbors
from dplib.progress import Round
from tests.support.histograms_page import FRAME, frame, lean, sample

SECTIONS = [
    "What was released, and for whom it is safe",
    "Counts and charts",
    "Expected error by query",
    "How the estimates were made",
    "The guarantee in plain words",
    "Budget before and after",
    "How to query and cite",
]
HOSTILE = "<script>alert('x')</script> & \"$\\frac{1\" `y` \x07"


def _alternating(content: PageContent, converged: bool = True) -> PageContent:
    rounds = tuple(Round(k, 12.7 * 0.8**k, 310.4 * 0.75**k) for k in range(1, 81))
    made = dataclasses.replace(content.estimation, solver="alternating", rounds=rounds, converged=converged)
    return dataclasses.replace(content, estimation=made)


def _promising(**changes: Any) -> str:
    """The text of a page whose guarantee is another one."""
    guarantee = dataclasses.replace(FRAME.guarantee, **changes)
    return _text(build_page(lean(), dataclasses.replace(FRAME, guarantee=guarantee)))


class _Visible(HTMLParser):
    """The text a reader sees outside drawings, styles and scripts, and the headings."""

    VOID = frozenset({"meta", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.headings: list[str] = []
        self.stack: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "svg", "script"} & set(self.stack):
            self.words.append(data)
            if self.stack and self.stack[-1] == "h2":
                self.headings.append(data)


def _visible(html: str) -> _Visible:
    reader = _Visible()
    reader.feed(html)
    reader.close()
    return reader


def _text(html: str) -> str:
    """The visible text, one space between words; parts of a sentence that are set apart are words too."""
    return " ".join(" ".join(_visible(html).words).split())


@pytest.mark.usefixtures("without_pictures")
def test_sections_stand_in_the_stated_order() -> None:
    assert _visible(build_page(lean(), FRAME)).headings == SECTIONS


def test_same_content_gives_the_same_bytes() -> None:
    assert build_page(_alternating(lean()), FRAME) == build_page(_alternating(lean()), FRAME)


@pytest.mark.usefixtures("without_pictures")
def test_every_number_comes_from_the_content() -> None:
    def numbers(seed: int, **shape: Any) -> set[str]:
        # The references have numbers of their own, "L1" is a word, and months and days of dates repeat.
        shown = _text(build_page(lean(seed, **shape), frame(seed))).split("described in:")[0]
        text = re.sub(r"\d{4}-\d\d-\d\d", "", shown)
        return set(re.findall(r"(?<![A-Za-z0-9.,])\d(?:[\d,.]*\d)?", text))

    second = numbers(2, first=dt.date(2047, 5, 8), n_days=433, n_items=28)
    in_all = numbers(1) & second & numbers(3, n_days=797, n_items=31)
    # What three pages without a number in common all show, digits apart, is fixed wording.
    assert {number for number in in_all if len(number) > 1} == {"95", "100", "1.96", "2.12", dplib.__version__}


def test_estimates_and_counts_stand_with_their_series() -> None:
    content = lean()
    html = build_page(content, FRAME)
    for number, name in enumerate(content.totals.names):
        row = re.search(rf'<th scope="row">{re.escape(name)}</th>(.*?)</tr>', html, re.S)
        assert row is not None
        cells = [
            cell.replace(",", "").replace("\N{MINUS SIGN}", "-") for cell in re.findall(r">([^<>\n]+)</td>", row[1])
        ]
        assert float(cells[0]) == pytest.approx(content.totals.estimate[number], abs=0.5)
        assert float(cells[1]) == pytest.approx(content.totals.half_width[number], abs=0.5)
        assert content.totals.published is not None
        assert int(cells[2]) == content.totals.published[number]


@pytest.mark.parametrize(
    ("budget", "factor", "sure"),
    [
        (PureDP(Fraction(1)), "2.72", "73.2"),
        (PureDP(Fraction(1, 10)), "1.11", "52.5"),
        (ApproxDP(Fraction(2), Fraction(1, 10**5)), "7.39", "88.1"),
    ],
)
def test_odds_follow_from_epsilon_and_never_understate(budget: PureDP | ApproxDP, factor: str, sure: str) -> None:
    text = _promising(budget=budget)
    assert f"at most by the factor {factor} (e to the power of epsilon)" in text
    assert f"{sure} % sure" in text
    truth = np.exp(float(budget.epsilon))
    assert float(factor) >= truth > float(factor) * 0.99
    assert float(sure) >= 100 * truth / (1 + truth) > float(sure) - 0.2
    assert ("added probability of delta, 1e−5" in text) == isinstance(budget, ApproxDP)


def test_rho_is_also_said_as_epsilon_and_delta() -> None:
    text = _promising(budget=ZCDP(Fraction(1, 8)))
    assert "rho 0.125 (zCDP), which implies epsilon 1.7193 at delta 1e−6" in text
    # Two units together: four times rho.
    assert "protected with rho 0.5 (zCDP)" in text


def test_an_epsilon_that_protects_nobody_is_called_so() -> None:
    text = _promising(budget=PureDP(Fraction(50)))
    assert "rules out almost nothing" in text
    assert "% sure" not in text


def test_invariants_are_named_as_a_condition() -> None:
    fact = "The sum of all items on each day is public."
    assert fact in _promising(promise=dataclasses.replace(FRAME.guarantee.promise, invariants=(fact,)))
    assert "no invariants" in _promising()


def test_replaced_units_are_not_called_absent() -> None:
    text = _promising(unit="order", neighbors=Neighbors.REPLACE_ONE)
    assert "two versions of one order's rows" in text
    assert "is in the data before" not in text


def test_hostile_names_are_shown_and_never_run() -> None:
    content = lean()
    charts = tuple(dataclasses.replace(chart, name=HOSTILE) for chart in content.charts)
    totals = dataclasses.replace(content.totals, names=(HOSTILE, *content.totals.names[1:]))
    errors = dataclasses.replace(
        content.errors, queries=(HOSTILE, "month", "total"), baselines={HOSTILE: content.errors.ours}
    )
    made = dataclasses.replace(content.estimation, constraints=(HOSTILE,), notes=(HOSTILE,), reason=HOSTILE)
    hostile = dataclasses.replace(content, charts=charts, totals=totals, errors=errors, estimation=made)
    html = build_page(hostile, dataclasses.replace(FRAME, dataset=HOSTILE, release_id=HOSTILE))
    assert re.findall("<script[^>]*>", html) == ['<script type="application/json">', "<script>"]
    assert " ".join(HOSTILE.split()) in _text(html)


def test_the_query_is_one_shell_word_for_each_argument() -> None:
    content = lean()
    charts = (dataclasses.replace(content.charts[0], name="Bob's ; rm -rf *"),)
    command = re.search(
        r"<pre><code>(dplib query.*?)</code>", build_page(dataclasses.replace(content, charts=charts), FRAME), re.S
    )
    assert command is not None
    # A shell drops a backslash at the end of a line with the line's end.
    words = shlex.split(unescape(command[1]).replace("\\\n", ""))
    assert words == [
        *("dplib", "query", FRAME.release_id, "--item", "Bob's ; rm -rf *"),
        *("--from", "2013-01-01", "--to", "2013-01-31"),
    ]


def test_rounds_are_drawn_and_a_missed_threshold_is_said() -> None:
    html = build_page(_alternating(lean(), converged=False), FRAME)
    assert "Convergence of the rounds" in html
    assert "reached its limit of rounds" in html
    assert "no errors are stated" in html
    exact = build_page(lean(), FRAME)
    assert "Convergence of the rounds" not in exact
    assert "reached its limit of rounds" not in exact


@pytest.mark.usefixtures("without_pictures")
def test_where_nothing_is_published_the_page_says_why() -> None:
    content = lean()
    made = dataclasses.replace(content.estimation, unpublished="Equations have no exact integer tables here.")
    bare = tuple(
        dataclasses.replace(chart, levels=tuple(dataclasses.replace(level, published=None) for level in chart.levels))
        for chart in content.charts
    )
    totals = dataclasses.replace(content.totals, published=None)
    html = build_page(dataclasses.replace(content, estimation=made, charts=bare, totals=totals), FRAME)
    assert html.count("Equations have no exact integer tables here.") == 2
    assert "published count" not in html
    assert "Published</th>" not in html


@pytest.mark.usefixtures("without_pictures")
def test_the_account_adds_up() -> None:
    account = AccountState(Currency.ZCDP, Fraction(1), Fraction(1, 3), Fraction(1, 8))
    text = _text(build_page(lean(), dataclasses.replace(FRAME, account=account)))
    # Spent amounts are rounded up; what is left is rounded to nearest and marked.
    assert "Before 0.33334 spent This release 0.125 After 0.45834 spent, ≈ 0.541667 left" in text
    assert "rho (zCDP)" in text


@pytest.mark.usefixtures("without_pictures")
def test_long_series_are_cut_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MAX_POINTS", 90)
    monkeypatch.setattr(page, "MAX_ROWS", 10)
    text = _text(build_page(sample(), FRAME))
    assert "The latest 90 of 365 intervals are drawn." in text
    assert "the first 10 of 35" in text
    # The largest estimates are kept.
    assert [name in text for name in sample().totals.names[9:11]] == [True, False]


@pytest.mark.usefixtures("without_pictures")
def test_days_that_a_stream_has_not_measured_are_not_counted() -> None:
    totals = dataclasses.replace(lean().totals, published=np.rint(lean().totals.estimate).clip(0))
    content = dataclasses.replace(lean(), n_days=360, state=("Not measured: five days.",), totals=totals)
    shown = _text(build_page(content, dataclasses.replace(FRAME, logical_date="stream", newest_day="2013-12-31")))
    assert "on each of 360 days" in shown
    assert "both included (360 of 365)" in shown
    assert "Every series over all days whose sum is known" in shown
    assert "the whole range," not in shown
    # Its versions have one name, and an example of a query asks for what is measured.
    assert shown.count(f"{FRAME.release_id}, stream up to 2013-12-31") == 2
    assert "logical date" not in shown.lower()
    assert "--from 2013-12-31 --to 2013-12-31" in shown
    assert "whole numbers that add up exactly" in shown
    totals = dataclasses.replace(totals, published=totals.published + 0.25)
    assert "real numbers" in _text(build_page(dataclasses.replace(content, totals=totals), FRAME))


@pytest.mark.usefixtures("without_pictures")
def test_totals_that_their_error_swallows_stand_back() -> None:
    content = lean()
    swallowed = int((np.abs(content.totals.estimate) <= content.totals.half_width).sum())
    all_of_them = dataclasses.replace(content.totals, half_width=np.abs(content.totals.estimate) + 1)
    for shown, n in ((content, swallowed), (dataclasses.replace(content, totals=all_of_them), len(all_of_them.names))):
        assert build_page(shown, FRAME).count('<span class="faint">') == 4 * n
