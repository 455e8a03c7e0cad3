"""Estimates from noisy degree statistics: nearest feasible points, and less error than the noisy values."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.graphs.statistics.degree_estimates import (
    estimate_from_cumulative,
    estimate_histogram,
    estimate_projection_loss,
    estimate_sorted_degrees,
)
from dplib.graphs.statistics.degrees import cumulative_histogram, degree_histogram, sorted_degrees
from dplib.graphs.statistics.truncation import project_graph
from tests.support.network_oracles import stored_graph

NUMBERS = st.lists(st.integers(-30, 40), min_size=1, max_size=12)


@settings(max_examples=20, deadline=None)
@given(noisy=NUMBERS, steps=st.lists(st.integers(0, 9), min_size=12, max_size=12))
def test_the_sorted_estimate_is_nearest_among_ascending_sequences_in_range(noisy: list[int], steps: list[int]) -> None:
    """The variational inequality of a projection: no feasible point lies on the noisy side of the estimate."""
    estimate = estimate_sorted_degrees(noisy, 20)
    assert (np.diff(estimate) >= 0).all()
    assert estimate.min() >= 0
    assert estimate.max() <= 20
    other = np.minimum(np.cumsum(steps)[: len(noisy)], 20)
    assert (np.array(noisy) - estimate) @ (other - estimate) <= 1e-7
    assert estimate_sorted_degrees(estimate, 20) == pytest.approx(estimate)


@settings(max_examples=15, deadline=None)
@given(noisy=NUMBERS, n=st.integers(0, 50))
def test_histograms_are_nonnegative_with_the_public_sum(noisy: list[int], n: int) -> None:
    for estimate in (estimate_histogram(noisy, n), estimate_from_cumulative(noisy, n)):
        assert (estimate >= -1e-9).all()
        assert estimate.sum() == pytest.approx(n)
    assert len(estimate_from_cumulative(noisy, n)) == len(noisy) + 1


def test_without_noise_the_estimates_are_the_truth() -> None:
    degrees = np.array([0, 3, 3, 1, 2, 2, 2, 5])
    histogram = degree_histogram(degrees, 7)
    assert estimate_sorted_degrees(sorted_degrees(degrees), 7) == pytest.approx(np.sort(degrees))
    assert estimate_histogram(histogram, 8) == pytest.approx(histogram)
    assert estimate_from_cumulative(cumulative_histogram(histogram), 8) == pytest.approx(histogram)
    assert len(estimate_sorted_degrees([], 0)) == 0


@pytest.mark.parametrize("name", ["ca-GrQc.txt", "Email-Enron.txt.gz", "facebook_combined.txt"])
def test_projection_loss_lies_between_the_two_guesses_on_real_graphs(name: str) -> None:
    graph = stored_graph(name)
    for bound in (20, 100):
        n, kept = graph.n_vertices, project_graph(graph, bound, 1)
        histogram = degree_histogram(kept.degrees(), bound)
        loss = estimate_projection_loss(histogram, n)
        lost = graph.n_edges - kept.n_edges
        assert loss.light_tail <= lost <= loss.heavy_tail
        assert loss.full_share == histogram[-1] / n


def test_projection_loss_of_full_and_of_untouched_graphs() -> None:
    whole = nx.path_graph(10)
    untouched = np.bincount([d for _, d in whole.degree], minlength=6)
    assert estimate_projection_loss(untouched, 10).heavy_tail == 0
    full = estimate_projection_loss(np.array([0, 0, 10]), 10)
    assert full.full_share == 1
    assert full.light_tail == full.heavy_tail == np.inf
