"""What settings say of measuring the quality of the input (`dplib.privacy.input_quality`)."""

from dplib.config.job_config import ReleaseSettings
from dplib.config.sections import RowPrivacySettings
from dplib.privacy.input_quality import QualityPlan
from dplib.privacy.noise import NoiseEvent, require_useful_noise


def quality_plan(config: ReleaseSettings) -> QualityPlan | None:
    """What the settings say is measured of the input; None where no share of the budget is for it.

    Raises:
        ConfigError: if the share is too small for noise that can be drawn.
    """
    privacy = config.privacy
    budget = privacy.quality_budget
    if budget is None:
        return None
    if isinstance(privacy, RowPrivacySettings):
        has_cap = privacy.unit != "event"
        plan = QualityPlan.of(budget, privacy.quality_rows or 1, privacy.neighbors == "replace_one", has_cap)
    else:
        weighted = hasattr(getattr(config, "graph", None), "weights")
        plan = QualityPlan.of(budget, 1, weighted, has_cap=False)
    for each in plan.events:
        require_useful_noise(each.noise.law.parameter_name, each.noise.parameter)
    return plan


def quality_events(config: ReleaseSettings) -> tuple[NoiseEvent, ...]:
    """What the quality of the input spends."""
    plan = quality_plan(config)
    return () if plan is None else plan.events
