"""The exact law of what a client of the local model reports, by running it on every outcome of every coin.

`CoinTape` stands in for the random streams of one user. It answers each question of the client by the next choice of a
script, multiplies up the choice's exact probability, and remembers how many choices there were. Running the client for
all scripts gives the law of its report: of the program as it is written, not of a formula about it. As with the real
streams the same labels give the same words; a client that takes two different draws from one stream is refused.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from dplib.arrays import BoolArray, IntArray, Word32Array, WordArray
from dplib.randomness.digits import Probability
from dplib.randomness.keyed import Label
from dplib.randomness.user_streams import UserStreams, number_users

DIGITS = 200  # probabilities are cut after this many binary digits
Law = Mapping[Any, Fraction]


@lru_cache
def _names(n_users: int) -> Word32Array:
    return number_users(np.zeros(n_users, dtype=np.int64))


@lru_cache
def _chance(law: Probability) -> Fraction:
    return Fraction(law.prefix(DIGITS), 1 << DIGITS)


class Coins:
    """A script of choices, the weight of what was chosen, and how many choices there were."""

    def __init__(self, script: list[int], word_bits: int) -> None:
        self.script, self.word_bits = script, word_bits
        self.n_choices: list[int] = []
        self.weight = Fraction(1)
        self.drawn: dict[tuple[tuple[Label, ...], int], tuple[list[Fraction], int]] = {}

    def choose(self, labels: tuple[Label, ...], place: int, weights: list[Fraction]) -> int:
        """The choice at a place of the stream with these labels; asked again it is the same."""
        if (labels, place) in self.drawn:
            before, choice = self.drawn[labels, place]
            assert before == weights, f"two different draws from one stream {labels}"
            return choice
        if len(self.n_choices) == len(self.script):
            self.script.append(0)
        choice = self.script[len(self.n_choices)]
        self.n_choices.append(len(weights))
        self.weight *= weights[choice]
        self.drawn[labels, place] = weights, choice
        return choice


class CoinTape(UserStreams):
    """One user's scripted coins; uniform words have ``word_bits`` bits, all that the client may look at."""

    def __init__(self, coins: Coins, n_users: int = 1, labels: tuple[Label, ...] = ()) -> None:
        super().__init__(bytes(32), _names(n_users), *labels)
        self.coins, self.labels = coins, labels

    def under(self, *labels: Label) -> Self:
        return type(self)(self.coins, len(self), (*self.labels, *labels))

    def by_name(self) -> Self:
        return self

    def of(self, chosen: IntArray | BoolArray | slice) -> Self:
        return type(self)(self.coins, len(self.users[chosen]), self.labels)

    def uint64(self, size: int) -> WordArray:
        words = [[self._uniform(1 << self.coins.word_bits, place) for place in range(size)] for _ in range(len(self))]
        return np.array(words, dtype=np.uint64).reshape(len(self), size)

    def bernoulli(self, law: Probability, size: int) -> Iterator[tuple[slice, BoolArray]]:
        p = _chance(law)
        if len(self):
            drawn = [[bool(self.coins.choose(self.labels, place, [1 - p, p])) for place in range(size)]]
            yield slice(0, 1), np.array(drawn)

    def uniform_below(self, bound: int) -> IntArray:
        return np.array([self._uniform(bound, 0) for _ in range(len(self))], dtype=np.int64)

    def _uniform(self, bound: int, place: int) -> int:
        return self.coins.choose(self.labels, place, [Fraction(1, bound)] * bound)


def exact_law(client: Callable[[UserStreams], Any], word_bits: int = 1) -> Law:
    """Probability of each report, up to 2^-190; reports must be hashable."""
    law: dict[Any, Fraction] = defaultdict(Fraction)
    script: list[int] = []
    while True:
        coins = Coins(script, word_bits)
        law[client(CoinTape(coins))] += coins.weight
        script = coins.script[: len(coins.n_choices)]
        while script and script[-1] + 1 == coins.n_choices[len(script) - 1]:
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
