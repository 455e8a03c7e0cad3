"""Time of one draw of each exact sampler, beside OpenDP's and numpy's unsafe ones in the same process.

Run it with ``python -m scripts.bench.noise``. Every number is the median of five runs after a warm-up, in processor
time, since all are single-threaded and a busy machine makes the clock on the wall tell of its other work; the samplers
take turns within a round, so that what still disturbs them disturbs all alike.
"""

import os
import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median
from typing import TypedDict

import numpy as np
import opendp.prelude as opendp

from dplib.mechanisms.discrete_gaussian import draw_discrete_gaussian
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.randomness.keyed import KeyedStream

ROUNDS = 5
OUR_DRAWS = 1_000_000
OPENDP_DRAWS = 20_000  # it is a hundred times slower; the time of a draw does not depend on their number
SCALES = (1, 55, 1000)


class Row(TypedDict):
    """One line of the table; times in nanoseconds of processor time a draw, load of the machine in processes."""

    sampler: str
    scale: int
    ours_ns: float
    opendp_ns: float
    numpy_ns: float
    ratio: float
    load: float


def run(scales: tuple[int, ...] = SCALES) -> list[Row]:
    """Time the samplers at each scale (Laplace b, Gaussian sigma, in counts)."""
    opendp.enable_features("contrib")
    rows = []
    for scale in scales:
        rows.append(_row("discrete_laplace", scale, *_laplace(scale)))
        rows.append(_row("discrete_gaussian", scale, *_gaussian(scale)))
    return rows


Draw = Callable[[int], object]


def _laplace(scale: int) -> tuple[Draw, Draw, Draw]:
    stream = KeyedStream(bytes(32), "bench", "laplace", scale)
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    theirs = opendp.m.make_laplace(*space, scale=float(scale))
    unsafe = np.random.default_rng(0)
    return (
        lambda n: draw_discrete_laplace(stream, Fraction(scale), n),
        lambda n: theirs([0] * n),
        lambda n: unsafe.laplace(scale=scale, size=n),
    )


def _gaussian(scale: int) -> tuple[Draw, Draw, Draw]:
    stream = KeyedStream(bytes(32), "bench", "gaussian", scale)
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="f64")
    theirs = opendp.m.make_gaussian(*space, scale=float(scale))
    unsafe = np.random.default_rng(0)
    return (
        lambda n: draw_discrete_gaussian(stream, Fraction(scale**2), n),
        lambda n: theirs([0] * n),
        lambda n: unsafe.normal(scale=scale, size=n),
    )


def _row(sampler: str, scale: int, ours: Draw, theirs: Draw, unsafe: Draw) -> Row:
    contestants = ((ours, OUR_DRAWS), (theirs, OPENDP_DRAWS), (unsafe, OUR_DRAWS))
    times: list[list[float]] = [[], [], []]
    for turn in range(ROUNDS + 1):
        for taken, (draw, n) in zip(times, contestants, strict=True):
            start = time.process_time()
            draw(n)
            if turn:  # the first round warms up
                taken.append((time.process_time() - start) / n * 1e9)
    ours_ns, opendp_ns, numpy_ns = map(median, times)
    return Row(
        sampler=sampler,
        scale=scale,
        ours_ns=ours_ns,
        opendp_ns=opendp_ns,
        numpy_ns=numpy_ns,
        ratio=opendp_ns / ours_ns,
        load=os.getloadavg()[0],
    )


def main() -> None:
    print("nanoseconds of processor time a draw, one core, median of 5 after a warm-up")
    print(f"{'sampler':<18} {'scale':>6} {'dplib':>8} {'OpenDP':>9} {'ratio':>7} {'numpy, unsafe':>14} {'load':>6}")
    for row in run():
        print(
            f"{row['sampler']:<18} {row['scale']:>6} {row['ours_ns']:>8.0f} {row['opendp_ns']:>9.0f} "
            f"{row['ratio']:>6.0f}x {row['numpy_ns']:>14.0f} {row['load']:>6.2f}"
        )


if __name__ == "__main__":
    main()
