"""Which frequency oracle suits a domain: the shortest report among those with about the least variance.

The rule reads public settings only (size of the domain, epsilon, longest report). Among generalized response, unary
encoding, local hashing and Hadamard response those count whose variance per report of a rare value is within 5 % of the
least (`dplib.mechanisms.local.frequency_oracle` has the table); of them the one with the shortest report is taken,
which is also the quickest. In words: generalized response below about 3 e^epsilon + 2 values; above, Hadamard response
or local hashing where a power of 2 is near the best number of buckets, e^epsilon + 1, and unary encoding where it is
not and the report fits.

Reference: Wang, Blocki, Li, Jha: Locally differentially private protocols for frequency estimation. USENIX Security
2017, section 5 (guideline by variance and communication).
"""

from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from math import inf

import numpy as np

from dplib.errors import ConfigError
from dplib.mechanisms.local.frequency_oracle import MAX_VALUES
from dplib.mechanisms.local.generalized_response import GeneralizedResponse
from dplib.mechanisms.local.hadamard_response import HadamardResponse
from dplib.mechanisms.local.local_hashing import LocalHashing
from dplib.mechanisms.local.unary_encoding import UnaryEncoding
from dplib.validate import at_least, one_of, positive

Oracle = GeneralizedResponse | UnaryEncoding | HadamardResponse | LocalHashing

MAX_REPORT_BITS = 4096
_SLACK = 1.05


class OracleName(StrEnum):
    """The oracles by name."""

    AUTO = "auto"
    GENERALIZED_RESPONSE = "generalized_response"
    UNARY_ENCODING = "unary_encoding"
    HADAMARD_RESPONSE = "hadamard_response"
    LOCAL_HASHING = "local_hashing"


_MAKE: dict[OracleName, Callable[[int, Fraction], Oracle]] = {
    OracleName.GENERALIZED_RESPONSE: GeneralizedResponse,
    OracleName.HADAMARD_RESPONSE: HadamardResponse,
    OracleName.LOCAL_HASHING: LocalHashing,
    OracleName.UNARY_ENCODING: UnaryEncoding,
}


@lru_cache(maxsize=256, typed=True)
def choose_oracle(
    n_values: int, epsilon: Fraction, name: str = OracleName.AUTO, most_report_bits: int = MAX_REPORT_BITS
) -> Oracle:
    """The oracle for a domain that the server can enumerate, from 2 to 2^24 values, by name or by the rule above.

    Generalized response and hashing are never too long for ``most_report_bits``.

    Raises:
        ConfigError: if the name is unknown or the domain too large.
    """
    at_least("most_report_bits", most_report_bits, 1)
    positive("epsilon", Fraction(epsilon))
    wanted = OracleName(one_of("oracle", name, list(OracleName)))
    if n_values > MAX_VALUES:
        raise ConfigError("n_values", f"be at most {MAX_VALUES}", n_values)
    if wanted is not OracleName.AUTO:
        return _MAKE[wanted](n_values, epsilon)
    fits = n_values <= min(UnaryEncoding.most_values, most_report_bits)
    offered = [make(n_values, epsilon) for make in _MAKE.values() if fits or make is not UnaryEncoding]
    bound = _SLACK * min(map(rare_variance, offered))
    return min((oracle for oracle in offered if rare_variance(oracle) <= bound), key=lambda oracle: oracle.report_bits)


def rare_variance(oracle: Oracle) -> float:
    """Variance per report of the estimated count of a value that hardly anyone has."""
    law = oracle if isinstance(oracle, HadamardResponse) else oracle.law
    variance = float(law.variance(1.0, np.zeros(1))[0])
    return variance if np.isfinite(variance) else inf
