"""The page stands alone, escapes what it is given, and is well formed."""

import math
import re
from fractions import Fraction
from html.parser import HTMLParser

import pytest

from dplib.page.blocks import (
    Bullets,
    Callout,
    Code,
    Column,
    DataTable,
    Figure,
    KeyValues,
    Mono,
    Paragraphs,
    Section,
    Strong,
    heads,
)
from dplib.page.drawing import COLOURS
from dplib.page.figures import budget_bar
from dplib.page.number_text import (
    bound_text,
    count_text,
    counted,
    exact_text,
    number_text,
    span_text,
    terminal_number,
    terminal_with_error,
    with_margin,
)
from dplib.page.page import render_page

HOSTILE = "<img src=x onerror=alert(1)> & \"'{{ 7 * 7 }}"
FIGURE = Figure(budget_bar(Fraction(2), Fraction(0), Fraction(1), "epsilon"), HOSTILE, HOSTILE, HOSTILE)


def _page(text: str = "plain") -> str:
    blocks = (
        Paragraphs((text, (text, Mono(text), Strong(text)))), Bullets((text,)), KeyValues(((text, text),)),
        DataTable(text, (Column(text), Column("n", numeric=True)), ((text, "1"), ("b", "2"))), FIGURE, FIGURE,
        Callout(text, text, tone="warning"), Code(text, text),
    )  # fmt: skip
    return render_page(text, text, (Section("One", blocks), Section("One", (Paragraphs((text,)),))))


class _Tree(HTMLParser):
    """Every element with its attributes; fails on a tag that is closed out of turn."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_structure_is_valid_and_accessible() -> None:
    tree = _Tree(_page())
    tags = [tag for tag, _ in tree.elements]
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert tree.named("html")[0]["lang"] == "en"
    assert all(cell.get("scope") in {"col", "row"} for cell in tree.named("th"))
    assert [cell["scope"] for cell in tree.named("th")] == ["col", "col", "row", "row"]
    assert all(svg.get("role") == "img" and svg.get("aria-label") for svg in tree.named("svg"))
    assert tags.count("table") == tags.count("caption")


def test_identifiers_are_unique_and_links_lead_somewhere() -> None:
    tree = _Tree(_page())
    ids = [attributes["id"] for _, attributes in tree.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for tag, attributes in tree.elements if "href" in attributes]
    assert len(links) > 4
    assert all(link is not None and link[0] == "#" and link[1:] in ids for link in links)
    for _, attributes in tree.elements:
        clip = attributes.get("clip-path")
        assert clip is None or clip[5:-1] in ids


def test_nothing_is_fetched_and_nothing_runs() -> None:
    html = _page()
    tree = _Tree(html)
    assert not {"script", "link", "img", "iframe", "object", "base"} & {tag for tag, _ in tree.elements}
    assert not any(name.startswith("on") or name == "src" for _, attributes in tree.elements for name in attributes)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", html)
    policy = next(meta["content"] for meta in tree.named("meta") if "http-equiv" in meta)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_every_text_is_escaped_and_shown_as_it_is() -> None:
    plain, hostile = _Tree(_page()), _Tree(_page(HOSTILE))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert sum(text.count(HOSTILE) for text in hostile.texts) >= 14
    assert {svg["aria-label"] for svg in hostile.named("svg")} == {HOSTILE}


def test_same_input_same_bytes() -> None:
    assert _page().encode() == _page().encode()


def test_both_schemes_and_paper_define_every_colour_of_the_drawings() -> None:
    html = _page()
    for name, colour in COLOURS.items():
        # Light, dark and print.
        assert len(re.findall(rf"--fig-{name}: #", html)) == 3
        assert f"--fig-{name}: {colour}" in html


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="2 cells"):
        DataTable("t", (Column("a"), Column("b")), (("1",),))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12345.678, "12,346"),
        (0.000123456, "0.0001235"),
        (2e-7, "2e−7"),
        (-1.5, "−1.5"),
        (3e18, "3e18"),
        (0.99999, "1"),
    ],
)
def test_numbers_have_four_digits_at_least_the_whole_ones(value: float, text: str) -> None:
    assert number_text(value) == text


def test_numbers_that_are_none() -> None:
    assert number_text(float("nan")) == "–"
    assert number_text(float("inf")) == "∞"


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(2, 7), Fraction(10**7, 3), Fraction(1, 3 * 10**6), 0.1 + 0.2]
)
def test_bounds_are_never_below(value: Fraction | float) -> None:
    shown = Fraction(bound_text(value).replace(",", "").replace("−", "-"))
    # A float is read with 15 digits.
    true = value if isinstance(value, Fraction) else Fraction(f"{value:.15g}")
    assert true <= shown <= true * Fraction(10001, 10000)


def test_exact_numbers_stay_exact_or_say_so() -> None:
    assert exact_text(Fraction(1, 8)) == "0.125"
    assert exact_text(Fraction(12000)) == "12,000"
    assert exact_text(Fraction(1, 10**6)) == "1e−6"
    assert exact_text(Fraction(1, 3)) == "≈ 0.333333"
    assert bound_text(1e-6) == bound_text(math.nextafter(1e-6, 1)) == "1e−6"


def test_margins_set_the_digits() -> None:
    assert with_margin(1234.567, 38.2) == ("1,235", "38")
    assert with_margin(-2.3456, 0.127) == ("−2.35", "0.13")
    assert with_margin(5.0, 0.0) == ("5", "0")
    assert count_text(-1200) == "−1,200"


@pytest.mark.parametrize(
    ("value", "text"),
    [(91_330.4, "91,330"), (1.1e5, "110,000"), (-4.25, "-4.25"), (float("nan"), "-"), (2.5e9, "2,500,000,000")],
)
def test_one_notation_in_a_terminal(value: float, text: str) -> None:
    assert terminal_number(value) == text


def test_a_value_and_its_error_have_one_notation() -> None:
    assert terminal_with_error(91_330.2, 1.1e5) == "91,330 (110,000)"
    assert terminal_with_error(-4.25, 0.013) == "-4.250 (0.013)"
    assert terminal_with_error(12.0, None) == "12"


def test_numbers_of_a_kind_are_shown_from_the_least_to_the_most() -> None:
    assert span_text(2.80, 44.71) == "2.8 to 44.7"
    assert span_text(5.00, 5.04) == "5.02"
    assert span_text(0.0, 0.0) == "0"


def test_one_thing_has_no_plural() -> None:
    assert [counted(n, "row") for n in (0, 1, 1000)] == ["0 rows", "1 row", "1,000 rows"]


def test_a_table_s_first_column_names_its_rows() -> None:
    with pytest.raises(ValueError, match="names the rows"):
        DataTable("sides", heads(numbers=("side", "error")), (("1", "2"),))
