"""The tables of a release: one file a logical block (a run of groups).

    measurement/         group, node, level, lo, hi, noisy, variance     measured nodes only
    measurement/tree/    node, parent, lo_bin, hi_bin, share             the tree and its exact shares, the same for all
    measurement/choices/ group, bucket, first_bin, end_bin               method adaptive: the chosen buckets
    measurement/measure.json                                             shares of the groups and each kind of totals
    estimates/           group, node, level, lo, hi, estimate, std_error
    published/           group, bin, lo, hi, count

Of a stream: `dplib.release.stream_tops`; each day's measurement has ``tree.json``, its estimates and published counts a
column ``status``.

Where groups add up, totals stand among the groups under their names. ``lo`` and ``hi`` are the ends of a range in the
bins' public names: edges for numbers, first and last (inside) for days and categories. Nodes are numbered breadth first
from the root.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dplib.arrays import FloatArray, IntArray
from dplib.canonical import canonical_json
from dplib.config.measure import Measure
from dplib.config.stream import StreamTree
from dplib.errors import IntegrityError
from dplib.jobs.range_histograms.design import Design
from dplib.release.release_tables import ReleaseTables, read_measure, write_measure
from dplib.release.staging import MEASUREMENT
from dplib.release.stream_tops import NODES, OpenTop
from dplib.release.tables import Column, read_table, write_table
from dplib.trees.budgets import LawName
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.strategies import TreeStrategy

ESTIMATES, PUBLISHED = "estimates", "published"
TREE, CHOICES = "tree", "choices"
STREAM_TREE = "tree.json"
"""Of a stream, beside the measurement of each day."""


def _groups(names: Sequence[str], times: int | IntArray) -> pa.DictionaryArray:
    places = np.repeat(np.arange(len(names), dtype=np.int32), times)
    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(list(names)))


def write_strategy(directory: Path, design: Design) -> None:
    """Store what was measured, tree and shares, beside the measurement: another version may choose others."""
    strategy, tree = design.strategy, design.strategy.tree
    columns = {
        "node": np.arange(tree.n_nodes),
        "parent": tree.parent,
        "lo_bin": tree.lo,
        "hi_bin": tree.hi,
        "share": strategy.shares,
    }
    write_table(directory / MEASUREMENT / TREE, strategy.name, columns, sort_by=("node",))
    write_measure(directory / MEASUREMENT, None if design.sums is None else design.sums.columns.measure)


def read_strategy(directory: Path, noise: LawName) -> TreeStrategy:
    """The strategy of a stored measurement.

    Raises:
        IntegrityError: if it is missing or no tree.
    """
    folder = directory / MEASUREMENT / TREE
    table = read_table(folder, ["node", "parent", "lo_bin", "hi_bin", "share"])
    arrays = [table.column(name).to_numpy() for name in ("lo_bin", "hi_bin", "parent", "share")]
    names = [path.stem for path in folder.glob("*.parquet")]
    if len(names) != 1:
        raise IntegrityError(f"measurement must hold one tree, got {len(names)}")
    tree = IntervalTree.from_parents(*arrays[:3])
    return TreeStrategy(names[0], tree, arrays[3].astype(np.int64), noise)


def _one_text(text: str, times: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, dtype=np.int32)), pa.array([text]))


def read_stream_tree(measurement: Path) -> tuple[StreamTree, Measure | None]:
    """The tree of a stream, and its shares by kind of histograms, from the folder of a day's measurement.

    Raises:
        IntegrityError: if it names none.
    """
    try:
        tree = StreamTree.model_validate_json((measurement / STREAM_TREE).read_bytes())
    except (OSError, ValueError):
        raise IntegrityError(
            f"measurement must name its tree in {STREAM_TREE}, got {measurement.name} without it"
        ) from None
    return tree, read_measure(measurement)


def _tiled(values: npt.NDArray[np.generic], times: int) -> Column:
    """Repeat a column of public names; texts as a dictionary, so that each is held once."""
    if values.dtype.kind != "U":
        return np.tile(values, times)
    names, places = np.unique(values, return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(np.tile(places.astype(np.int32), times)), pa.array(names.tolist()))


class Tables(ReleaseTables[Design]):
    """The job's."""

    def write_measurement(self, block: int, noisy: IntArray) -> None:
        """Write one block of ``measurement/``.

        Args:
            block: its number.
            noisy: shape (groups of the block, n_nodes).
        """
        design = self.design
        kept = np.flatnonzero(np.isfinite(design.variance))
        first = int(design.group_bounds[block])
        own = np.flatnonzero(design.measured[first : first + len(noisy)])
        columns = self._keys(first + own, kept) | {
            "noisy": noisy[np.ix_(own, kept)].reshape(-1),
            "variance": design.noise_variance[np.ix_(design.column_of[first + own], kept)].reshape(-1),
        }
        write_table(self.directory / MEASUREMENT, self.design.block_name(block), columns, sort_by=("group", "node"))

    def write_buckets(self, block: int, edges: Sequence[IntArray], noisy: Sequence[IntArray]) -> None:
        """Write one block of the measurement of method ``adaptive``: the buckets, and the counts on their trees.

        Args:
            block: its number.
            edges: first bin of each bucket with the number of bins appended, one array a group of the block.
            noisy: of the nodes of each group's tree over its buckets.
        """
        groups, name = self.design.block_groups(block), self.design.block_name(block)
        n_buckets = np.array([len(each) - 1 for each in edges])
        buckets = {
            "group": _groups(groups, n_buckets),
            "bucket": np.concatenate([np.arange(n) for n in n_buckets]),
            "first_bin": np.concatenate([each[:-1] for each in edges]),
            "end_bin": np.concatenate([each[1:] for each in edges]),
        }
        write_table(self.directory / MEASUREMENT / CHOICES, name, buckets, sort_by=("group", "bucket"))
        nodes = [self._bucket_nodes(cuts, values) for cuts, values in zip(edges, noisy, strict=True)]
        counts = {"group": _groups(groups, np.array([len(each["node"]) for each in nodes]))}
        counts |= {column: np.concatenate([each[column] for each in nodes]) for column in nodes[0]}
        write_table(self.directory / MEASUREMENT, name, counts, sort_by=("group", "node"))

    def write_days(self, nodes: IntArray, noisy: IntArray) -> None:
        """Write what a stream measured on a day.

        Args:
            nodes: that closed on it, shape (n,).
            noisy: their counts in the measured histograms, shape (n, n_measured).
        """
        design, own = self.design, np.flatnonzero(self.design.measured)
        columns = self._keys(own, nodes) | {
            "noisy": noisy.T.reshape(-1),
            "variance": design.noise_variance[np.ix_(design.column_of[own], nodes)].reshape(-1),
        }
        folder = self.directory / MEASUREMENT
        write_table(folder, NODES, columns, sort_by=("group", "node"))
        assert design.stream is not None
        (folder / STREAM_TREE).write_bytes(canonical_json(design.stream.model_dump(mode="json")))
        write_measure(folder, None if design.sums is None else design.sums.columns.measure)

    def write_top(
        self, top: OpenTop, nodes: IntArray, estimates: FloatArray, errors: FloatArray, bins: IntArray, counts: IntArray
    ) -> None:
        """Write the estimates and the published counts of a stream's top.

        Args:
            top: which, with the status of its rows.
            nodes: that have estimates, shape (m,).
            estimates: shape (n_histograms, m).
            errors: their standard errors, shape (n_histograms, m).
            bins: that are measured, shape (n,).
            counts: of the bins, shape (n_histograms, n).
        """
        csv, own = self.design.config.publish.output.csv, np.arange(len(self.design.series))
        columns = self._keys(own, nodes) | {"estimate": estimates.reshape(-1), "std_error": errors.reshape(-1)}
        columns["status"] = _one_text(top.status, estimates.size)
        write_table(self.directory / ESTIMATES, top.name, columns, sort_by=("group", "node"), csv=csv)
        columns = self._bin_keys(own, bins) | {
            "count": counts.reshape(-1),
            "status": _one_text(top.status, counts.size),
        }
        write_table(self.directory / PUBLISHED, top.name, columns, sort_by=("group", "bin"), csv=csv)

    def read_noisy(self, block: int) -> FloatArray:
        """Read one block of ``measurement/`` back, shape (groups of the block, n_nodes); 0 where not measured."""
        table = read_table(
            self.directory / MEASUREMENT, ["group", "node", "noisy"], blocks=[self.design.block_name(block)]
        )
        return self.scatter(table, "noisy", block)

    def read_buckets(self, block: int) -> list[tuple[IntArray, FloatArray]]:
        """The edges of the buckets and the noisy counts of their tree's nodes, for each group of a block."""
        name = self.design.block_name(block)
        choices = read_table(self.directory / MEASUREMENT / CHOICES, ["group", "first_bin"], blocks=[name])
        counts = read_table(self.directory / MEASUREMENT, ["group", "node", "noisy"], blocks=[name])
        first, node, noisy = (
            table.column(column).to_numpy()
            for table, column in ((choices, "first_bin"), (counts, "node"), (counts, "noisy"))
        )
        bucket_groups, node_groups = self.group_numbers(choices), self.group_numbers(counts)
        start, found = int(self.design.group_bounds[block]), []
        for group in range(start, start + len(self.design.block_groups(block))):
            edges = np.append(first[bucket_groups == group], self.design.bins.n_bins)
            values = np.zeros(self.design.bucket_strategy(len(edges) - 1).tree.n_nodes)
            values[node[node_groups == group]] = noisy[node_groups == group]
            found.append((edges, values))
        return found

    def write_estimates(self, block: int, nodes: IntArray, values: Mapping[str, FloatArray]) -> None:
        """Write one block of ``estimates/``.

        Args:
            block: its number.
            nodes: the nodes that have estimates, shape (m,).
            values: columns, each of shape (groups of the block, m).
        """
        columns = self._keys(self._of_block(block), nodes) | {name: array.reshape(-1) for name, array in values.items()}
        write_table(
            self.directory / ESTIMATES,
            self.design.block_name(block),
            columns,
            sort_by=("group", "node"),
            csv=self.design.config.publish.output.csv,
        )

    def write_published(self, block: int, counts: IntArray) -> None:
        """Write one block of ``published/``.

        Args:
            block: its number.
            counts: shape (groups of the block, n_bins).
        """
        bins = np.arange(self.design.bins.n_bins)
        columns = self._bin_keys(self._of_block(block), bins) | {"count": counts.reshape(-1)}
        write_table(
            self.directory / PUBLISHED,
            self.design.block_name(block),
            columns,
            sort_by=("group", "bin"),
            csv=self.design.config.publish.output.csv,
        )

    def values(self, table: str, key: str, column: str) -> FloatArray:
        """A column of a table by histogram and ``node`` or ``bin``, 0 elsewhere, shape (n_histograms, n)."""
        design = self.design
        rows = read_table(self.directory / table, ["group", key, column])
        width = design.strategy.tree.n_nodes if key == "node" else design.bins.n_bins
        found = np.zeros((len(design.series), width))
        found[self.group_numbers(rows), rows.column(key).to_numpy()] = rows.column(column).to_numpy()
        return found

    def scatter(self, table: pa.Table, column: str, block: int) -> FloatArray:
        """Put a table's column in its place by group and node, shape (groups of the block, n_nodes); 0 elsewhere."""
        values = np.zeros((len(self.design.block_groups(block)), self.design.strategy.tree.n_nodes))
        groups = self.group_numbers(table) - int(self.design.group_bounds[block])
        values[groups, table.column("node").to_numpy()] = table.column(column).to_numpy()
        return values

    def group_numbers(self, table: pa.Table) -> IntArray:
        """Numbers of the groups of a table's rows."""
        column = table.column("group").combine_chunks()
        number = self.design.series_number
        lookup = np.array([number[name] for name in column.dictionary.to_pylist()], dtype=np.int64)
        return np.asarray(lookup[column.indices.to_numpy(zero_copy_only=False)], dtype=np.int64)

    def _of_block(self, block: int) -> IntArray:
        """Numbers of a block's histograms."""
        return np.arange(*self.design.group_bounds[block : block + 2])

    def _keys(self, series: IntArray, nodes: IntArray) -> dict[str, Column]:
        """Key columns of all pairs of some histograms and nodes."""
        tree, names = self.design.strategy.tree, [self.design.series[number] for number in series.tolist()]
        lo, hi = self.design.bins.ends(tree.lo[nodes], tree.hi[nodes])
        return {
            "group": _groups(names, len(nodes)),
            "node": np.tile(nodes, len(names)),
            "level": np.tile(tree.level[nodes], len(names)),
            "lo": _tiled(lo, len(names)),
            "hi": _tiled(hi, len(names)),
        }

    def _bin_keys(self, series: IntArray, bins: IntArray) -> dict[str, Column]:
        """Key columns of all pairs of some histograms and bins."""
        names = [self.design.series[number] for number in series.tolist()]
        lo, hi = self.design.bins.ends(bins, bins + 1)
        return {
            "group": _groups(names, len(bins)),
            "bin": np.tile(bins, len(names)),
            "lo": _tiled(lo, len(names)),
            "hi": _tiled(hi, len(names)),
        }

    def _bucket_nodes(self, edges: IntArray, noisy: IntArray) -> dict[str, npt.NDArray[np.generic]]:
        """The measured nodes of the tree over one group's buckets, under the public names of their bins."""
        strategy = self.design.bucket_strategy(len(edges) - 1)
        tree, kept = strategy.tree, np.flatnonzero(strategy.shares)
        lo, hi = self.design.bins.ends(edges[tree.lo[kept]], edges[tree.hi[kept]])
        return {
            "node": kept,
            "level": tree.level[kept],
            "lo": lo,
            "hi": hi,
            "noisy": noisy[kept],
            "variance": self.design.node_variance(strategy)[kept],
        }
