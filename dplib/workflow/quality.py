"""How much of the input was counted, from the settings to the sentences: one way for every job.

The measurement keys depend on a keyed digest of the exact counters, and the counters' noise on that of everything else,
so different inputs share no noise at all. What is counted and its sensitivity: `dplib.privacy.input_quality`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dplib.arrays import IntArray
from dplib.config.input_quality import quality_plan
from dplib.config.job_config import ReleaseSettings
from dplib.config.sections import RowPrivacySettings
from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.input_quality import CLIPPED, KEPT, ROWS, UNITS, QualityPlan
from dplib.privacy.noise_quantile import DrawLaw, Draws, half_width, one_draw
from dplib.randomness.keyed import derive_key
from dplib.release.digest import block_digest, combine_digests
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import read_table, write_table
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

if TYPE_CHECKING:
    from dplib.spark.rows.quality import JudgedRows

QUALITY = "quality"
"""Folder below ``measurement/``, and the key among the manifest's ``details``."""


def quality_notes(config: ReleaseSettings) -> tuple[str, ...]:
    """What a plan says of it."""
    plan = quality_plan(config)
    if plan is None:
        return ()
    error, of = sqrt(plan.rows.noise.variance), _sampled(config, plan)
    text = (
        f"{float(config.privacy.quality_share or 0):.3g} of the budget tells how many of the rows were counted{of}: "
        f"the standard error of each count of rows by rule is {error:,.3g}"
    )
    if plan.units is not None:
        text += f", that of the number of {config.privacy.unit}s above the cap {sqrt(plan.units.noise.variance):,.3g}"
    return (text + ".",)


def _sampled(config: ReleaseSettings, plan: QualityPlan) -> str:
    """Which rows are looked at, where these are not all."""
    if not isinstance(config.privacy, RowPrivacySettings):
        return " (of each pair of names one row)"
    if config.privacy.unit == "event":
        return ""
    rows = "one row" if plan.rows_per_unit == 1 else f"at most {plan.rows_per_unit} rows"
    return f" (of each {config.privacy.unit} {rows}, chosen by a keyed hash)"


@dataclass(frozen=True)
class InputCounts:
    """How many rows met which end, exactly. NOT PRIVATE.

    Attributes:
        rules: names of the rules.
        exact: the counters of each of the plan's measurements.
    """

    rules: tuple[str, ...]
    exact: list[IntArray]


def count_input(judged: "JudgedRows", plan: QualityPlan, bounding: bytes) -> InputCounts:
    """Count the rows after their judgement; ``bounding`` is the account's key that chooses among a unit's rows."""
    # Imported where it is needed: it brings Spark, and a plan says of the quality what the settings say.
    from dplib.spark.rows.quality import count_categories, count_units_above

    exact = [count_categories(judged, plan.rows_per_unit, derive_key(bounding, b"quality"))]
    return InputCounts(judged.rules, exact if plan.units is None else [*exact, count_units_above(judged)])


def assumed_input(rules: tuple[str, ...], plan: QualityPlan) -> InputCounts:
    """Counters far above their noise, so that every sentence is made where a publication is only tried."""
    size = {ROWS: len(rules) + 2, UNITS: 1}
    names = (ROWS, UNITS)[: len(plan.events)]
    exact = [
        np.full(size[name], 1000 * ceil(sqrt(each.noise.variance)))
        for name, each in zip(names, plan.events, strict=True)
    ]
    return InputCounts(rules, exact)


def measured_with_quality(
    config: ReleaseSettings,
    count: Callable[[QualityPlan], InputCounts],
    measure: Callable[[RunKeys], MeasurementKeys],
    keys: RunKeys,
    directory: Path,
) -> MeasurementKeys:
    """Measure a job, and with it the quality of its input, into ``measurement/quality/``, where the settings ask it.

    ``count`` counts the input's rows by what becomes of them; ``measure`` is the job's own, under the keys it is given.
    """
    plan = quality_plan(config)
    if plan is None:
        return measure(keys)
    counts = count(plan)
    exact = counts.exact
    named = [(str(place), block_digest(keys.digest, QUALITY, each)) for place, each in enumerate(exact)]
    digest = combine_digests(keys.digest, named)
    made = measure(replace(keys, parent=derive_key(keys.parent, digest)))
    # What the job counted decides this noise, too: derived from its key and digest.
    key = derive_key(made.measurement_key, made.data_digest)
    noisy = measure_levels(exact, [each.noise for each in plan.events], key, QUALITY, "input")
    names = [*counts.rules, KEPT, CLIPPED]
    counters = [*names, UNITS] if plan.units is not None else names
    variance = [plan.rows.noise.variance] * len(names) + ([plan.units.noise.variance] if plan.units is not None else [])
    write_table(
        directory / MEASUREMENT / QUALITY,
        QUALITY,
        {
            "place": np.arange(len(counters)),
            "counter": pa.array(counters),
            "noisy": np.concatenate(noisy),
            "variance": np.array(variance),
        },
        sort_by=("place",),
    )
    both = [("job", made.data_digest), (QUALITY, digest)]
    return MeasurementKeys(made.key_id, made.measurement_key, combine_digests(keys.digest, both))


