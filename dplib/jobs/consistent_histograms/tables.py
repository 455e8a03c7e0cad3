"""The tables of a release: one row a node and series, one file a logical block.

    measurement/  item, node, level, first_day, last_day, noisy, variance      measured levels and series only
                  and tree.json: the tree that was measured; measure.json: the shares by grouping, where there are any
    estimates/    item, node, level, first_day, last_day, estimate, std_error
    published/    item, node, level, first_day, last_day, count

Nodes are numbered breadth first from the root; both days are inclusive; rows are sorted by node, then by item. The top
(nodes above the blocks) is the file `top`.

Items of a public table bring its columns along into estimates and published: ``grouping`` says what a row is of
(``items``, or the columns of its total: ``region, category``), and each key column, of several, and each attribute
holds the value of all items of the row; it is empty where they have different ones. A node in which an item has no day
has no row of it, in any table.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.canonical import canonical_json
from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms.config import Tree
from dplib.jobs.consistent_histograms.design import Design
from dplib.release.release_tables import ReleaseTables, write_measure
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import Column, read_table, write_table
from dplib.trees.block_plan import TOP

ESTIMATES, PUBLISHED = "estimates", "published"
TREE = "tree.json"
KEYS = ("item", "node", "level", "first_day", "last_day")


def block_nodes(design: Design, name: str) -> IntArray:
    """Numbers of the nodes of one block, in the order of its tree."""
    plan = design.blocks
    if name == TOP:
        return np.arange(plan.n_top_nodes, dtype=np.int64)
    return plan.block_tree(int(name.rpartition("-")[2]))[1]


def block_names(design: Design) -> list[str]:
    """Names of all blocks, the top's first where there is one."""
    plan = design.blocks
    return ([TOP] if plan.n_top_nodes else []) + [plan.name(block) for block in range(plan.n_blocks)]


def _keys(design: Design, nodes: IntArray, series: IntArray) -> dict[str, Column]:
    """Key columns of all pairs of nodes and series, sorted by node, then by the series' names."""
    tree = design.tree
    first = np.datetime64(design.config.domain.first_day, "D")
    width, count, names = len(series), len(nodes), design.series
    return {
        "item": _repeated(np.arange(width), [names[number] for number in series.tolist()], count),
        "node": np.repeat(nodes, width),
        "level": np.repeat(tree.level[nodes], width),
        "first_day": np.repeat(first + tree.lo[nodes], width),
        "last_day": np.repeat(first + tree.hi[nodes] - 1, width),
    }


def _repeated(codes: IntArray, words: Sequence[str], times: int) -> pa.DictionaryArray:
    indices = pa.array(np.tile(codes.astype(np.int32), times))
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def _present(design: Design, nodes: IntArray, series: IntArray, columns: dict[str, Column]) -> dict[str, Column]:
    """The rows of nodes in which their series has a day, among those of all pairs."""
    days = design.series_days
    if days is None:
        return columns
    lo, hi = design.tree.lo[nodes][:, None], design.tree.hi[nodes][:, None]
    kept = ((lo < days[series, 1]) & (hi > days[series, 0])).reshape(-1)
    return {
        name: values.filter(pa.array(kept)) if isinstance(values, pa.Array) else np.asarray(values)[kept]
        for name, values in columns.items()
    }


def read_tree(directory: Path) -> Tree:
    """The tree of a stored measurement."""
    return tree_in(directory / MEASUREMENT)


def tree_in(measurement: Path) -> Tree:
    """The tree that a folder of a measurement names."""
    try:
        return Tree.model_validate_json((measurement / TREE).read_bytes())
    except (OSError, ValueError):
        raise IntegrityError(f"measurement must name its tree in {TREE}, got {measurement.name} without it") from None


