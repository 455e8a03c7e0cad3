"""Exact keyed noise for clustering: every draw is named by its labels, its parameter and the numbers it hides.

Privacy statement. Integers with L1 sensitivity D1 get discrete Laplace noise of scale b: (D1 / b)-private; with squared
L2 sensitivity D2 discrete Gaussian noise: (D2 / (2 sigma^2))-zCDP; a choice among public candidates by integer losses
at rate r: (W r)-private, W the length of an interval that holds the moves of all losses between neighbours
(`dplib.mechanisms.exponential`). Clustering asks adaptively: each question depends on the noisy answers
before it, and costs add up (basic composition, or the sum of rhos, both valid for adaptive questions).

A keyed digest of the numbers is part of the stream's name. So a repeated question about the same numbers gets the same
answer, in every retry and layout, and different numbers never meet the same noise, which would publish their exact
difference. The digest leaves this module in no form.

References:
    Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy. NeurIPS 2020, theorem 14.
    McSherry, Talwar: Mechanism design via differential privacy. FOCS 2007.
    Bun, Steinke: Concentrated differential privacy. TCC 2016, lemma 1.7 (adaptive composition).
"""

import hmac
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from dplib.arrays import IntArray
from dplib.mechanisms.exponential import draw_exponential
from dplib.mechanisms.tree_counts import add_noise
from dplib.privacy.noise import Noise
from dplib.randomness.keyed import Key, KeyedStream, derive_key
from dplib.validate import require


@dataclass(frozen=True)
class KeyedNoise:
    """Noise from streams under one measurement key.

    Attributes:
        key: the measurement key of the release, at least 32 bytes.
    """

    key: Key = field(repr=False)

    def add(self, values: IntArray, noise: Noise, *labels: str | int) -> IntArray:
        """The values with independent noise on each, in their shape.

        Raises:
            ConfigError: if the values are no 64-bit integers or the noise is out of range.
        """
        return add_noise(values, noise, self._stream(values, noise.law.value, noise.parameter, labels))

    def choose(self, losses: IntArray, rate: Fraction, *labels: str | int) -> int:
        """A position, drawn with probability proportional to ``e^(-rate loss)``.

        Raises:
            ConfigError: if there is no loss, or the losses or the rate are no exact numbers.
        """
        return int(draw_exponential(self._stream(losses, "exponential", rate, labels), losses, rate)[0])

    def _stream(
        self, values: IntArray, mechanism: str, parameter: Fraction, labels: tuple[str | int, ...]
    ) -> KeyedStream:
        require(values.dtype == np.int64, "values", "be 64-bit integers", values.dtype)
        content = np.ascontiguousarray(values, dtype="<i8").tobytes()
        digest = hmac.digest(self._digest_key, content, "sha256")
        return KeyedStream(self.key, "clustering", mechanism, str(parameter), digest, *labels)

    @cached_property
    def _digest_key(self) -> Key:
        return derive_key(self.key, "clustering digest")
