"""The private part: the method's questions about the points, each answered with noise that is drawn once and stored.

Privacy statement: `dplib.jobs.kmeans.design`. A stream is named by the measurement key, the question and a keyed digest
of the exact numbers that it hides (`dplib.mechanisms.clustering_noise`): the same numbers get the same noise in every
retry and recomputation, and different ones never share noise, whatever the questions before them were. The measurement
key itself is the run's alone; the digest that the ledger keeps is of all exact numbers in the order of the questions.

In the local model a user's stream belongs to the user, and one changed report beside thousands of equal ones would tell
whose row changed. So there the measurement key depends on a keyed digest of all users and their points
(`dplib.jobs.kmeans.local.UserDigest`): data that differ in one row share no noise at all, equal data share all of it.

What is stored is every noisy number and every choice, in the order of drawing: with the settings it is all that a
release needs (`dplib.clustering.record`).
"""

import hmac
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import numpy as np

from dplib.arrays import IntArray
from dplib.clustering.central.bounds import RadiusClasses
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.record import Recorded
from dplib.clustering.source import Blocks, Keyed, NoiseSource, PointSource, add_keyed
from dplib.errors import IntegrityError
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.local import ReportRecorder, SubmittedReports, UserKeys, cluster_users, digest_of_users
from dplib.jobs.kmeans.methods import cluster_points
from dplib.jobs.kmeans.radius import find_bounds
from dplib.jobs.kmeans.tables import LOCAL, Draw, Tables
from dplib.mechanisms.clustering_noise import KeyedNoise
from dplib.privacy.noise import Noise
from dplib.release.digest import block_digest, combine_digests
from dplib.spark.points.points import RowSummary
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

_START, _USERS = b"kmeans questions", b"kmeans users"


class PointReader(Protocol):
    """Rows whose bounds may still have to be found."""

    def distances(self, summary: RowSummary) -> Keyed:
        """Totals of a summary of raw rows. NOT PRIVATE."""

    def within(self, frame: PointFrame) -> PointSource:
        """The rows as points of a space."""


class NoRows:
    """A reader of no rows."""

    def distances(self, summary: RowSummary) -> Keyed:
        """No keys."""
        return add_keyed([], summary.width)

    def within(self, _: PointFrame) -> PointSource:
        """No points."""
        return Blocks()


def measure_points(design: Design, reader: PointReader, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Ask the method's questions and store the answers as ``measurement/`` of the staging directory."""
    seed = hmac.digest(keys.digest, _START, "sha256")
    recorded = _RecordingNoise(KeyedNoise(keys.measurement(seed)), keys.digest, seed)
    counted = (np.zeros(0, dtype=np.int64), np.zeros((0, 1), dtype=np.int64))
    if design.radius_is_private:
        counted = reader.distances(RadiusClasses(design.frame.space.center))
    resolved = find_bounds(design, counted, recorded)
    cluster_points(design, resolved, reader.within(resolved.frame), recorded)
    draws = [
        Draw(name, mechanism, parameter, noisy)
        for (name, noisy), (mechanism, parameter) in zip(recorded.records, recorded.laws, strict=True)
    ]
    Tables(directory, design).write_draws(draws)
    return MeasurementKeys(keys.key_id, keys.measurement(seed), recorded.digest)


def measure_users(design: Design, source: PointSource, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Simulate users' reports (`dplib.spark.points.points.block_users`) and store them, merged, as ``measurement/``.

    Raises:
        IntegrityError: if users that were computed again have other points, because the input changed meanwhile.
    """
    digest = digest_of_users(source, keys.digest)
    asking = keys.measurement(hmac.digest(keys.digest, _USERS, "sha256"))
    _store(design, source, UserKeys(keys.measurement(digest), asking), keys, directory)
    if digest_of_users(source, keys.digest) != digest:
        raise IntegrityError("input must not change while it is read, got users other than before")
    return keys.recorded(digest)


def measure_reports(design: Design, joined: Keyed, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Store reports that units made, merged (`dplib.spark.points.point_reports.merge_reports`); nothing is drawn."""
    digest = _store(design, SubmittedReports(joined), UserKeys(), keys, directory)
    return keys.recorded(digest)


def _store(design: Design, source: PointSource, users: UserKeys, keys: RunKeys, directory: Path) -> bytes:
    """Store the merged reports of all rounds; their digest."""
    collected = ReportRecorder(source)
    cluster_users(design.collection, collected, users)
    draws = [Draw(name, LOCAL, design.budget, merged) for name, merged in collected.records]
    Tables(directory, design).write_draws(draws)
    digests = [
        (f"{place} {name}", block_digest(keys.digest, name, merged))
        for place, (name, merged) in enumerate(collected.records)
    ]
    return combine_digests(keys.digest, digests)


class _RecordingNoise(Recorded):
    """Noise that keeps the law of every draw too, and a digest of all numbers that it hides."""

    def __init__(self, noise: NoiseSource, key: bytes, digest: bytes) -> None:
        super().__init__(noise)
        self.laws: list[tuple[str, Fraction]] = []
        self._key, self.digest = key, digest

    def add(self, values: IntArray, noise: Noise, *labels: str | int) -> IntArray:
        self._hide(values, noise.law, noise.parameter)
        return super().add(values, noise, *labels)

    def choose(self, losses: IntArray, rate: Fraction, *labels: str | int) -> int:
        self._hide(losses, "exponential", rate)
        return super().choose(losses, rate, *labels)

    def _hide(self, values: IntArray, mechanism: str, parameter: Fraction) -> None:
        self.laws.append((mechanism, parameter))
        here = block_digest(self._key, f"question {len(self.laws)}", values)
        self.digest = hmac.digest(self._key, self.digest + here, "sha256")
