"""Measuring levels: what is added where, and that nothing true leaks."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.mechanisms import tree_counts as module
from dplib.mechanisms.discrete_gaussian import draw_discrete_gaussian
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.noise import Law, Noise
from dplib.randomness.keyed import KeyedStream

KEY = bytes(range(32))


LAPLACE = Noise(Law.LAPLACE, Fraction(7, 2), Fraction(1))
GAUSSIAN = Noise(Law.GAUSSIAN, Fraction(20), Fraction(1))


def _levels() -> list[IntArray]:
    return [np.full((n, 3), 10 * n, dtype=np.int64) for n in (1, 4, 16)]


def test_each_level_gets_the_noise_of_its_own_stream() -> None:
    counts = _levels()
    measured = measure_levels(counts, [LAPLACE, GAUSSIAN, LAPLACE], KEY, "sales", 5)
    drawn = [
        draw_discrete_laplace(KeyedStream(KEY, "sales", 5, 0), Fraction(7, 2), 3),
        draw_discrete_gaussian(KeyedStream(KEY, "sales", 5, 1), Fraction(20), 12),
        draw_discrete_laplace(KeyedStream(KEY, "sales", 5, 2), Fraction(7, 2), 48),
    ]
    for before, after, noise in zip(counts, measured, drawn, strict=True):
        np.testing.assert_array_equal(after - before, noise.reshape(before.shape))
        assert after.dtype == np.int64


def test_inputs_are_left_alone_and_memory_order_does_not_matter() -> None:
    counts = [np.arange(24, dtype=np.int64).reshape(4, 6)]
    kept = counts[0].copy()
    (measured,) = measure_levels(counts, [LAPLACE], KEY, "s", "b")
    (other,) = measure_levels([np.asfortranarray(counts[0])], [LAPLACE], KEY, "s", "b")
    np.testing.assert_array_equal(counts[0], kept)
    np.testing.assert_array_equal(measured, other)


def test_unmeasured_levels_are_zeros_and_do_not_move_the_others() -> None:
    counts = _levels()
    everything = measure_levels(counts, [LAPLACE, LAPLACE, LAPLACE], KEY, "s", "b")
    partly = measure_levels(counts, [None, LAPLACE, None], KEY, "s", "b")
    np.testing.assert_array_equal(partly[1], everything[1])
    for level in (0, 2):
        assert partly[level].shape == counts[level].shape
        assert not partly[level].any()


def test_key_statistic_block_and_level_all_name_the_stream() -> None:
    zeros = [np.zeros(200, dtype=np.int64)] * 2
    runs = [
        measure_levels(zeros, [LAPLACE] * 2, key, statistic, block)
        for key in (KEY, KEY[::-1])
        for statistic in ("a", "b")
        for block in ("1", 1)
    ]
    drawn = {level.tobytes() for run in runs for level in run}
    assert len(drawn) == 2 * len(runs)


def test_counts_beyond_64_bits_are_the_true_noisy_counts_modulo_2_to_the_64(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is published must be a function of the true noisy count: two ways to reach one count give one number."""
    limits = np.iinfo(np.int64)
    noise = np.array([5, -5, -5, 5, 0, 1], dtype=np.int64)
    monkeypatch.setattr(module, "SAMPLERS", {"discrete_laplace": lambda stream, parameter, size: noise})
    counts = np.array([limits.max - 4, limits.min + 4, limits.max, limits.min, limits.max, limits.max - 1])
    (measured,) = measure_levels([counts], [LAPLACE], KEY, "s", "b")
    exact = [(int(c) + int(n) + 2**63) % 2**64 - 2**63 for c, n in zip(counts, noise, strict=True)]
    assert measured.tolist() == exact


def test_bad_arguments_are_refused_without_showing_counts() -> None:
    counts = [np.array([987654321], dtype=np.int64)]
    refused = [
        (
            lambda: measure_levels(counts, [], KEY, "s", "b"),
            "noise must have one entry for each of the 1 levels, got 0",
        ),
        (lambda: measure_levels([counts[0].astype(float)], [LAPLACE], KEY, "s", "b"), "counts must be 64-bit integers"),
        (
            lambda: measure_levels(counts, [Noise(Law.LAPLACE, Fraction(2**41), Fraction(1))], KEY, "s", "b"),
            "scale must lie",
        ),
        (lambda: measure_levels(counts, [LAPLACE], KEY[:8], "s", "b"), "key must have at least 32 bytes"),
    ]
    for call, message in refused:
        with pytest.raises(ConfigError, match=message) as caught:
            call()
        assert "987654321" not in str(caught.value)
