"""The sub-keys of one run: what is derived from the operator's secret, and what each of them depends on.

The noise key is derived from the secret, the ledger's entry, the measurement settings, the samplers' format and a keyed
digest of the exact statistics: the same statistics get the same noise in every retry, recomputation and layout, and
different ones never share noise, whose difference would be theirs. The bounding key belongs to the account alone: if it
hung on the measurement it would be circular.
"""

from dataclasses import dataclass, field

from dplib.errors import ConfigError
from dplib.ledger.runs import Run
from dplib.privacy.noise import SAMPLER_FORMAT
from dplib.randomness.keyed import derive_key
from dplib.secret.secret import KeyRing, Secret


@dataclass(frozen=True)
class MeasurementKeys:
    """What ``measure`` tells the ledger and nobody else.

    Attributes:
        key_id: public name of the secret.
        measurement_key: the noise key; only its hash is kept.
        data_digest: keyed digest of the exact counts.
    """

    key_id: str
    measurement_key: bytes = field(repr=False)
    data_digest: bytes = field(repr=False)


def secret_of(ring: KeyRing, run: Run | None) -> Secret:
    """The key that a run is measured with: the one it was reserved under, the current one where that is open.

    A retry under another key would draw other noise for the same counts. While nobody saw the first attempt that costs
    nothing; but an attempt that someone did see, in a backup of the staging folder say, is harmless only because the
    retry repeats its noise.

    Raises:
        ConfigError: if the ring does not hold that key any more.
    """
    if run is None or run.key_id is None:
        return ring.current
    found = ring.find(run.key_id)
    if found is None:
        raise ConfigError(
            "secret",
            f"hold the key {run.key_id}, which {run.release_id} was reserved under",
            (
                f"{', '.join(ring.key_ids)}: put it back, or give the reservation up (dplib ledger void "
                f"{run.release_id})"
            ),
        )
    return found


@dataclass(frozen=True)
class RunKeys:
    """The sub-keys of one run.

    Attributes:
        key_id: public name of the secret.
        bounding: chooses the rows that a cap keeps; belongs to the account.
        digest: keys the digest of the exact statistics.
        parent: what the measurement key is derived from, together with that digest.
        settings_hash: public hash of the settings that the run was reserved under.
        chosen: names what a stream remembers of the rows that it chose (`dplib.mechanisms.chosen_rows`).
    """

    key_id: str
    bounding: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    parent: bytes = field(repr=False)
    settings_hash: str = ""
    chosen: bytes = field(default=b"", repr=False)

    @classmethod
    def derive(cls, secret: Secret, run: Run) -> "RunKeys":
        """Derive them from the secret, the account, the ledger's entry and the measurement settings' hash."""
        key = run.key
        entry = (key.dataset, key.job, key.logical_date, run.sequence)
        return cls(
            key_id=secret.key_id,
            bounding=secret.derive("bounding", key.dataset),
            digest=secret.derive("digest", *entry),
            parent=secret.derive("measurement", *entry, key.settings_hash, SAMPLER_FORMAT),
            settings_hash=key.settings_hash,
            chosen=secret.derive("chosen rows", *entry),
        )

    def measurement(self, digest: bytes) -> bytes:
        """The noise key of statistics with this digest."""
        return derive_key(self.parent, digest)

    def recorded(self, digest: bytes) -> MeasurementKeys:
        """What the ledger keeps."""
        return MeasurementKeys(self.key_id, self.measurement(digest), digest)