@dataclass(frozen=True)
class QualityReport:
    """What a release says of its input; from noisy counters and settings alone.

    Attributes:
        counters: name to noisy count and standard error, the rules in order, then `KEPT`, `CLIPPED`, `UNITS`.
        sentences: in plain words.
    """

    counters: dict[str, tuple[int, float]]
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, for the manifest's ``details``."""
        counters = [{"counter": name, "noisy": n, "std_error": error} for name, (n, error) in self.counters.items()]
        return {"counters": counters, "sentences": list(self.sentences)}


def quality_report(directory: Path, config: ReleaseSettings) -> QualityReport | None:
    """The report of the stored measurement in a directory; None where it holds no counters."""
    plan, folder = quality_plan(config), directory / MEASUREMENT / QUALITY
    if plan is None or not folder.is_dir():
        return None
    table = read_table(folder, ["place", "counter", "noisy", "variance"])
    rows = sorted(table.to_pylist(), key=lambda row: row["place"])
    counters = {row["counter"]: (int(row["noisy"]), sqrt(row["variance"])) for row in rows}
    return QualityReport(counters, tuple(quality_words(config, plan, counters)))


def quality_words(config: ReleaseSettings, plan: QualityPlan, counters: dict[str, tuple[int, float]]) -> list[str]:
    """What noisy counters say of the input, in plain words; the margins are 95 % intervals of the noise's own law."""
    rows = {name: found for name, found in counters.items() if name != UNITS}
    law, of = DrawLaw.of(plan.rows.noise), _sampled(config, plan)
    counted, surely = part_of(rows, (KEPT, CLIPPED), law), half_width(one_draw(law))
    if counted is None:
        sentences = ["How many of the rows were counted does not stand out from the noise: there are few."]
    else:
        sentences = [f"About {_percent(counted)} of the rows{of} were counted."]
        sentences += [
            f"About {_percent(part)} of them were dropped by the rule `{name}`."
            for name in rows
            if name not in (KEPT, CLIPPED)
            and (part := part_of(rows, (name,), law)) is not None
            and rows[name][0] > surely
        ]
        clipped = part_of({name: rows[name] for name in (KEPT, CLIPPED)}, (CLIPPED,), law)
        if clipped is not None and rows[CLIPPED][0] > surely:
            sentences.append(
                f"About {_percent(clipped)} of the counted ones count as less or more: a cap changed them."
            )
    if plan.units is not None and UNITS in counters:
        n, half = counters[UNITS][0], half_width(one_draw(DrawLaw.of(plan.units.noise)))
        cap = getattr(config.privacy, "rows_per_unit", 1)
        sentences.append(
            f"About {max(n, 0):,} of the units ({config.privacy.unit}), +- {half:,.0f}, have more rows that "
            f"count than the cap of {cap:,}; what is above it was not counted."
        )
    return sentences


def part_of(counters: dict[str, tuple[int, float]], names: tuple[str, ...], law: DrawLaw) -> tuple[float, float] | None:
    """The part of the named counters in the sum of all, and half its 95 % interval; None where the sum is mostly noise.

    To first order the error of P = A / (A + B) is ``((1 - P) a - P b) / (A + B)``, a and b the noise of A and B: a
    weighted sum of draws of one law, whose own quantile is taken.
    """
    inside, whole = sum(counters[name][0] for name in names), sum(n for n, _ in counters.values())
    if whole <= 0 or whole < 4 * sqrt(len(counters) * law.variance):
        return None
    part = min(max(inside / whole, 0.0), 1.0)
    own, others = Draws(law, 1 - part, float(len(names))), Draws(law, part, float(len(counters) - len(names)))
    return part, half_width((own, others)) / whole


def _percent(part: tuple[float, float]) -> str:
    return f"{100 * part[0]:.1f} % (+- {100 * part[1]:.2g})"
