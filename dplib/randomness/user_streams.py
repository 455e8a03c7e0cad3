"""Keyed random words of many users at once: what a user draws depends on the key, the labels and the user alone.

In the local model every user randomizes a report of their own. If a partition of users is computed again, in another
order or on another machine, every user must draw the same bits again: a second, different report of one person would
be a second answer about the same data and cost a second budget. So word w of user u is a function of (key, labels, u,
w): AES-256 under a key that belongs to the labels, applied to the block (name of u, number of the block). This is
counter mode with the user's name as the nonce; a million users open no million ciphers.

Exactness: a Bernoulli(p) draw compares a first word of 16 bits with the digits of p, ties go on with 64 further bits
of the same user and draw, and from there with a `KeyedStream` named by user and draw. No digit is rounded. Uniform
integers are drawn by rejection, with the same continuation.

Guarantee: as for `dplib.randomness.keyed`, AES-256 is assumed to be pseudorandom. Names have 96 bits, so among 10^9
named users two share a name with probability below 10^-11; numbered users never do.

Cost: one AES block for 16 bytes, 2 bytes a Bernoulli draw.

References:
    Dworkin: Recommendation for Block Cipher Modes of Operation. NIST SP 800-38A, 2001, section 6.5 (CTR).
    Knuth, Yao: The complexity of nonuniform random number generation. Algorithms and Complexity, 1976 (lazy bits).
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Self

import numpy as np

from dplib.arrays import BoolArray, ByteArray, IntArray, Word32Array, WordArray
from dplib.errors import ConfigError
from dplib.randomness.digits import Probability
from dplib.randomness.integers import resolve_ties, uniform_below
from dplib.randomness.keyed import Key, KeyedStream, Label, derive_key
from dplib.validate import at_least, between

_NAME_WORDS = 3
_WORD = np.dtype("<u4")
_FIRST, _MORE = 16, 64
_BLOCK = 16
_CHUNK_BYTES = 1 << 17  # what is worked on at once stays in the cache


def number_users(numbers: IntArray) -> Word32Array:
    """Names of users who are known by number, shape (n, 3); different numbers get different names."""
    names = np.zeros((len(numbers), _NAME_WORDS), dtype="<u4")
    names[:, :2] = np.ascontiguousarray(numbers, dtype="<i8").view("<u4").reshape(-1, 2)
    return names


def name_users(key: Key, users: Iterable[bytes]) -> Word32Array:
    """Names of users who are known by any bytes: keyed BLAKE2b of 96 bits, shape (n, 3).

    Args:
        key: 16 to 64 bytes; the same for every report of a collection.
        users: one entry a user.
    """
    between("length of the key", len(key), 15, 65)
    digests = b"".join(blake2b(user, key=key, digest_size=4 * _NAME_WORDS).digest() for user in users)
    return np.frombuffer(digests, dtype="<u4").reshape(-1, _NAME_WORDS)


class UserStreams:
    """The random words of some users under one label; asking again gives the same words again.

    Args:
        key: at least 32 bytes: on a user's device their own, in a simulation the key of the collection.
        users: names (`number_users`, `name_users`), shape (n, 3).
        labels: what the draw is for; one list of labels must serve one draw only.
        asking: key of what may depend on the names alone (`by_name`); ``key`` where absent.
    """

    def __init__(self, key: Key, users: Word32Array, *labels: Label, asking: Key | None = None) -> None:
        if not (users.ndim == 2 and users.shape[1] == _NAME_WORDS and users.dtype == _WORD):
            raise ConfigError("users", "be named by three words of 32 bits each", f"{users.shape} of {users.dtype}")
        self._key, self.users, self._labels = key, users, labels
        self._asking = key if asking is None else asking
        self._sub_keys: dict[str, Key] = {}

    def __repr__(self) -> str:
        return "UserStreams(...)"

    def __len__(self) -> int:
        return len(self.users)

    def under(self, *labels: Label) -> Self:
        """The streams of the same users for another draw, named by further labels."""
        return type(self)(self._key, self.users, *self._labels, *labels, asking=self._asking)

    def by_name(self) -> Self:
        """The streams of the same users for what must not hang on anybody's point: which question one is asked."""
        return type(self)(self._asking, self.users, *self._labels)

    def of(self, chosen: IntArray | BoolArray | slice) -> Self:
        """The streams of some of the users."""
        return type(self)(self._key, self.users[chosen], *self._labels, asking=self._asking)

    def uint64(self, size: int) -> WordArray:
        """The first ``size`` words of 64 bits of each user, shape (n, size)."""
        at_least("size", size, 0)
        words = np.empty((len(self), size), dtype="<u8")
        for rows, blocks in self._chunks(-(-8 * size // _BLOCK)):
            words[rows] = blocks.view("<u8")[:, :size]
        return words

    def bernoulli(self, law: Probability, size: int) -> Iterator[tuple[slice, BoolArray]]:
        """Draw ``size`` independent variables a user, for some users at a time.

        Yields:
            the rows of ``users`` and their draws, shape (rows, size).
        """
        at_least("size", size, 0)
        digits = law.prefix(_FIRST + _MORE)
        first, second = digits >> _MORE, digits & ((1 << _MORE) - 1)
        for rows, blocks in self._chunks(-(-2 * size // _BLOCK)):
            words = blocks.view("<u2")[:, :size]
            if first == 1 << _FIRST:  # probability 1
                yield rows, np.ones(words.shape, dtype=np.bool_)
                continue
            drawn: BoolArray = words < np.uint16(first)
            tied = np.flatnonzero(words == np.uint16(first))
            if len(tied):
                user, draw = np.divmod(tied, size)
                drawn[user, draw] = self._go_on(user + rows.start, draw, law, second)
            yield rows, drawn

    def bernoulli_once(self, law: Probability) -> BoolArray:
        """One variable a user, shape (n,)."""
        parts = [drawn[:, 0] for _, drawn in self.bernoulli(law, 1)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.bool_)

    def uniform_below(self, bound: int) -> IntArray:
        """One uniform integer ``0 <= k < bound`` a user, shape (n,); ``bound`` from 1 to 2^63."""
        between("bound", bound, 0, 2**63 + 1)
        words = self.uint64(1)[:, 0]
        accepted = 2**64 // bound * bound
        drawn = (words % np.uint64(bound)).astype(np.int64)
        if accepted < 2**64:
            for user in np.flatnonzero(words >= np.uint64(accepted)):
                drawn[user] = uniform_below(self._own(int(user), "rejected"), bound, 1)[0]
        return drawn

    def _go_on(self, user: IntArray, draw: IntArray, law: Probability, second: int) -> BoolArray:
        """Decide draws whose first 16 bits are those of the law."""
        counters = np.empty((len(user), _NAME_WORDS + 1), dtype="<u4")
        counters[:, :_NAME_WORDS], counters[:, _NAME_WORDS] = self.users[user], draw
        more = self._encrypt(counters, "ties").view("<u8")[:, 0]
        drawn: BoolArray = more < np.uint64(second)
        for tie in np.flatnonzero(more == np.uint64(second)):
            own = self._own(int(user[tie]), "ties", int(draw[tie]))
            drawn[tie] = resolve_ties(own, law, _FIRST + _MORE, 1)[0]
        return drawn

    def _own(self, user: int, *labels: Label) -> KeyedStream:
        return KeyedStream(self._key, "user", *self._labels, self.users[user].tobytes(), *labels)

    def _chunks(self, n_blocks: int) -> Iterator[tuple[slice, ByteArray]]:
        """Rows of users and their first blocks, shape (rows, 16 n_blocks)."""
        at_once = max(1, _CHUNK_BYTES // max(1, _BLOCK * n_blocks))
        # A block is the name and the number, 96 and 32 bits: two words of 64 bits are quicker to fill than four.
        number = np.arange(n_blocks, dtype="<u8") << np.uint64(32)
        counters = np.empty((min(at_once, len(self)), n_blocks, 2), dtype="<u8")
        for start in range(0, len(self), at_once):
            rows = slice(start, min(start + at_once, len(self)))
            names = self.users[rows].astype("<u8")
            part = counters[: len(names)]
            part[:, :, 0] = (names[:, 0] | names[:, 1] << np.uint64(32))[:, np.newaxis]
            np.bitwise_or(names[:, 2:], number, out=part[:, :, 1])
            yield rows, self._encrypt(part.reshape(len(part), -1), "words")

    def _encrypt(self, blocks: Word32Array | WordArray, use: str) -> ByteArray:
        if use not in self._sub_keys:
            self._sub_keys[use] = derive_key(self._key, "users", *self._labels, use)
        # Every block is a different counter, so what is weak about the codebook mode, equal blocks, does not occur.
        # Imported where it is drawn: whoever reads a release does without.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        encryptor = Cipher(algorithms.AES(self._sub_keys[use]), modes.ECB()).encryptor()  # noqa: S305
        plain = np.ascontiguousarray(blocks).view(np.uint8).reshape(-1)
        out = np.empty(plain.size + _BLOCK - 1, dtype=np.uint8)
        encryptor.update_into(plain.data, out.data)
        return out[: plain.size].reshape(len(blocks), -1)
