"""The noise of a release as rows of the page's table: one a measured group of numbers, one a choice."""

from math import comb

from dplib.jobs.minimum_cuts.design import SAMPLED_VALUE, SYNTHETIC, Design
from dplib.jobs.minimum_cuts.measurement_plan import CutMeasurement, Oneshot
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.page.guarantee import NoiseRow

EXPONENTIAL = "exponential mechanism"


def noise_rows(design: Design) -> tuple[NoiseRow, ...]:
    """The rows in the order of the releases; the shares add up to 1."""
    return tuple(row for each in design.measurements for row in _rows(design, each))


def _rows(design: Design, each: CutMeasurement) -> list[NoiseRow]:
    label, choice, values = each.release.replace("_", " "), each.choice, each.values_share
    if choice is None:
        n_numbers = comb(design.n_vertices, 2) if each.release == SYNTHETIC else 1
        return [NoiseRow.of(label, n_numbers, design.noises[each.release], each.share)]
    rows, draws = [], each.share
    if isinstance(choice, SamplerPlan):
        share = each.share / choice.guarantee.epsilon
        value = f"{label}: minimum cut value"
        rows.append(NoiseRow.of(value, 1, design.noises[SAMPLED_VALUE], share * choice.value_epsilon))
        if choice.padding_epsilon:
            rows.append(NoiseRow.of(f"{label}: padding", 1, None, share * choice.padding_epsilon, EXPONENTIAL))
        draws = share * choice.draws_epsilon
    n_draws = choice.n_draws if isinstance(choice, SamplerPlan) else choice.k
    mechanism = "oneshot Laplace" if isinstance(choice, Oneshot) else EXPONENTIAL
    rows.append(NoiseRow.of(f"{label}: choice", n_draws, None, draws * (1 - values), mechanism))
    return rows + ([NoiseRow.of(f"{label}: values", n_draws, each.noise, draws * values)] if each.noise else [])
