"""Counts of a stream's day whose units span days: of chosen rows only, and what is chosen now kept beside them.

The guarantee: `dplib.mechanisms.chosen_rows`. The ledger takes a day only after the table that its run started from
(`dplib.ledger.ledger.Ledger.record_day`), so counts are never seen without what was chosen for them.
"""

from pathlib import Path

from dplib.arrays import IntArray
from dplib.mechanisms.chosen_rows import Caps
from dplib.release.chosen_table import ChosenRows
from dplib.release.stream_version import StreamVersion
from dplib.spark.engine.blocks import DataFrame
from dplib.spark.rows.chosen_rows import choose_rows
from dplib.workflow.run_keys import RunKeys


def count_chosen(
    version: StreamVersion,
    rows: DataFrame,
    days: range,
    n_row_types: int,
    caps: Caps,
    keys: RunKeys,
    directory: Path,
) -> IntArray:
    """Counts of the chosen rows of some days, shape (len(days), n_row_types); what is chosen now goes to staging.

    Args:
        version: what was measured before.
        rows: columns day, row_type, quantity and unit, of all that counts.
        days: that the run's nodes hold.
        n_row_types: number of row types.
        caps: of one unit in all runs.
        keys: the stream's sub-keys.
        directory: the staging directory.

    Raises:
        IntegrityError: if a file of the table is missing or changed.
    """
    assert version.chosen is not None
    before = version.chosen.read(keys.chosen)
    counts, added = choose_rows(rows, before.table(), days, n_row_types, caps, keys.chosen)
    version.chosen.add(ChosenRows.of(added), directory, keys.chosen)
    return counts
