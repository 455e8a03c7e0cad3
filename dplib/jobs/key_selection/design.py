"""Everything that the settings of ``key-selection`` decide.

Guarantee. In every round a unit has at most k keys, the first of its own that are not yet released, in an order that
depends on the unit alone: it changes the weights of these keys and of no others. The mechanisms prove (epsilon,
delta) for that: `dplib.mechanisms.truncated_geometric`, `dplib.mechanisms.renyi_selection`,
`dplib.mechanisms.noisy_threshold`. A budget in rho is converted to epsilon at delta first, since accounts add epsilons
and deltas. A limit of the number of keys chooses among released ones.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from dplib.jobs.key_selection.config import NAME, KeySelectionConfig, KeysRelease
from dplib.mechanisms.noisy_threshold import SCALE, NoisyThreshold, noisy_threshold
from dplib.mechanisms.release_table import SELECTION_FORMAT, Selector
from dplib.mechanisms.renyi_selection import SHARES, renyi_tables
from dplib.mechanisms.truncated_geometric import truncated_geometric
from dplib.privacy.events import ApproxEvent
from dplib.privacy.noise import Law
from dplib.privacy.rounding import fraction_text
from dplib.release.manifest import Manifest, public_design

STATISTIC = "key selection"
COUNTING_VERSION = 1
"""Raised when the code that turns rows into weights changes its result."""


@dataclass(frozen=True, eq=False)
class Design:
    """A release before its rows.

    Attributes:
        config: the settings of the release.
    """

    config: KeysRelease

    @classmethod
    def resolve(cls, config: KeySelectionConfig) -> "Design":
        """Derive the design of a configuration.

        Raises:
            ConfigError: naming the setting that is wrong.
        """
        found = cls(config.release())
        _ = found.selectors
        return found

    @property
    def mechanism(self) -> str:
        """The mechanism after `auto` is decided."""
        chosen = self.config.selection.mechanism
        if chosen != "auto":
            return chosen
        return "truncated_geometric" if self.max_keys == 1 else "table"

    @property
    def max_keys(self) -> int:
        """K, of a unit."""
        return self.config.privacy.keys_per_unit

    @cached_property
    def selectors(self) -> tuple[Selector, ...]:
        """The mechanism of each round."""
        return self._resolved[0]

    @cached_property
    def _resolved(self) -> tuple[tuple[Selector, ...], dict[str, Any]]:
        """The rounds, and what the manifest says of how they were found."""
        budget, selection = self.config.privacy.budget.budget(), self.config.selection
        epsilon, delta = budget.epsilon, budget.delta
        if self.mechanism == "truncated_geometric":
            return (truncated_geometric(epsilon, delta, self.max_keys),), {}
        if self.mechanism == "table":
            shares = (Fraction(1),) if selection.rounds == 1 else SHARES
            level, tables = renyi_tables(epsilon, delta, self.max_keys, shares)
            return tables, {"order": level.order, "failures": [float(each) for each in level.failures]}
        law = Law.GAUSSIAN if self.mechanism == "gaussian" else Law.LAPLACE
        rule, _ = noisy_threshold(law, epsilon, delta, self.max_keys, selection.even)
        return (rule,), {"threshold": rule.threshold / self.scale, "parameter": fraction_text(rule.noise.parameter)}

    @property
    def noisy(self) -> NoisyThreshold | None:
        """Noise and threshold; None where keys are released without weights."""
        rule = self.selectors[0]
        return rule if isinstance(rule, NoisyThreshold) else None

    @property
    def scale(self) -> int:
        """Weights are published as multiples of one over this."""
        return 1 if self.config.selection.even else SCALE

    @property
    def std_error(self) -> float:
        """Of a published weight."""
        return 0.0 if self.noisy is None else float(self.noisy.noise.variance**0.5) / self.scale

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Columns of the tables that hold a key."""
        several = self.config.columns
        return ("key",) if several is None else tuple(f"key_{number}" for number in range(len(several)))

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the release besides the settings."""
        return {"counting_version": COUNTING_VERSION, "selection_format": SELECTION_FORMAT}

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.shaping() | {"publish_format": 1}

    @property
    def events(self) -> tuple[ApproxEvent, ...]:
        """What the release spends."""
        budget = self.config.privacy.budget.budget()
        return (ApproxEvent(STATISTIC, budget.epsilon, budget.delta, self.mechanism),)

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs."""
        return self.config.measured()

    def manifest_fields(self) -> dict[str, Any]:
        """What the manifest says besides the fields that every job has."""
        return {
            "sensitivities": {"max_keys_per_unit": self.max_keys},
            "mechanisms": [self.events[0].to_dict() | self._resolved[1]],
            "solver": {"name": "none"},
            "domain": {"columns": list(self.key_columns)},
            "details": {"mechanism": self.mechanism, "rounds": len(self.selectors)},
        }

    @classmethod
    def of_release(cls, manifest: Manifest) -> "Design":
        """The design of a release."""
        return cls(KeysRelease.model_validate(public_design(manifest, NAME)))
