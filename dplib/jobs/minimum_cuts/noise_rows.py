"""The noise of a release as rows of the page's table: one a measured group of numbers, one a choice."""

from fractions import Fraction
from math import comb

from dplib.jobs.minimum_cuts.design import SYNTHETIC, Design
from dplib.jobs.minimum_cuts.measurement_plan import Measurement
from dplib.jobs.minimum_cuts.tables import SAMPLED_VALUE, variance_of
from dplib.page.guarantee import NoiseRow

_NAN = float("nan")


def noise_rows(design: Design) -> tuple[NoiseRow, ...]:
    """The rows in the order of the releases; the shares add up to 1."""
    return tuple(row for each in design.measurements for row in _rows(design, each))


def _rows(design: Design, each: Measurement) -> list[NoiseRow]:
    label = each.release.replace("_", " ")
    if each.sampler is not None:
        return _sampler_rows(design, each, label)
    if each.drawing is None:
        return [_noisy(each, label, comb(design.n_vertices, 2) if each.release == SYNTHETIC else 1, each.share)]
    settings = design.config.cuts.releases.top_cuts
    assert settings is not None
    values = settings.values_share
    mechanism = "oneshot Laplace" if each.drawing.draw_epsilon is None else "exponential mechanism"
    rows = [_choice(f"{label}: choice", each.drawing.k, mechanism, each.share * (1 - values))]
    return rows + ([_noisy(each, f"{label}: values", each.drawing.k, each.share * values)] if each.noise else [])


def _sampler_rows(design: Design, each: Measurement, label: str) -> list[NoiseRow]:
    plan, settings = each.sampler, design.config.cuts.releases.sampled_cuts
    assert plan is not None
    assert settings is not None
    whole = plan.guarantee.epsilon
    scale = design.weight_cap / plan.value_epsilon
    value = NoiseRow(
        label=f"{label}: minimum cut value",
        n_counts=1,
        mechanism="discrete_laplace",
        noise=scale,
        variance=variance_of(design, SAMPLED_VALUE),
        sensitivity=Fraction(design.weight_cap),
        share=each.share * plan.value_epsilon / whole,
    )
    rows = [value]
    if plan.padding_epsilon:
        padding = each.share * plan.padding_epsilon / whole
        rows.append(_choice(f"{label}: padding", 1, "exponential mechanism", padding))
    draws, values = each.share * plan.draws_epsilon / whole, settings.values_share
    rows.append(_choice(f"{label}: choice", plan.n_draws, "exponential mechanism", draws * (1 - values)))
    if each.noise is not None:
        rows.append(_noisy(each, f"{label}: values", plan.n_draws, draws * values))
    return rows


def _noisy(each: Measurement, label: str, n_numbers: int, share: Fraction) -> NoiseRow:
    assert each.noise is not None
    noise = each.noise
    return NoiseRow(label, n_numbers, noise.law, noise.parameter, noise.variance, noise.sensitivity, share)


def _choice(label: str, n_draws: int, mechanism: str, share: Fraction) -> NoiseRow:
    return NoiseRow(label, n_draws, mechanism, None, _NAN, None, share)
