"""Derived keys and keyed streams: the same key and labels give the same bits on every machine, in every order.

Keys form a tree: `derive_key` makes a sub-key that tells nothing about its parent, so an executor that holds the
sub-key of one release can draw that release's noise and nothing else. `KeyedStream` turns a key and the labels that
name a draw (statistic, logical block, level) into a sequence of bits. Labels are encoded injectively (type tag,
length, content), so two different label lists never meet; keys and streams live in separate domains, so a stream's
key is never a key that was handed out.

Guarantee: HKDF-SHA256 and AES-256 in counter mode are assumed to be pseudorandom. A mechanism that draws from a
stream is private against readers who cannot break them: the guarantee is computational, not information-theoretic.
Anyone who holds the key can remove the noise.

Cost: a key derivation to open a stream, then AES in counter mode.

References:
    Krawczyk, Eronen: HMAC-based Extract-and-Expand Key Derivation Function (HKDF). RFC 5869, 2010.
    Dworkin: Recommendation for Block Cipher Modes of Operation. NIST SP 800-38A, 2001, section 6.5 (CTR).
"""

from typing import Never

import numpy as np
import numpy.typing as npt

from dplib.arrays import Word32Array, WordArray
from dplib.errors import ConfigError
from dplib.validate import between

Key = bytes
Label = str | int | bytes

KEY_BYTES = 32
_MAX_DERIVED_BYTES = 255 * 32  # HKDF-SHA256 ends here (RFC 5869, section 2.3)


class HiddenKey(bytes):
    """The bytes of a key, which do not show themselves where an object or a frame's variables are printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "HiddenKey(...)"

    __str__ = __repr__


def derive_key(key: Key, *labels: Label, length: int = KEY_BYTES) -> Key:
    """Derive an independent key named by ``labels``.

    Args:
        key: the parent key, at least 32 bytes.
        labels: any sequence of texts, integers and byte strings; ``"1"``, ``1`` and ``b"1"`` are different labels,
            ``("ab", "c")`` and ``("a", "bc")`` different sequences.
        length: bytes wanted; keys of different lengths are independent too.

    Raises:
        ConfigError: if the key is too short, the length out of range or a label of another type.
    """
    between("length", length, 0, _MAX_DERIVED_BYTES + 1)
    return _expand(key, b"dplib key 1", (length, *labels), length)


def _expand(key: Key, domain: bytes, labels: tuple[Label, ...], length: int) -> Key:
    if len(key) < KEY_BYTES:
        raise ConfigError("key", f"have at least {KEY_BYTES} bytes", f"{len(key)} bytes")
    info = b"".join([_encode(label) for label in (domain, *labels)])
    # Imported where it is drawn: whoever reads a release does without.
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HiddenKey(HKDF(algorithm=SHA256(), length=length, salt=None, info=info).derive(key))


def _encode(label: Label) -> bytes:
    # bool and numpy integers compare equal to ints; they would make two spellings of one label, so they are refused.
    if type(label) is str:
        tag, content = b"s", label.encode()
    elif type(label) is int:
        tag, content = b"i", str(label).encode()
    elif isinstance(label, bytes):
        tag, content = b"b", label
    else:
        raise ConfigError("label", "be a text, an integer or bytes", type(label).__name__)
    return tag + len(content).to_bytes(8, "big") + content


class KeyedStream:
    """An endless sequence of bits named by a key and labels.

    Reads are sequential and do not depend on how they are cut: ``bytes(3) + bytes(5)`` equals ``bytes(8)`` of a
    fresh stream with the same name. Words are little-endian on every machine. A stream cannot be pickled or copied:
    send a sub-key made by `derive_key` and open the stream where it is used.

    Args:
        key: at least 32 bytes.
        labels: what the draw is for; one name must serve one draw only, since the same name gives the same bits.
    """

    def __init__(self, key: Key, *labels: Label) -> None:
        stream_key = _expand(key, b"dplib stream 1", labels, KEY_BYTES)
        # The key serves this one stream, so the counter may start at zero.
        # Imported where it is drawn: whoever reads a release does without.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._encryptor = Cipher(algorithms.AES(stream_key), modes.CTR(bytes(16))).encryptor()

    def __reduce__(self) -> Never:
        raise TypeError("a KeyedStream cannot be pickled or copied; send a derived key and its labels instead")

    def __repr__(self) -> str:
        return "KeyedStream(...)"

    def uint16(self, size: int) -> npt.NDArray[np.uint16]:
        """The next ``size`` words of 16 bits, shape (size,)."""
        return np.frombuffer(self.bytes(2 * size), dtype="<u2")

    def uint32(self, size: int) -> Word32Array:
        """The next ``size`` words of 32 bits, shape (size,)."""
        return np.frombuffer(self.bytes(4 * size), dtype="<u4")

    def uint64(self, size: int) -> WordArray:
        """The next ``size`` words of 64 bits, shape (size,)."""
        return np.frombuffer(self.bytes(8 * size), dtype="<u8")

    def bytes(self, size: int) -> Key:
        """The next ``size`` bytes."""
        return self._encryptor.update(bytes(size))
