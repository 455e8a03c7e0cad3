"""The tables of a release: one row a node and series, one file a logical block.

    measurement/  item, node, level, first_day, last_day, noisy, variance      measured levels and series only
                  and tree.json: the tree that was measured
    estimates/    item, node, level, first_day, last_day, estimate, std_error
    published/    item, node, level, first_day, last_day, count

Nodes are numbered breadth first from the root; both days are inclusive; rows are sorted by node, then by item. The top
(nodes above the blocks) is the file `top`.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.canonical import canonical_json
from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms.config import Tree
from dplib.jobs.consistent_histograms.design import Design
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
    width = len(series)
    return {
        "item": pa.DictionaryArray.from_arrays(
            pa.array(np.tile(np.arange(width, dtype=np.int32), len(nodes))),
            pa.array([design.series[number] for number in series]),
        ),
        "node": np.repeat(nodes, width),
        "level": np.repeat(tree.level[nodes], width),
        "first_day": np.repeat(first + tree.lo[nodes], width),
        "last_day": np.repeat(first + tree.hi[nodes] - 1, width),
    }


def write_measurement(directory: Path, design: Design, name: str, noisy: IntArray) -> None:
    """Write one block of ``measurement/``.

    Args:
        directory: the staging directory.
        design: the design.
        name: the block's name.
        noisy: shape (nodes of the block, n_measured_series).
    """
    nodes = block_nodes(design, name)
    kept = np.isfinite(design.level_variance[design.tree.level[nodes]])
    measured = np.array(design.measured_series, dtype=np.int64)
    order = np.argsort(np.array([design.series[number] for number in measured]))
    variance = design.level_variance[design.tree.level[nodes[kept]]]
    columns = _keys(design, nodes[kept], measured[order]) | {
        "noisy": noisy[kept][:, order].reshape(-1),
        "variance": np.repeat(variance, len(measured)),
    }
    write_table(directory / MEASUREMENT, name, columns, sort_by=("node", "item"))


def write_tree(directory: Path, design: Design) -> None:
    """Store which tree was measured, beside the measurement: ``tree: auto`` may choose another one later."""
    (directory / MEASUREMENT).mkdir(parents=True, exist_ok=True)
    (directory / MEASUREMENT / TREE).write_bytes(canonical_json(design.days.shape.model_dump(mode="json")))


def read_tree(directory: Path) -> Tree:
    """The tree of a stored measurement."""
    try:
        return Tree.model_validate_json((directory / MEASUREMENT / TREE).read_bytes())
    except (OSError, ValueError):
        raise IntegrityError(f"measurement must name its tree in {TREE}, got {directory.name} without it") from None


def read_measurement(directory: Path, design: Design) -> FloatArray:
    """Read ``measurement/`` back as the array that solvers take.

    Args:
        directory: the release or staging directory.
        design: the design it was measured by.

    Returns:
        Shape (n_nodes, n_series); 0 where not measured.
    """
    table = read_table(directory / MEASUREMENT, ["item", "node", "noisy"], blocks=block_names(design))
    return scatter(table, "noisy", design)


def read_noisy_block(directory: Path, design: Design, name: str) -> FloatArray:
    """Read one block of ``measurement/`` back.

    Args:
        directory: the release or staging directory.
        design: the design it was measured by.
        name: the block's name.

    Returns:
        Shape (nodes of the block, n_series); 0 where not measured.
    """
    table = read_table(directory / MEASUREMENT, ["item", "node", "noisy"], blocks=[name])
    nodes = block_nodes(design, name)
    values = np.zeros((len(nodes), len(design.series)))
    place = np.searchsorted(nodes, table.column("node").to_numpy())
    values[place, _series_numbers(table, design)] = table.column("noisy").to_numpy()
    return values


def scatter(table: pa.Table, column: str, design: Design) -> FloatArray:
    """Put a table's column in its place by node and series, shape (n_nodes, n_series); 0 elsewhere."""
    values = np.zeros((design.tree.n_nodes, len(design.series)))
    values[table.column("node").to_numpy(), _series_numbers(table, design)] = table.column(column).to_numpy()
    return values


def _series_numbers(table: pa.Table, design: Design) -> IntArray:
    items = table.column("item").combine_chunks()
    number = {name: position for position, name in enumerate(design.series)}
    lookup = np.array([number[name] for name in items.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(lookup[items.indices.to_numpy(zero_copy_only=False)], dtype=np.int64)


def write_block(
    directory: Path,
    table: str,
    design: Design,
    name: str,
    values: Mapping[str, npt.NDArray[np.generic]],
    csv: bool,
    kept: BoolArray | None = None,
) -> None:
    """Write one block of ``estimates/`` or ``published/``.

    Args:
        directory: the staging directory.
        table: its name.
        design: the design.
        name: the block's name.
        values: columns, each of shape (nodes of the block, n_series).
        csv: also as comma-separated text.
        kept: which series to write, shape (n_series,); all where absent.
    """
    nodes = block_nodes(design, name)
    series = np.argsort(np.array(design.series))
    series = series if kept is None else series[kept[series]]
    columns = _keys(design, nodes, series)
    columns |= {column: array[:, series].reshape(-1) for column, array in values.items()}
    write_table(directory / table, name, columns, sort_by=("node", "item"), csv=csv)
