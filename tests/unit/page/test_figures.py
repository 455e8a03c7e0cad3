"""The drawings hold what they are given, in colours that follow the page, the same every time."""

import datetime as dt
import re
import xml.etree.ElementTree as ET
from fractions import Fraction

import matplotlib
import numpy as np
import pytest

from dplib.page import drawing
from dplib.page.drawing import COLOURS, embedded
from dplib.page.few_pictures import few_of_a_kind
from dplib.page.figures import Series, budget_bar, convergence, error_by_query, series_with_band
from dplib.progress import Round

DAYS = [dt.date(2020, 2, 1) + dt.timedelta(days=day) for day in range(100)]
NAMES = ("series", "months", "errors", "rounds", "budget")
ROUNDS = [Round(number, 0.5**number, 10 * 0.5**number) for number in range(1, 8)]
HOSTILE = "</svg><script>alert(1)</script> $\\frac{ \x00 \N{CJK UNIFIED IDEOGRAPH-4E2D}"


def _series(n: int = 100, published: bool = True) -> str:
    values = np.linspace(-5, 60, n)
    return series_with_band(
        Series(DAYS[:n], values, np.full(n, 4.0), np.rint(values).clip(0) if published else None, "count a day")
    )


def _all() -> dict[str, str]:
    return {
        "series": _series(),
        "months": _series(12),
        "errors": error_by_query(["day", "total"], [3, 9], {"flat": [2, 40]}),
        "rounds": convergence(ROUNDS),
        "budget": budget_bar(Fraction(4), Fraction(1), Fraction(1, 2), "epsilon"),
    }


@pytest.fixture(scope="module")
def drawings() -> dict[str, str]:
    return _all()


def _root(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - our own drawing


def _texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in _root(svg).iter("text")]


def _path(svg: str, colour: str) -> list[str]:
    """The outlines drawn or filled in one colour."""
    variable = f"var(--fig-{colour}"
    return [path.get("d", "") for path in _root(svg).iter("path") if variable in path.get("style", "")]


def _points(outline: str) -> np.ndarray:
    return np.array([[float(x), float(y)] for x, y in re.findall(r"[ML] (\S+) (\S+)", outline)])


def test_the_same_again_whatever_the_readers_settings(drawings: dict[str, str]) -> None:
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.hashsalt": None, "axes.facecolor": "red"}):
        drawing._kept.clear()
        before = dict(matplotlib.rcParams)
        assert _all() == drawings
        assert dict(matplotlib.rcParams) == before


