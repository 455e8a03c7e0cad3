"""Rounds on Spark without a shuffle: blocks whose state advances by small messages from the driver.

Every round is one job: the driver sends a message, blocks take it and return a small summary. The state itself is
rebuilt more often than stored: only every few rounds it is persisted, by the job that asks for its summary, and in
between a job starts from the last stored state and takes the messages since then again. Storing the state costs as much
as taking many messages anew. Stored states that nothing needs any more are dropped. A
lost executor's blocks are computed again from the first state by the same messages, so numbers never depend on it.

The chain of stored states makes Spark's plan longer; after `MAX_DEPTH` of them it is cut by a checkpoint, in Spark's
checkpoint folder (``spark.checkpoint.dir``) if there is one. Otherwise on the executors' disks: a block lost after that
fails the job, which is free to run again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from dplib.spark.engine.blocks import Block, DataFrame, collect_blocks, map_blocks
from dplib.spark.engine.session import quiet_spark_errors

KEEP_EVERY = 8
"""Rounds after which the state is stored."""
MAX_DEPTH = 12
"""Stored states after which the plan is cut."""
State = TypeVar("State")


class Stepper(Protocol[State]):
    """What happens inside one block; it must be deterministic and carry settings only."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the binary columns of a stored state."""
        ...

    def load(self, block: int, columns: Block) -> State:
        """The state of a block from its columns."""
        ...

    def step(self, block: int, state: State, message: Any) -> State:
        """Take a message."""
        ...

    def store(self, block: int, state: State) -> Block:
        """The columns of a state."""
        ...

    def summary(self, block: int, state: State) -> bytes:
        """What the driver gets to see of a state."""
        ...


class Rounds(Protocol):
    """What sends messages to all blocks: `BlockRounds` on Spark, `HeldBlocks` in this process."""

    def send(self, message: Any, task: str, ends_round: bool = False) -> list[bytes]:
        """Let all blocks take a message and summarise themselves."""
        ...


class HeldBlocks(Generic[State]):
    """The state of all blocks in this process.

    Args:
        stepper: what happens inside a block.
        states: of the blocks, in their order.
    """

    def __init__(self, stepper: Stepper[State], states: Sequence[State]) -> None:
        self._stepper, self.states = stepper, list(states)

    def send(self, message: Any, _: str, ends_round: bool = False) -> list[bytes]:
        """As `BlockRounds.send`; nothing is stored."""
        if message is not None:
            self.states = [self._stepper.step(block, state, message) for block, state in enumerate(self.states)]
        return [self._stepper.summary(block, state) for block, state in enumerate(self.states)]


class BlockRounds:
    """The state of all blocks.

    Args:
        start: first state, persisted by the caller; columns block int and those of the stepper.
        stepper: what happens inside a block.
        keep_every: rounds after which the state is stored.
        max_depth: stored states after which the plan is cut.
    """

    def __init__(
        self, start: DataFrame, stepper: Stepper[Any], keep_every: int = KEEP_EVERY, max_depth: int = MAX_DEPTH
    ) -> None:
        self._stepper = stepper
        self._keep_every, self._max_depth = keep_every, max_depth
        self._base = start
        self._pending: list[Any] = []
        self._n_rounds = 0
        self._depth = 0
        self._kept: list[DataFrame] = []

    def send(self, message: Any, task: str, ends_round: bool = False) -> list[bytes]:
        """Let all blocks take a message and summarise themselves.

        Args:
            message: anything that pickles; ``None`` asks for summaries only.
            task: what Spark is doing, for error messages.
            ends_round: whether a round is complete with this message, so that its state may be stored.

        Returns:
            Summaries in the order of the blocks.
        """
        if message is not None:
            self._pending.append(message)
        self._n_rounds += ends_round
        if ends_round and not self._n_rounds % self._keep_every:
            found = self._store(task)
        else:
            found = collect_blocks(self.mapped(_summarise, ["summary"]), task)
        return [columns["summary"] for _, columns in found]

    def _store(self, task: str) -> list[tuple[int, dict[str, bytes]]]:
        """Summaries, and the state that they are of stored by the same job."""
        advanced = self.mapped(_store, [*self._stepper.columns, "summary"])
        self._pending = []
        self._depth += 1
        if self._depth < self._max_depth:
            self._base = advanced.persist()
            found = collect_blocks(self._base.select("block", "summary"), task)
            self.close()
            self._kept.append(self._base)
            return found
        with quiet_spark_errors(task):
            reliable = bool(advanced.sparkSession.conf.get("spark.checkpoint.dir", ""))
            self._base = advanced.checkpoint() if reliable else advanced.localCheckpoint()
        self._depth = 0
        found = collect_blocks(self._base.select("block", "summary"), task)
        self.close()
        return found

    def mapped(self, function: Callable[[Stepper[Any], int, Any], Block], columns: Sequence[str]) -> DataFrame:
        """Blocks made from the state of each block; lazy.

        Args:
            function: from the stepper, the block's number and its state to the result's columns.
            columns: names of the result's binary columns.
        """
        return map_blocks(self._base, partial(_replay, self._stepper, tuple(self._pending), function), columns)

    def close(self) -> None:
        """Drop the stored states."""
        while self._kept:
            self._kept.pop().unpersist()


def _replay(
    stepper: Stepper[Any],
    messages: Sequence[Any],
    function: Callable[[Stepper[Any], int, Any], Block],
    block: int,
    columns: Block,
) -> Block:
    state = stepper.load(block, columns)
    for message in messages:
        state = stepper.step(block, state, message)
    return function(stepper, block, state)


def _summarise(stepper: Stepper[Any], block: int, state: Any) -> Block:
    return {"summary": stepper.summary(block, state)}


def _store(stepper: Stepper[Any], block: int, state: Any) -> Block:
    return {**stepper.store(block, state), "summary": stepper.summary(block, state)}
