"""How often stated 95 % intervals hold the truth, and what a test asks of that."""

import numpy as np
import numpy.typing as npt

from dplib.arrays import IntArray
from dplib.mechanisms.tree_counts import SAMPLERS
from dplib.privacy.noise_quantile import DrawLaw
from dplib.privacy.rounding import as_fraction
from dplib.randomness.keyed import KeyedStream

N_KEYS = 20_000
LOWEST, HIGHEST = 0.943, 0.957
"""95 % give or take 4.5 standard deviations of so many keys; 1.96 standard errors hold 92.7 to 93.8 of Laplace."""


def drawn(law: DrawLaw, size: int, *labels: str | int) -> IntArray:
    """Noise from the exact samplers of the releases, shape (size,)."""
    stream = KeyedStream(b"coverage".ljust(32, b"-"), "coverage", *labels)
    return SAMPLERS[law.mechanism](stream, as_fraction("parameter", law.parameter), size)


def covered(errors: npt.NDArray[np.floating], half_width: float) -> float:
    """Part of the errors within the half width."""
    return float((np.abs(errors) <= half_width * (1 + 1e-12) + 1e-9).mean())


def require_coverage(errors: npt.NDArray[np.floating], half_width: float, what: object) -> None:
    """Fail unless 95 +- 0.7 % are covered; more only where the law's next smaller step would leave less than 95 %.

    Args:
        errors: estimates minus truth, shape (n_keys,).
        half_width: as stated.
        what: for the message.
    """
    found = covered(errors, half_width)
    assert found >= LOWEST, (what, found, half_width)
    if found > HIGHEST:
        sizes = np.abs(errors)
        inside = sizes <= half_width * (1 + 1e-12) + 1e-9
        # The widest errors inside are one step of the law (or lie within the hair that keeps a step whole).
        step = inside & (sizes >= sizes[inside].max() - 0.03 * max(float(errors.std()), 1e-9))
        assert found - float(step.mean()) < HIGHEST, (what, found, half_width)
