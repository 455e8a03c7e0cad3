"""The noise of a release as rows of the page's table: one a measured group of numbers, one a choice."""

from fractions import Fraction
from math import comb

from dplib.jobs.minimum_cuts.design import SAMPLED_VALUE, SYNTHETIC, Design
from dplib.jobs.minimum_cuts.measurement_plan import CutMeasurement, Oneshot
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.page.guarantee import NoiseRow


def noise_rows(design: Design) -> tuple[NoiseRow, ...]:
    """The rows in the order of the releases; the shares add up to 1."""
    return tuple(row for each in design.measurements for row in _rows(design, each))


def _rows(design: Design, each: CutMeasurement) -> list[NoiseRow]:
    label, choice, values = each.release.replace("_", " "), each.choice, each.values_share
    if choice is None:
        n_numbers = comb(design.n_vertices, 2) if each.release == SYNTHETIC else 1
        return [_noisy(design, each.release, label, n_numbers, each.share)]
    rows, draws = [], each.share
    if isinstance(choice, SamplerPlan):
        share = each.share / choice.guarantee.epsilon
        value = f"{label}: minimum cut value"
        rows.append(_noisy(design, SAMPLED_VALUE, value, 1, share * choice.value_epsilon))
        if choice.padding_epsilon:
            rows.append(_chosen(f"{label}: padding", 1, share * choice.padding_epsilon))
        draws = share * choice.draws_epsilon
    n_draws = choice.n_draws if isinstance(choice, SamplerPlan) else choice.k
    mechanism = "oneshot Laplace" if isinstance(choice, Oneshot) else "exponential mechanism"
    rows.append(_chosen(f"{label}: choice", n_draws, draws * (1 - values), mechanism))
    return rows + ([_noisy(design, each.release, f"{label}: values", n_draws, draws * values)] if each.noise else [])


def _noisy(design: Design, statistic: str, label: str, n_numbers: int, share: Fraction) -> NoiseRow:
    noise = design.noises[statistic]
    return NoiseRow(label, n_numbers, noise.law, noise.parameter, noise.variance, noise.sensitivity, share)


def _chosen(label: str, n_draws: int, share: Fraction, mechanism: str = "exponential mechanism") -> NoiseRow:
    return NoiseRow(label, n_draws, mechanism, None, float("nan"), None, share)