def test_a_figure_is_drawn_again_only_where_something_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that was left out, since nobody looks, is drawn where somebody does."""
    drawn: list[str] = []
    monkeypatch.setattr(drawing, "_kept", {})
    monkeypatch.setattr(drawing, "MAX_KEPT", 3)

    def noted(raw: str) -> str:
        drawn.append(raw)
        return raw

    monkeypatch.setattr(drawing, "_tidy", noted)

    def bar(this: int) -> str:
        return budget_bar(Fraction(90), Fraction(1), Fraction(this), "epsilon")

    first, other = bar(1), bar(2)
    assert first != other
    assert (bar(1), bar(2), len(drawn)) == (first, other, 2)
    with few_of_a_kind():
        hidden = [bar(this) for this in (3, 4, 5)]
    assert bar(5) != hidden[2]
    for this in range(6, 6 + drawing.MAX_KEPT):
        bar(this)
    assert len(drawing._kept) == drawing.MAX_KEPT
    n_drawn = len(drawn)
    assert bar(1) == first
    assert len(drawn) == n_drawn + 1


@pytest.mark.parametrize("name", NAMES)
def test_drawings_need_nothing_from_outside(name: str, drawings: dict[str, str]) -> None:
    svg = drawings[name]
    assert "http" not in svg
    assert "DejaVu" not in svg
    assert "<style" not in svg
    ids = re.findall(r' id="([^"]+)"', svg)
    assert len(ids) == len(set(ids))
    assert set(ids) == set(re.findall(r"#([A-Za-z]\w+)[)\"]", re.sub(r"style=\"[^\"]*\"", "", svg)))


@pytest.mark.parametrize("name", NAMES)
def test_every_colour_is_a_variable_of_the_page(name: str, drawings: dict[str, str]) -> None:
    svg = drawings[name]
    colours = set(re.findall(r"#[0-9a-f]{6}\b", svg))
    assert colours <= set(COLOURS.values())
    for variable, colour in COLOURS.items():
        assert svg.count(colour) == svg.count(f"var(--fig-{variable}, {colour})")


def test_the_band_is_as_wide_as_the_interval() -> None:
    n, error = 100, 4.0
    svg = series_with_band(Series(DAYS, np.full(n, 50.0), np.full(n, error), np.full(n, 30.0)))
    line = min(
        (_points(path) for path in _path(svg, "accent") if path.count("L") > 1), key=lambda points: np.ptp(points[:, 1])
    )
    dots = max((_points(path) for path in _path(svg, "contrast")), key=len)
    # The band is a definition used once, hence drawn from another origin: its height alone matters.
    band = max((_points(path.get("d", "")) for path in _root(svg).iter("path") if path.get("id")), key=len)
    counts_per_pixel = (50.0 - 30.0) / (dots[0, 1] - line[0, 1])
    assert np.ptp(band[:, 1]) * counts_per_pixel == pytest.approx(2 * error, rel=0.01)
    assert len(dots) == 2 * n


def test_few_values_are_drawn_one_by_one_and_many_as_a_line() -> None:
    assert len(re.findall("<use", _series(12))) > 24
    assert max(path.count("L") for path in _path(_series(100), "accent")) >= 50


def test_published_counts_appear_only_where_there_are_some() -> None:
    assert "published count" in _texts(_series())
    bare = _series(published=False)
    assert "published count" not in _texts(bare)
    assert not _path(bare, "contrast")


def test_names_instead_of_dates() -> None:
    texts = _texts(series_with_band(Series(["spring", "summer"], [1, 2], [1, 1])))
    assert {"spring", "summer"} <= set(texts)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("letters", [300, 40])
def test_long_names_are_cut_and_leave_room_for_the_drawing(letters: int) -> None:
    names = [f"{number}{'x' * letters}" for number in range(60)]
    svg = series_with_band(Series(names, np.arange(60), np.ones(60)))
    assert {"0xxxxxxxx…", "54xxxxxxx…"} <= set(_texts(svg))
    assert max(map(len, _texts(svg))) < 20


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ([-1.7e308, 1.7e308], {"−1.5e308", "0", "1e308"}),
        ([-1e300, 0, 1e300], {"−1e300", "0", "5e299"}),
        ([1e-300, 1e-299], {"2e−300", "1e−299"}),
        ([5e-324, 1e-323], {"0"}),
        ([-3.0, 3.0], {"−3", "0", "3"}),
    ],
)
def test_positions_at_the_ends_of_the_floats_are_drawn(ends: list[float], shown: set[str]) -> None:
    svg = series_with_band(Series(ends, np.arange(len(ends)), np.ones(len(ends)), np.arange(len(ends))))
    assert shown <= set(_texts(svg))
    assert not re.search("nan|inf", svg)


def test_skewed_counts_have_ticks_from_the_noise_on() -> None:
    texts = _texts(series_with_band(Series(DAYS[:4], [1, -3, 2, 40000], [6.0] * 4, y_label="count")))
    assert "count, logarithmic" in texts
    assert {"0", "10", "100", "1,000", "10,000"} <= set(texts)
    assert "1" not in texts


def test_few_days_have_their_names_below_them() -> None:
    for days in (DAYS[:1], DAYS[:2], DAYS[:4], [dt.date(2026, 1, 26), dt.date(2026, 2, 1)]):
        svg = series_with_band(Series(days, np.ones(len(days)), np.ones(len(days))))
        assert {day.isoformat() for day in days} <= set(_texts(svg))
        assert not any(":" in text for text in _texts(svg))


def test_marked_points_are_told_apart_and_named() -> None:
    for n in (12, 100):
        marked = np.arange(n) >= n - 3
        svg = series_with_band(Series(DAYS[:n], np.ones(n), np.ones(n), marked=marked, mark="preliminary"))
        assert "preliminary" in _texts(svg)
        assert svg != series_with_band(Series(DAYS[:n], np.ones(n), np.ones(n), marked=~marked, mark="preliminary"))
        assert "preliminary" not in _texts(series_with_band(Series(DAYS[:n], np.ones(n), np.ones(n))))


def test_errors_stand_at_their_place_on_a_logarithmic_axis() -> None:
    svg = error_by_query(["a"], [10], {"one": [1], "two": [100], "none": [np.nan]})
    root = _root(svg)
    bars = [_points(path) for path in _path(svg, "grid")]
    bar = max(bars, key=lambda points: np.ptp(points[:, 0]) if np.ptp(points[:, 1]) == 0 else 0)
    marks = [float(use.get("x", "nan")) for use in root.iter("use") if float(use.get("y", 0)) == bar[0, 1]]
    # 10 is half way between 1 and 100, and the bar ends at these.
    assert sorted(marks) == pytest.approx([bar[:, 0].min(), bar[:, 0].mean(), bar[:, 0].max()], abs=0.02)
    assert {"this release", "one", "two", "none"} <= set(_texts(svg))


def test_rounds_without_change_are_left_out() -> None:
    svg = convergence([*ROUNDS, Round(8, 0.0, 0.0)])
    outlines = [_points(path) for path in _path(svg, "accent")]
    assert max(map(len, outlines)) == len(ROUNDS)


def test_the_bar_is_divided_as_the_budget_is(drawings: dict[str, str]) -> None:
    svg = drawings["budget"]
    widths = {
        colour: max(np.ptp(_points(path)[:, 0]) for path in _path(svg, colour) if path.endswith("z"))
        for colour in ("grid", "accent")
    }
    assert widths["accent"] / widths["grid"] == pytest.approx(1 / 8, rel=0.01)
    assert {"spent before", "this release", "left", "epsilon"} <= set(_texts(svg))


def test_hostile_names_are_text() -> None:
    svg = error_by_query([HOSTILE], [1], {HOSTILE: [2]})
    assert "<script" not in svg
    shown = HOSTILE.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    assert _texts(svg).count(shown) == 2


def test_identifiers_get_the_prefix_and_nothing_else_does() -> None:
    svg = error_by_query(['url(#x) id="y"'], [1], {})
    inside = embedded(svg, prefix="f7-", label='a "label" <b>')
    root = _root(inside)
    assert root.get("aria-label") == 'a "label" <b>'
    ids = {element.get("id") for element in root.iter() if element.get("id")}
    assert ids
    assert all(name is not None and name.startswith("f7-") for name in ids)
    uses = {element.get("href", "")[1:] for element in root.iter("use")}
    clips = {element.get("clip-path", "")[5:-1] for element in root.iter() if element.get("clip-path")}
    assert uses | clips == ids
    assert 'url(#x) id="y"' in _texts(inside)
