"""What devices and server of a local collection agree on: public settings, as one small JSON document.

The operator publishes it (`dplib plan kmeans --json`, field ``collection``); a device needs nothing else. This module
and `dplib.jobs.kmeans.report_text` import numpy kernels only, neither Spark nor the configuration.

    {"version": 1, "method": "ldp_tree", "oracle": "auto", "epsilon": "1", "n_clusters": 8, "seed": 0,
     "expected_users": 100000, "space": {"center": [0.0, 0.0], "unit": 1.52587890625e-05,
     "half_widths": [65536, 65536], "round": true}, "shifts": [0.0, 0.0], "divisors": [1.0, 1.0],
     "constant": [0.0, 0.0]}

A point x (in the units of the data) becomes (x - shifts) / divisors, and that the integers ((...) - center) / unit, cut
toward 0, clipped to the half widths and, where ``round``, to length 65,536 (`dplib.clustering.space`). A missing
coordinate is the constant's. ``unit`` is the length of one integer step.
"""

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from typing import Any

from dplib.clustering.central.quadtree import MAX_DIMENSION
from dplib.clustering.local.hash_rounds import HashRounds
from dplib.clustering.local.noisy_coordinates import NoisyCoordinates
from dplib.clustering.local.projected_tree import ProjectedTree
from dplib.clustering.local.questions import Rounds
from dplib.clustering.local.tree import LocalTree, best_depth
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.problem import Problem
from dplib.clustering.space import Space
from dplib.errors import ConfigError
from dplib.mechanisms.local.choose_oracle import choose_oracle, rare_variance
from dplib.mechanisms.local.noisy_vector import NoisyVector
from dplib.mechanisms.local.vector_sums import VectorSums
from dplib.validate import require

VERSION = 1
_LARGE = 1 << 12
"""Size of the domain whose oracle's variance decides the number of levels."""


@dataclass(frozen=True)
class Collection:
    """The public settings of a local collection.

    Attributes:
        method: ``ldp_tree``, ``ldp_hash_rounds`` or ``noisy_coordinates``.
        oracle: of `dplib.mechanisms.local.choose_oracle.OracleName`.
        epsilon: privacy of a user's one report.
        n_clusters: k.
        seed: of the public randomness.
        expected_users: a public guess.
        frame: from a row's numbers to a point of the public space.
    """

    method: str
    oracle: str
    epsilon: Fraction
    n_clusters: int
    seed: int
    expected_users: int
    frame: PointFrame

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return self.frame.space.dimension

    @property
    def problem(self) -> Problem:
        """What all methods share."""
        return Problem(self.frame.space, self.n_clusters, seed=self.seed)

    @property
    def projected(self) -> bool:
        """Whether `ldp_tree` works in a projection, in two rounds."""
        return self.method == "ldp_tree" and self.dimension > MAX_DIMENSION

    @property
    def in_one_round(self) -> bool:
        """Whether one report that is made once answers all that is asked."""
        return self.method == "noisy_coordinates" or self.rounds.n_rounds == 1

    @property
    def rounds(self) -> Rounds:
        """The protocol; all but that of `noisy_coordinates`."""
        # The variance of a large domain's report stands for all levels.
        variance = float(rare_variance(choose_oracle(_LARGE, self.epsilon)))
        oracle = partial(choose_oracle, epsilon=self.epsilon, name=self.oracle)
        if self.projected:
            depth = ProjectedTree.best_depth(self.expected_users, variance)
            return ProjectedTree(self.problem, depth, oracle, partial(VectorSums, epsilon=self.epsilon))
        depth = best_depth(self.dimension, self.expected_users, variance)
        if self.method == "ldp_hash_rounds":
            return HashRounds(self.problem, depth, oracle)
        require(self.method == "ldp_tree", "method", "be ldp_tree or ldp_hash_rounds", self.method)
        return LocalTree(self.problem, depth, oracle)

    @property
    def noisy_points(self) -> NoisyCoordinates:
        """The protocol of `noisy_coordinates`."""
        return NoisyCoordinates(self.frame.space, partial(NoisyVector, epsilon=self.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """As JSON's own types."""
        found = asdict(self)
        frame: dict[str, Any] = found.pop("frame")
        return {"version": VERSION} | found | {"epsilon": str(self.epsilon)} | frame

    def to_json(self) -> str:
        """The document; equal collections give equal texts."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Collection":
        """Read the document.

        Raises:
            ConfigError: if it is none, or of another version.
        """
        try:
            found = json.loads(text)
            version = found.pop("version")
            require(version == VERSION, "version of the collection", f"be {VERSION}", version)
            space = found.pop("space")
            halves, ball = tuple(map(int, space["half_widths"])), bool(space["round"])
            frame = PointFrame(
                Space(_floats(space["center"]), float(space["unit"]), halves, ball),
                *(_floats(found.pop(name)) for name in ("shifts", "divisors", "constant")),
            )
            return cls(**found | {"epsilon": Fraction(found["epsilon"]), "frame": frame})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError("the collection", "be a document that `dplib plan` made", "another") from None

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that stand in every report: whose settings it answers."""
        return blake2b(b"dplib collection" + self.to_json().encode(), digest_size=8).hexdigest()


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(map(float, values))
