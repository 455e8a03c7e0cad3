"""Configuration of the job ``key-selection``.

All sections but ``publish`` decide which keys are released, and changing one of them spends anew.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dplib.config.job_config import JobConfig, ReleaseSettings, require_unit_column
from dplib.config.key_input import KeyInput
from dplib.config.sections import BudgetSetting, PrivacySettings, Section
from dplib.privacy.budget import ApproxDP
from dplib.privacy.calibration import epsilon_from_rho

NAME = "key-selection"


class SelectionBudget(BudgetSetting):
    """Epsilon with delta, or rho with delta, which is converted to epsilon first."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = {name for name in ("epsilon", "delta", "rho") if getattr(self, name) is not None}
        if given not in ({"epsilon", "delta"}, {"rho", "delta"}):
            got = " and ".join(sorted(given)) or "nothing"
            raise ValueError(f"privacy.budget must be epsilon with delta, or rho with delta, got {got}")
        for name in given:
            if not getattr(self, name) > 0:
                raise ValueError(f"privacy.budget.{name} must be a number above 0, got {getattr(self, name)}")
        if self.delta is not None and self.delta >= 1:
            raise ValueError(f"privacy.budget.delta must be below 1, got {self.delta}")
        return self

    def budget(self) -> ApproxDP:
        """Epsilon and delta."""
        assert self.delta is not None
        if self.rho is not None:
            return ApproxDP(epsilon_from_rho(self.rho, self.delta), self.delta)
        assert self.epsilon is not None
        return ApproxDP(self.epsilon, self.delta)


class SelectionPrivacy(PrivacySettings):
    """Whose presence is protected, and how many keys one unit may have."""

    neighbors: Literal["add_remove"] = "add_remove"
    budget: SelectionBudget
    noise: Literal["auto"] = "auto"
    """The mechanism is chosen by `selection.mechanism`."""
    max_keys_per_unit: Annotated[int, Field(ge=1, le=1000, strict=True)] | None = None
    """Public cap on the different keys of one unit, chosen by a keyed hash; its rows are not bounded. 1 where the unit
    is event."""

    @model_validator(mode="after")
    def _caps(self) -> Self:
        if self.unit == "event" and self.max_keys_per_unit not in (None, 1):
            got = self.max_keys_per_unit
            raise ValueError(f"privacy.max_keys_per_unit must be 1 or absent where the unit is event, got {got}")
        if self.unit != "event" and self.max_keys_per_unit is None:
            raise ValueError(f"privacy.max_keys_per_unit must be set where the unit is {self.unit}, got nothing")
        return self

    @property
    def keys_per_unit(self) -> int:
        """The cap k of privacy statements."""
        return self.max_keys_per_unit or 1


class SelectionSettings(Section):
    """How keys are selected."""

    mechanism: Literal["auto", "table", "truncated_geometric", "gaussian", "laplace"] = "auto"
    """auto: truncated_geometric for one key a unit, table for several; gaussian and laplace release noisy weights."""
    rounds: Literal[1, 3] | None = None
    """Of `table`: rounds, released keys leaving the data; 3 where absent."""
    even: bool = False
    """Of `gaussian` and `laplace`: every key of a unit counts 1, so that weights are numbers of units; fewer keys are
    released."""
    max_keys: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 100_000
    """Keys of a release at most: those of the largest noisy weights, or of early rounds."""

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.rounds is not None and self.mechanism not in ("auto", "table"):
            raise ValueError(f"selection.rounds must be absent unless selection.mechanism is table, got {self.rounds}")
        if self.even and self.mechanism not in ("gaussian", "laplace"):
            raise ValueError("selection.even must be false unless selection.mechanism is gaussian or laplace, got true")
        return self


class KeysRelease(ReleaseSettings):
    """Which keys enough units share."""

    job: Literal["key-selection"]
    privacy: SelectionPrivacy
    selection: SelectionSettings = SelectionSettings()
    columns: list[str] | None = None
    """Names of the columns of a key of several; of the release alone."""


class KeySelectionConfig(KeysRelease, JobConfig):
    """A configuration of the job."""

    input: KeyInput

    @model_validator(mode="after")
    def _columns(self) -> Self:
        require_unit_column(self.privacy.unit, self.input.columns.unit)
        if self.columns not in (None, self.input.columns.keys):
            raise ValueError(f"columns must be absent: input.columns.keys says which, got {self.columns}")
        return self

    def release(self) -> KeysRelease:
        """The settings of the release."""
        return KeysRelease.of(self, columns=self.input.columns.keys)