class Tables(ReleaseTables[Design]):
    """The job's."""

    def write_tree(self) -> None:
        """Store what was measured, tree and shares, beside the measurement: ``auto`` may choose others later."""
        measurement = self.directory / MEASUREMENT
        measurement.mkdir(parents=True, exist_ok=True)
        (measurement / TREE).write_bytes(canonical_json(self.design.days.shape.model_dump(mode="json")))
        write_measure(measurement, self.design.columns.measure)

    def write_measurement(self, name: str, noisy: IntArray) -> None:
        """Write one block of ``measurement/``.

        Args:
            name: the block's name.
            noisy: shape (nodes of the block, n_measured_series).
        """
        self.write_noisy(name, block_nodes(self.design, name), noisy)

    def write_noisy(self, name: str, nodes: IntArray, noisy: IntArray) -> None:
        """Write noisy counts of some nodes to one file of ``measurement/``, shape (n_nodes, n_measured_series)."""
        design = self.design
        kept = np.isfinite(design.level_variance[design.tree.level[nodes]])
        measured = design.by_name[design.constraints.measured[design.by_name]]
        place = np.cumsum(design.constraints.measured)[measured] - 1
        cells = design.noise_variance[:, design.columns.of[measured]]
        columns = _keys(design, nodes[kept], measured) | {
            "noisy": noisy[kept][:, place].reshape(-1),
            "variance": cells[design.tree.level[nodes[kept]]].reshape(-1),
        }
        columns = _present(design, nodes[kept], measured, columns)
        write_table(self.directory / MEASUREMENT, name, columns, sort_by=("node", "item"))

    def read_measurement(self) -> FloatArray:
        """``measurement/`` as the array that solvers take, shape (n_nodes, n_series); 0 where not measured."""
        names = block_names(self.design)
        rows = read_table(self.directory / MEASUREMENT, ["item", "node", "noisy"], blocks=names)
        return self.scatter(rows, "noisy")

    def read_noisy_block(self, name: str) -> FloatArray:
        """One block of ``measurement/``, shape (nodes of the block, n_series); 0 where not measured."""
        rows = read_table(self.directory / MEASUREMENT, ["item", "node", "noisy"], blocks=[name])
        nodes = block_nodes(self.design, name)
        values = np.zeros((len(nodes), len(self.design.series)))
        place = np.searchsorted(nodes, rows.column("node").to_numpy())
        values[place, self._series_numbers(rows)] = rows.column("noisy").to_numpy()
        return values

    def write_block(
        self, table: str, name: str, values: Mapping[str, npt.NDArray[np.generic]], kept: BoolArray | None = None
    ) -> None:
        """Write one block of ``estimates/`` or ``published/``.

        Args:
            table: its name.
            name: the block's name.
            values: columns, each of shape (nodes of the block, n_series).
            kept: which series to write, shape (n_series,); all where absent.
        """
        self.write_nodes(table, name, block_nodes(self.design, name), values, kept)

    def write_nodes(
        self,
        table: str,
        name: str,
        nodes: IntArray,
        values: Mapping[str, npt.NDArray[np.generic]],
        kept: BoolArray | None = None,
    ) -> None:
        """Write some nodes to one file; columns of shape (n_nodes, n_series)."""
        series = self.design.by_name
        series = series if kept is None else series[kept[series]]
        columns = _keys(self.design, nodes, series)
        columns |= {
            name: _repeated(codes[series], words, len(nodes))
            for name, (codes, words) in self.design.table_columns.items()
        }
        columns |= {column: array[:, series].reshape(-1) for column, array in values.items()}
        columns = _present(self.design, nodes, series, columns)
        csv = self.design.config.publish.output.csv
        write_table(self.directory / table, name, columns, sort_by=("node", "item"), csv=csv)

    def scatter(self, rows: pa.Table, column: str) -> FloatArray:
        """Put a column in its place by node and series, shape (n_nodes, n_series); 0 elsewhere."""
        values = np.zeros((self.design.tree.n_nodes, len(self.design.series)))
        values[rows.column("node").to_numpy(), self._series_numbers(rows)] = rows.column(column).to_numpy()
        return values

    def _series_numbers(self, rows: pa.Table) -> IntArray:
        items = rows.column("item").combine_chunks()
        number = self.design.series_number
        lookup = np.array([number[name] for name in items.dictionary.to_pylist()], dtype=np.int64)
        return np.asarray(lookup[items.indices.to_numpy(zero_copy_only=False)], dtype=np.int64)
