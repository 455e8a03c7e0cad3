"""What ``dplib inspect`` prints: for the data's owner only, NOT PRIVATE."""

from collections.abc import Sequence
from contextlib import ExitStack

from dplib.config.sections import Source
from dplib.spark.engine.session import open_session
from dplib.spark.rows.input_files import count_long_lines, require_input_here
from dplib.spark.rows.inspection import Loss
from dplib.terminal.output import out, stage, table
from dplib.workflow.design import AnyDesign
from dplib.workflow.inspected import mark_inspected
from dplib.workflow.job import PreparedJob

LOSSES = 12
"""Series in the table of what the caps take."""


def show_inspection(run: PreparedJob[AnyDesign]) -> None:
    """Show the data's owner what each rule keeps and drops. Not private; writes a private marker.

    Raises:
        SchemaError: if a rule drops everything, after all is shown.
    """
    config, source = run.config, run.source(Source)
    require_input_here(source, run.base, config.spark)
    with ExitStack() as stack:
        with stage("starting Spark"):
            spark = stack.enter_context(open_session(f"dplib inspect {config.job}", config.spark))
        with stage("reading"):
            found = run.job.stages().inspect(spark, run).with_long_lines(count_long_lines(spark, source, run.base))
    shown = [[each.rule, f"{each.kept:,}", f"{each.dropped:,}"] for each in found.rules]
    title = "NOT PRIVATE, for the data's owner only: rows by rule"
    out.print(table(title, ["rule", "kept", "dropped"], shown, frozenset({"kept", "dropped"})))
    for rule, values in found.values.items():
        most = "; ".join(f"{value} ({rows:,})" for value, rows in values)
        out.print(f"Most often dropped by `{rule}` (rows): {most}", markup=False)
    _print_losses(found.losses)
    for hint in found.hints:
        out.print(f"Hint: {hint}", markup=False)
    found.require_some_kept()
    mark_inspected(run)


def _print_losses(losses: Sequence[Loss]) -> None:
    """What the caps take, the largest losses first."""
    if not losses:
        return
    held, counted = (sum(getattr(each, name) for each in losses) for name in ("held", "counted"))
    out.print(
        f"\nWhat the caps take: the rows that pass every rule hold {held:,.0f}, of which {counted:,.0f} are counted "
        f"({_share(held, counted)} lost). Released intervals are of what is counted.",
        markup=False,
    )
    rows = [
        [each.name, f"{each.held:,.0f}", f"{each.clipped:,.0f}", f"{each.counted:,.1f}", lost]
        for each in losses[:LOSSES]
        if (lost := _share(each.held, each.counted)) != "0.0 %"
    ]
    columns = ["name", "in the rows", "after each row's cap", "after all caps", "lost"]
    if rows:
        out.print(table(f"The {len(rows)} largest losses", columns, rows, frozenset(columns[1:])))


def _share(held: float, counted: float) -> str:
    return f"{100 * (1 - counted / held):.1f} %" if held else "0.0 %"
