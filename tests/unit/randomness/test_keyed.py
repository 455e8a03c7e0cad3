"""Derived keys and streams against the definitions of HKDF and counter mode."""

import copy
import hashlib
import hmac
import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.randomness.keyed import KeyedStream, Label, derive_key

KEY = bytes(range(32))
# Letters of one to four bytes; drawing from all of Unicode takes seconds to prepare.
TEXTS = st.text("\0a1é中😀", max_size=12)
labels = st.lists(st.one_of(TEXTS, st.integers(), st.binary()), max_size=4)


def _hkdf(key: bytes, domain: bytes, parts: list[Label], length: int) -> bytes:
    """RFC 5869 written out with `hmac`."""
    info = b""
    for part in [domain, *parts]:
        tag, content = (
            (b"s", part.encode()) if isinstance(part, str)
            else (b"i", b"%d" % part) if isinstance(part, int)
            else (b"b", part)
        )  # fmt: skip
        info += tag + len(content).to_bytes(8, "big") + content
    extracted = hmac.digest(bytes(32), key, hashlib.sha256)
    block, out, counter = b"", b"", 1
    while len(out) < length:
        block = hmac.digest(extracted, block + info + bytes([counter]), hashlib.sha256)
        out += block
        counter += 1
    return out[:length]


@settings(deadline=None)
@given(st.binary(min_size=32, max_size=64), labels, st.integers(1, 100))
def test_derived_keys_are_hkdf(key: bytes, parts: list[Label], length: int) -> None:
    assert derive_key(key, *parts, length=length) == _hkdf(key, b"dplib key 1", [length, *parts], length)


@settings(deadline=None)
@given(labels)
def test_streams_are_aes_in_counter_mode(parts: list[Label]) -> None:
    stream_key = _hkdf(KEY, b"dplib stream 1", parts, 32)
    blocks = b"".join(counter.to_bytes(16, "big") for counter in range(20))
    encryptor = Cipher(algorithms.AES(stream_key), modes.ECB()).encryptor()  # noqa: S305 - the oracle runs the counter itself
    assert KeyedStream(KEY, *parts).bytes(320) == encryptor.update(blocks)


@settings(deadline=None)
@given(labels, labels)
def test_different_labels_give_different_keys_and_streams(one: list[Label], other: list[Label]) -> None:
    assume([(type(x), x) for x in one] != [(type(x), x) for x in other])
    assert derive_key(KEY, *one) != derive_key(KEY, *other)
    assert KeyedStream(KEY, *one).bytes(16) != KeyedStream(KEY, *other).bytes(16)


def test_neighbouring_spellings_of_labels_are_apart() -> None:
    spellings: list[tuple[Label, ...]] = [(), ("",), ("1",), (1,), (b"1",), ("ab", "c"), ("a", "bc"), ("abc",), (-1,)]
    assert len({derive_key(KEY, *parts) for parts in spellings}) == len(spellings)


def test_a_streams_key_is_no_derived_key_and_lengths_are_independent() -> None:
    key = derive_key(KEY, "a")
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(32))
    assert KeyedStream(KEY, "a").bytes(32) != stream
    assert derive_key(KEY, "a", length=16) != key[:16]


@settings(deadline=None)
@given(st.lists(st.integers(0, 300), max_size=8))
def test_reads_do_not_depend_on_how_they_are_cut(sizes: list[int]) -> None:
    stream = KeyedStream(KEY, "cut")
    assert b"".join(stream.bytes(size) for size in sizes) == KeyedStream(KEY, "cut").bytes(sum(sizes))


def test_words_are_little_endian_pieces_of_one_sequence() -> None:
    raw = KeyedStream(KEY, "words").bytes(2 * 3 + 4 * 5 + 8 * 7)
    stream = KeyedStream(KEY, "words")
    assert stream.uint16(3).tolist() == [int.from_bytes(raw[i : i + 2], "little") for i in range(0, 6, 2)]
    assert stream.uint32(5).tolist() == [int.from_bytes(raw[i : i + 4], "little") for i in range(6, 26, 4)]
    assert stream.uint64(7).tolist() == [int.from_bytes(raw[i : i + 8], "little") for i in range(26, 82, 8)]


def test_streams_cannot_leave_the_process_nor_show_a_key() -> None:
    stream = KeyedStream(KEY, "x")
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="send a derived key"):
            leave(stream)
    assert repr(stream) == "KeyedStream(...)"


@pytest.mark.parametrize("label", [True, 1.0, None, np.int64(1), bytearray(b"x")])
def test_other_types_of_labels_are_refused(label: Label) -> None:
    with pytest.raises(ConfigError, match="label must be a text, an integer or bytes"):
        derive_key(KEY, label)


def test_short_keys_and_bad_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match="key must have at least 32 bytes, got 31 bytes"):
        KeyedStream(KEY[:31])
    for length in (0, 255 * 32 + 1):
        with pytest.raises(ConfigError, match="length must lie strictly between"):
            derive_key(KEY, length=length)
    assert len(derive_key(KEY, length=255 * 32)) == 255 * 32
