"""The drawing of a cactus: everything on it, nothing on top of another thing, the same every time."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.graphs.cactus.cactus import checked_cactus
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cactus.cactus_standard_form import standard_form
from dplib.graphs.edges import canonical
from dplib.page.cactus_figure import MAX_NODES, cactus_drawing
from dplib.page.drawing import COLOURS
from dplib.page.tree_layout import tree_layout
from tests.support.graph_oracles import CUT_CASE_NAMES, CUT_CASES, case_cactus


def words(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter("text")]  # noqa: S314 - our own drawing


@pytest.mark.parametrize("case", CUT_CASES[::3], ids=CUT_CASE_NAMES[::3])
def test_all_vertices_and_the_number_of_cuts_are_shown(case: dict) -> None:  # type: ignore[type-arg]
    svg = cactus_drawing(case_cactus(case))
    shown = words(svg)
    number = case["num_min_cuts"]
    assert f"{number} minimum {'cut' if number == 1 else 'cuts'}" in shown
    for held in case["cactus"]["nodes"].values():
        if 0 < len(held) <= 3:
            assert ", ".join(map(str, held)) in shown
    assert svg.count(f"stroke: var(--fig-accent, {COLOURS['accent']})") >= len(case["cactus"]["tree_edges"])


def test_a_drawing_is_the_same_every_time_and_for_every_form() -> None:
    ring = checked_cactus(5, [0, 1, 2, 3, 4], [], [[0, 1, 2, 3, 4]])
    turned = checked_cactus(5, [4, 0, 1, 2, 3], [], [[4, 0, 1, 2, 3]])
    assert cactus_drawing(ring) == cactus_drawing(ring) == cactus_drawing(turned) == cactus_drawing(standard_form(ring))


def test_names_are_shortened_and_escaped() -> None:
    cactus = checked_cactus(3, [0, 1, 1, 1, 1, 2], [[0, 1], [1, 2]], [])
    shown = words(cactus_drawing(cactus, ["<b>$x$", "a", "b", "c", "d", "a name that is far too long"]))
    assert "<b>$x$" in shown
    assert "a, b, c +1" in shown
    assert "a name that is …" in shown
    crowd = checked_cactus(2, [0] * 40 + [1], [[0, 1]], [])
    assert "40 vertices" in words(cactus_drawing(crowd, [f"vertex {number}" for number in range(41)]))


def test_a_single_node_and_the_largest_cactus() -> None:
    assert "0 minimum cuts" in words(cactus_drawing(checked_cactus(1, [0], [], [])))
    n = MAX_NODES + 1
    star = cactus_of_graph(canonical(n, np.zeros(n - 1, dtype=int), np.arange(1, n)), 1)
    with pytest.raises(ConfigError, match="at most 80 nodes"):
        cactus_drawing(star)
    with pytest.raises(ConfigError, match="names must name every vertex"):
        cactus_drawing(checked_cactus(1, [0], [], []), ["a", "b"])


@pytest.mark.parametrize("seed", range(6))
def test_layouts_keep_room_lengths_and_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 45))
    neighbors: list[list[int]] = [[] for _ in range(n)]
    for node in range(1, n):
        other = int(rng.integers(max(0, node - 8), node) if seed % 2 else rng.integers(0, 1 + node // 6))
        neighbors[node].append(other)
        neighbors[other].append(node)
    edges = [(one, other) for one in range(n) for other in neighbors[one]]
    room = rng.uniform(0.1, 0.5, n)
    at = tree_layout(neighbors, dict.fromkeys(edges, 1.5), room)
    np.testing.assert_array_equal(at, tree_layout(neighbors, dict.fromkeys(edges, 1.5), room))
    np.testing.assert_allclose(at.mean(axis=0), 0, atol=1e-9)
    for one, other in itertools.combinations(range(n), 2):
        assert np.hypot(*(at[one] - at[other])) >= room[one] + room[other]
    for one, other in edges:
        assert np.hypot(*(at[one] - at[other])) >= 1.5 - 1e-9
    for node, around in enumerate(neighbors):
        angles = [np.arctan2(*(at[near] - at[node])[::-1]) for near in around]
        turns = [(after - before) % (2 * np.pi) for before, after in itertools.pairwise([*angles, angles[0]])]
        assert sum(turns) == pytest.approx(2 * np.pi if len(around) > 1 else 0)
    lines = [(at[one], at[other], {one, other}) for one, other in edges if one < other]
    for (start, end, ends), (first, last, others) in itertools.combinations(lines, 2):
        assert ends & others or not (splits(start, end, first, last) and splits(first, last, start, end))
    for node, (start, end, ends) in itertools.product(range(n), lines):
        along = np.clip((at[node] - start) @ (end - start) / ((end - start) @ (end - start)), 0, 1)
        assert node in ends or np.hypot(*(start + along * (end - start) - at[node])) >= room[node]


def splits(start: FloatArray, end: FloatArray, one: FloatArray, other: FloatArray) -> bool:
    """Whether the line through the first two points has the others on different sides."""
    sides = [(end - start)[0] * (point - start)[1] - (end - start)[1] * (point - start)[0] for point in (one, other)]
    return bool(sides[0] * sides[1] < 0)


def test_symmetric_cacti_have_symmetric_drawings() -> None:
    """A star of equal branches: every branch as long, the same angle between any two."""
    at = tree_layout(
        [[1, 2, 3, 4, 5], *[[0]] * 5],
        {edge: 3.0 for leaf in range(1, 6) for edge in ((0, leaf), (leaf, 0))},
        np.ones(6),
    )
    spokes = at[1:] - at[0]
    np.testing.assert_allclose(np.hypot(*spokes.T), 3)
    angles = np.unwrap(np.arctan2(*spokes.T[::-1]))
    np.testing.assert_allclose(np.diff(angles), 2 * np.pi / 5)


def test_branches_that_bend_back_stay_off_a_wide_node() -> None:
    """Three bushes around a node that keeps much room: nothing of them comes into it."""
    neighbors = [[1, 2, 3], *([0, *range(4 + 8 * bush, 12 + 8 * bush)] for bush in range(3))]
    neighbors += [[1 + leaf // 8] for leaf in range(24)]
    lengths = {(one, other): 6.0 for one, around in enumerate(neighbors) for other in around}
    lengths |= {edge: 11.0 for bush in (1, 2, 3) for edge in ((0, bush), (bush, 0))}
    at = tree_layout(neighbors, lengths, np.array([10.0] + [0.5] * 27))
    assert np.hypot(*(at[1:] - at[0]).T).min() >= 10.5 - 1e-9


def test_a_path_lies_level_from_vertex_0_on() -> None:
    n = 30
    neighbors = [[near for near in (node - 1, node + 1) if 0 <= near < n] for node in range(n)]
    lengths = {(one, other): 2.0 + min(one, other) for one in range(n) for other in neighbors[one]}
    at = tree_layout(neighbors, lengths, np.full(n, 0.5))
    np.testing.assert_allclose(at[:, 1], 0, atol=1e-6)
    np.testing.assert_allclose(np.diff(at[:, 0]), 2.0 + np.arange(n - 1))


def test_the_drawing_is_small_and_uses_the_page_colours() -> None:
    ring = checked_cactus(20, list(range(20)), [], [list(range(20))])
    svg = cactus_drawing(ring)
    assert len(svg) < 20_000
    assert set(re.findall(r"#[0-9a-f]{6}", svg)) <= set(COLOURS.values())
