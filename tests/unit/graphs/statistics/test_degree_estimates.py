"""Estimates from noisy degree statistics: nearest feasible points, and less error than the noisy values."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from dplib.graphs.statistics.degree_estimates import (
    estimate_from_cumulative,
    estimate_histogram,
    estimate_projection_loss,
    estimate_sorted_degrees,
)
from dplib.graphs.statistics.degrees import cumulative_histogram, degree_histogram, sorted_degrees
from dplib.graphs.statistics.truncation import project_graph
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.randomness.keyed import KeyedStream
from tests.support.network_oracles import stored_graph

NUMBERS = st.lists(st.integers(-30, 40), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None)
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


def test_the_sorted_estimate_against_a_general_solver() -> None:
    noisy = np.array([3.0, 1.0, 2.0, 8.0, 7.0, 30.0, 5.0])
    order = LinearConstraint(np.diff(np.eye(7), axis=0), 0, np.inf)

    def distance(x: np.ndarray) -> float:
        return float(((x - noisy) ** 2).sum())

    solved = minimize(distance, np.zeros(7), bounds=[(0, 12)] * 7, constraints=order)
    assert estimate_sorted_degrees(noisy, 12) == pytest.approx(solved.x, abs=1e-4)


@settings(max_examples=50, deadline=None)
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


def test_isotonic_regression_takes_most_of_the_error_away_on_a_real_graph() -> None:
    """Sorted degrees of Email-Enron at epsilon 1, noise of scale 2: less than a tenth of the squared error is left."""
    graph = stored_graph("Email-Enron.txt.gz")
    n, truth = graph.n_vertices, sorted_degrees(graph.degrees())
    noisy = truth + draw_discrete_laplace(KeyedStream(bytes(32), "sorted"), Fraction(2), n)
    estimate = estimate_sorted_degrees(noisy, n - 1)
    assert ((estimate - truth) ** 2).sum() < 0.1 * ((noisy - truth) ** 2).sum()


@pytest.mark.parametrize("bound", [20, 50, 100])
@pytest.mark.parametrize("name", ["ca-GrQc.txt", "Email-Enron.txt.gz", "facebook_combined.txt"])
def test_projection_loss_lies_between_the_two_guesses_on_real_graphs(name: str, bound: int) -> None:
    graph = stored_graph(name)
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
