"""`ldp_tree` as a protocol of one round, so that what runs rounds runs it too (`dplib.clustering.local.tree`)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.local.questions import Answers, Counts
from dplib.clustering.local.tree import LocalTree
from dplib.clustering.problem import Clustering, Problem
from dplib.randomness.user_streams import UserStreams


@dataclass(frozen=True)
class TreeRound:
    """The tree as a protocol of one round (`dplib.clustering.local.questions.Rounds`).

    Attributes:
        tree: of at most 6 dimensions.
        problem: the settings, of the same space.
    """

    tree: LocalTree
    problem: Problem

    @property
    def dimension(self) -> int:
        """Number of coordinates d of a point."""
        return self.problem.space.dimension

    @property
    def n_rounds(self) -> int:
        """One."""
        return 1

    def question_names(self, number: int) -> list[str]:
        """The levels."""
        del number
        return [question.name for question in self.tree.questions.questions]

    def encode(self, streams: UserStreams, points: IntArray, number: int, places: FloatArray) -> Answers:
        """The clients' part."""
        del number, places
        return self.tree.encode(streams, points)

    def aggregate(self, answers: Answers, number: int, places: FloatArray) -> Counts:
        """Add reports up."""
        del number, places
        return self.tree.aggregate(answers)

    def places_after(self, collected: Sequence[Counts]) -> FloatArray:
        """None: nothing is published before the only round."""
        return np.empty((0, self.tree.dimension))

    def cluster(self, collected: Sequence[Counts]) -> Clustering:
        """The server's part."""
        return self.tree.cluster(collected[0], self.problem)
