"""The exact law of what a client of the local model reports, by running it on every outcome of every coin.

`CoinTape` stands in for the random streams of one user. It answers each question of the client by the next choice of a
script, multiplies up the choice's exact probability, and remembers how many choices there were. Running the client for
all scripts gives the law of its report: of the program as it is written, not of a formula about it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dplib.randomness.digits import Probability
from dplib.randomness.keyed import Label
from dplib.randomness.user_streams import BoolArray, IntArray, UserStreams, number_users

DIGITS = 200  # probabilities are cut after so many binary digits
Law = Mapping[Any, Fraction]


class CoinTape(UserStreams):
    """One user's scripted coins; uniform words have ``word_bits`` bits, all that the client may look at."""

    def __init__(self, script: list[int], word_bits: int) -> None:
        super().__init__(bytes(32), number_users(np.zeros(1, dtype=np.int64)))
        self.script, self.word_bits = script, word_bits
        self.n_choices: list[int] = []
        self.weight = Fraction(1)

    def choose(self, weights: list[Fraction]) -> int:
        place = len(self.n_choices)
        if place == len(self.script):
            self.script.append(0)
        self.n_choices.append(len(weights))
        choice = self.script[place]
        self.weight *= weights[choice]
        return choice

    def under(self, *labels: Label) -> Self:
        return self

    def of(self, chosen: IntArray | BoolArray | slice) -> Self:
        if len(self.users[chosen]):
            return self
        nobody = type(self)([], self.word_bits)
        nobody.users = nobody.users[:0]
        return nobody

    def uint64(self, size: int) -> npt.NDArray[np.uint64]:
        words = [[self._uniform(1 << self.word_bits) for _ in range(size)] for _ in range(len(self))]
        return np.array(words, dtype=np.uint64).reshape(len(self), size)

    def bernoulli(self, law: Probability, size: int) -> Iterator[tuple[slice, BoolArray]]:
        if len(self):
            yield slice(0, 1), np.array([[self._coin(law) for _ in range(size)]])

    def uniform_below(self, bound: int) -> IntArray:
        return np.array([self._uniform(bound) for _ in range(len(self))], dtype=np.int64)

    def _coin(self, law: Probability) -> bool:
        p = Fraction(law.prefix(DIGITS), 1 << DIGITS)
        return bool(self.choose([1 - p, p]))

    def _uniform(self, bound: int) -> int:
        return self.choose([Fraction(1, bound)] * bound)


def exact_law(client: Callable[[UserStreams], Any], word_bits: int = 1) -> Law:
    """Probability of each report, up to 2^-190; reports must be hashable."""
    law: dict[Any, Fraction] = defaultdict(Fraction)
    script: list[int] = []
    while True:
        tape = CoinTape(script, word_bits)
        law[client(tape)] += tape.weight
        script = tape.script[: len(tape.n_choices)]
        while script and script[-1] + 1 == tape.n_choices[len(script) - 1]:
            script.pop()
        if not script:
            return law
        script[-1] += 1


def largest_ratio(laws: list[Law]) -> float:
    """The largest likelihood ratio of any report under any two inputs, ``inf`` where one of them excludes it."""
    ratios = [1.0]
    for report in {report for law in laws for report in law}:
        chances = [law.get(report, Fraction(0)) for law in laws]
        ratios.append(float(max(chances) / min(chances)) if min(chances) else float("inf"))
    return max(ratios)
