"""The greedy ordered projection on Spark, in rounds without a shuffle (`dplib.graphs.statistics.projection_blocks`).

Every round is one job: blocks of edges vote, the driver sends back the fates that two votes decide, and blocks take
them with the next job (`dplib.spark.engine.rounds`, which also stores states and cuts the plan). When few edges are
undecided, the driver takes them and decides them one by one. The result is that of the sequential projection, whatever
the rounds, blocks and partitions. How many rounds it took depends on the graph: it is not returned.

Cost: about ten rounds; two bits an undecided edge and round pass the driver, 25 MB at first for 100 million edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dplib.arrays import ByteArray
from dplib.graphs.statistics.projection_blocks import (
    KEPT,
    Pair,
    ProjectionBlock,
    Rest,
    block_rest,
    block_votes,
    finish,
    start_block,
    take_fates,
    worst_votes,
)
from dplib.spark.engine.blocks import Block, DataFrame, collect_blocks, map_blocks, materialise_blocks
from dplib.spark.engine.rounds import BlockRounds
from dplib.spark.graphs.edge_blocks import edge_bytes, pack_edges, read_ends

Fates = dict[Pair, tuple[int, bytes]]
ALONE = 1 << 15
"""Undecided edges up to which the driver decides them by itself: that takes milliseconds, a round a Spark job."""
_TASK = "bound the degrees"
_LISTS = ("source", "target", "bounds", "vertex", "half", "first")


def project_blocks(blocks: DataFrame, n_blocks: int, bound: int, salt: int, alone: int = ALONE) -> DataFrame:
    """Keep edges in the public order while both ends have room.

    Args:
        blocks: from `dplib.spark.graphs.edge_blocks.make_edge_blocks`, persisted.
        n_blocks: number of colours.
        bound: D, the largest degree to keep.
        salt: of the public order.
        alone: undecided edges up to which the driver decides.

    Returns:
        The kept edges in blocks of the same form; computed and persisted, for the caller to unpersist.
    """
    start = map_blocks(blocks, partial(_start, n_blocks, salt), [*_LISTS, "fate"]).persist()
    rounds = BlockRounds(start, _Voting(bound))
    try:
        votes = _read_votes(rounds.send(None, _TASK))
        while n_left := sum(len(each) for i, of_block in enumerate(votes) for each in of_block[i:]):
            if n_left <= alone:
                left = collect_blocks(rounds.mapped(partial(_rest, bound), ["rest"]), _TASK)
                fates = finish([_read_rest(columns["rest"]) for _, columns in left], salt)
            else:
                fates = worst_votes(votes)
            votes = _read_votes(
                rounds.send({pair: (len(each), _pack(each)) for pair, each in fates.items()}, _TASK, True)
            )
        kept = rounds.mapped(_kept, ["edges"]).persist()
        materialise_blocks(kept, _TASK)
    finally:
        rounds.close()
        start.unpersist()
    return kept


@dataclass(frozen=True)
class _Voting:
    """What happens inside one block (`dplib.spark.engine.rounds.Stepper`)."""

    bound: int

    @property
    def columns(self) -> Sequence[str]:
        return (*_LISTS, "fate")

    def load(self, block: int, columns: Block) -> ProjectionBlock:
        lists = {name: np.frombuffer(columns[name], "<i4").astype(np.int64) for name in _LISTS}
        return ProjectionBlock(**lists, fate=np.frombuffer(columns["fate"], np.uint8))

    def step(self, block: int, state: ProjectionBlock, message: Fates) -> ProjectionBlock:
        mine = {pair: _unpack(packed, size) for pair, (size, packed) in message.items() if block in pair}
        return take_fates(block, state, mine)

    def store(self, block: int, state: ProjectionBlock) -> Block:
        return _store(state)

    def summary(self, block: int, state: ProjectionBlock) -> bytes:
        votes = block_votes(state, self.bound)
        sizes = np.array([len(each) for each in votes], dtype="<i8")
        return b"".join([sizes.tobytes(), *map(_pack, votes)])


def _start(n_blocks: int, salt: int, block: int, columns: Block) -> Block:
    return _store(start_block(block, n_blocks, *read_ends(columns["edges"]), salt))


def _store(state: ProjectionBlock) -> Block:
    lists = {name: np.asarray(getattr(state, name)).astype("<i4").tobytes() for name in _LISTS}
    return lists | {"fate": state.fate.tobytes()}


def _kept(stepper: Any, block: int, state: ProjectionBlock) -> Block:
    kept = state.fate == KEPT
    return {"edges": edge_bytes(np.sort(pack_edges(state.source[kept], state.target[kept])))}


def _read_votes(summaries: Sequence[bytes]) -> list[list[ByteArray]]:
    """Votes by block and by the block that an edge is shared with."""
    n_blocks = len(summaries)
    votes = []
    for summary in summaries:
        sizes = np.frombuffer(summary, "<i8", n_blocks).tolist()
        place = 8 * n_blocks
        of_block = []
        for size in sizes:
            end = place + -(-size // 4)
            of_block.append(_unpack(summary[place:end], size))
            place = end
        votes.append(of_block)
    return votes


def _pack(votes: ByteArray) -> bytes:
    """Four votes a byte."""
    padded = np.zeros(-(-len(votes) // 4) * 4, dtype=np.uint8)
    padded[: len(votes)] = votes
    fours = padded.reshape(-1, 4)
    return (fours[:, 0] | fours[:, 1] << 2 | fours[:, 2] << 4 | fours[:, 3] << 6).tobytes()


def _unpack(packed: bytes, size: int) -> ByteArray:
    fours = np.frombuffer(packed, np.uint8)[:, np.newaxis] >> np.array([0, 2, 4, 6], dtype=np.uint8)
    return (fours & 3).reshape(-1)[:size].astype(np.uint8)


def _rest(bound: int, stepper: Any, block: int, state: ProjectionBlock) -> Block:
    rest = block_rest(block, state, bound)
    parts = [rest.edges.reshape(-1), rest.sizes, rest.vertex, rest.room]
    return {"rest": np.concatenate([[len(part) for part in parts], *parts]).astype("<i8").tobytes()}


def _read_rest(rest: bytes) -> Rest:
    numbers = np.frombuffer(rest, "<i8").astype(np.int64)
    edges, sizes, vertex, room = np.split(numbers[4:], np.cumsum(numbers[:3]))
    return Rest(edges.reshape(2, -1), sizes, vertex, room)
