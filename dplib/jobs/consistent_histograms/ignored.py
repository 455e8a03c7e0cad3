"""Settings that decide nothing beside the others: the plan says so, since a setting that is silent seems to work."""

from collections.abc import Iterator

from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import layout_of

ROUNDS = ("tol", "max_rounds", "accept_unconverged")
"""Settings of rounds."""


def ignored_settings(design: Design) -> Iterator[str]:
    """A sentence for each group of settings that were given and decide nothing."""
    config, solver = design.config, design.config.publish.solver
    given, privacy = solver.model_fields_set, config.privacy
    flagged = [f"constraints.{n}" for n, each in enumerate(config.constraints) if "measured" in each.model_fields_set]
    groupings = config.domain.groupings or ()
    flagged += [f"domain.groupings.{n}" for n, each in enumerate(groupings) if each.measured is not None]
    if config.measure is not None and flagged:
        places = ", ".join(f"{place}.measured" for place in flagged)
        yield f"{places} decides nothing beside `measure`, whose shares say what is measured."
    chosen = config.shape.shares is None and (
        config.measure == "auto" or (config.shape.levels is None and config.shape.branching is None)
    )
    if config.shape.root and chosen:
        yield "tree.root decides nothing where the shares of the levels are chosen: the root's is one of them."
    if privacy.max_rows_per_day is not None and privacy.max_rows_per_day > privacy.rows_per_unit:
        yield f"privacy.max_rows_per_day decides nothing: a unit keeps {privacy.rows_per_unit} rows on all days."
    rounds = [name for name in ROUNDS if name in given]
    if rounds and not solver.by_rounds and config.publish.counts == "integers":
        places = ", ".join(f"publish.solver.{name}" for name in rounds)
        yield f"{places} decides nothing: the solver makes no rounds, and neither do integer tables."
    if solver.block_days is not None and layout_of(design) == "driver":
        yield "publish.solver.block_days decides nothing: the work is done in one process."
    if config.publish.divided_from == "tops" and design.divided_from == 0:
        yield "publish.divided_from decides nothing: the whole range is measured."
