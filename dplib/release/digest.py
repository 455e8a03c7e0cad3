"""Keyed digest of the exact counts: same counts, same noise; different counts never meet the same noise.

The digest is HMAC-SHA256 over the very blocks that get the noise. It goes into the measurement key (and from there
into every noise stream), so that a retry over unchanged counts repeats its noise, and a retry over changed counts
does not: with the same noise on both, their difference would be published exactly. It is private: it tells whether
any row changed. It lives in the ledger only and is never printed, logged, or put into a release.

Encoding: every part is preceded by its length as eight little-endian bytes, so no two inputs share an encoding. Counts
are hashed as little-endian int64 in row-major order after their shape, whatever the machine's own layout.

Cost: one pass over the bytes of the counts; no copy if they are contiguous and the machine is little-endian.

References: Bellare, Canetti, Krawczyk, Keying hash functions for message authentication, CRYPTO 1996 (HMAC);
RFC 2104.
"""

import hashlib
import hmac
from collections.abc import Iterable

import numpy as np

from dplib.arrays import IntArray
from dplib.validate import require

_BLOCK = b"dplib block digest 1"
_ALL = b"dplib counts digest 1"


def block_digest(key: bytes, block_name: str, counts: IntArray) -> bytes:
    """Return the 32-byte digest of one logical block, named by the settings, of exact int64 counts of any shape.

    Raises:
        ConfigError: if the key has fewer than 16 bytes or the counts are not int64.
    """
    require(len(key) >= 16, "digest key", "have at least 16 bytes", f"{len(key)} bytes")
    require(counts.dtype == np.int64, "counts", "be of type int64", counts.dtype)
    mac = hmac.new(key, _framed(_BLOCK, block_name.encode("utf-8")), hashlib.sha256)
    shape = np.array(counts.shape, dtype="<i8").tobytes()
    mac.update(_framed(shape))
    mac.update(_length(counts.nbytes))
    # A view of bytes is taken of the flat array because an array without elements cannot be cast.
    mac.update(np.ascontiguousarray(counts, dtype="<i8").reshape(-1).view(np.uint8).data)
    return mac.digest()


def combine_digests(key: bytes, digests: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the 32-byte digest of all blocks: pairs (block name, block digest), in any order.

    Raises:
        ConfigError: if the key is too short, a name occurs twice or a digest does not have 32 bytes.
    """
    require(len(key) >= 16, "digest key", "have at least 16 bytes", f"{len(key)} bytes")
    pairs = sorted((name.encode("utf-8"), digest) for name, digest in digests)
    names = {name for name, _ in pairs}
    require(len(names) == len(pairs), "blocks", "have names that differ", "a name twice")
    require(all(len(digest) == 32 for _, digest in pairs), "block digest", "have 32 bytes", "another length")
    mac = hmac.new(key, _framed(_ALL), hashlib.sha256)
    for name, digest in pairs:
        mac.update(_framed(name, digest))
    return mac.digest()


def _length(size: int) -> bytes:
    return size.to_bytes(8, "little")


def _framed(*parts: bytes) -> bytes:
    return b"".join(_length(len(part)) + part for part in parts)
