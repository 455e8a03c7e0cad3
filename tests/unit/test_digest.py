import hashlib
import hmac
import struct
from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from dplib.canonical import canonical_json, settings_hash
from dplib.errors import ConfigError
from dplib.privacy.budget import Currency
from dplib.release.digest import block_digest, combine_digests

KEY = bytes(range(32))


def reference_digest(key: bytes, name: str, counts: np.ndarray) -> bytes:
    """The documented encoding, written out with struct and one HMAC call."""

    def framed(part: bytes) -> bytes:
        return struct.pack("<Q", len(part)) + part

    shape = struct.pack(f"<{counts.ndim}q", *counts.shape)
    values = struct.pack(f"<{counts.size}q", *counts.ravel().tolist())
    message = framed(b"dplib block digest 1") + framed(name.encode()) + framed(shape) + framed(values)
    return hmac.digest(key, message, hashlib.sha256)


@pytest.mark.parametrize("shape", [(0,), (5,), (3, 4), (4, 3), (2, 0)])
def test_digest_is_the_documented_encoding(shape: tuple[int, ...]) -> None:
    counts = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) - 2
    assert block_digest(KEY, "top", counts) == reference_digest(KEY, "top", counts)


def test_memory_layout_does_not_matter_but_shape_name_key_and_values_do() -> None:
    counts = np.arange(12, dtype=np.int64).reshape(3, 4)
    digest = block_digest(KEY, "top", counts)
    assert block_digest(KEY, "top", np.asfortranarray(counts)) == digest
    assert block_digest(KEY, "top", np.repeat(counts, 2, axis=1)[:, ::2]) == digest
    changed = counts.copy()
    changed[2, 3] += 1
    others = [
        block_digest(KEY, "top", counts.reshape(4, 3)),
        block_digest(KEY, "top", counts.ravel()),
        block_digest(KEY, "to", counts),
        block_digest(KEY[::-1], "top", counts),
        block_digest(KEY, "top", changed),
    ]
    assert len({digest, *others}) == 6


def test_combined_digest_is_independent_of_order_and_binds_names() -> None:
    a, b = b"a" * 32, b"b" * 32
    both = combine_digests(KEY, [("x", a), ("y", b)])
    assert combine_digests(KEY, [("y", b), ("x", a)]) == both
    others = [
        combine_digests(KEY, [("x", b), ("y", a)]),
        combine_digests(KEY, [("x", a)]),
        combine_digests(KEY, []),
        combine_digests(KEY[::-1], [("x", a), ("y", b)]),
    ]
    assert len({both, *others}) == 5


def test_wrong_arguments_are_refused() -> None:
    counts = np.zeros(2, dtype=np.int64)
    with pytest.raises(ConfigError, match="at least 16 bytes"):
        block_digest(b"short", "top", counts)
    with pytest.raises(ConfigError, match="int64"):
        block_digest(KEY, "top", counts.astype(np.float64))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="names that differ"):
        combine_digests(KEY, [("x", b"a" * 32), ("x", b"b" * 32)])
    with pytest.raises(ConfigError, match="32 bytes"):
        combine_digests(KEY, [("x", b"a")])


def test_canonical_json_sorts_keys_and_writes_fractions_dates_and_enums_as_text() -> None:
    value = {
        "b": Fraction(1, 3),
        "a": (1, 2.5, True, None),
        "day": date(2020, 2, 29),
        "é": Currency.ZCDP,
        "n": np.int64(7),
        "x": np.float64(0.1),
    }
    expected = '{"a":[1,2.5,true,null],"b":"1/3","day":"2020-02-29","n":7,"x":0.1,"é":"zcdp"}'
    assert canonical_json(value) == expected.encode()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {1: 2}, {1, 2}, b"bytes", object()])
def test_values_without_a_canonical_form_are_refused_by_path(bad: object) -> None:
    with pytest.raises(ConfigError, match=r"value\.outer"):
        canonical_json({"outer": bad})


def test_settings_hash_depends_on_content_not_order() -> None:
    first = settings_hash({"a": 1, "b": {"c": Fraction(1, 2), "d": [1, 2]}})
    assert settings_hash({"b": {"d": [1, 2], "c": Fraction(1, 2)}, "a": 1}) == first
    others = [
        settings_hash({"a": 1, "b": {"c": Fraction(1, 3), "d": [1, 2]}}),
        settings_hash({"a": 1, "b": {"c": Fraction(1, 2), "d": [2, 1]}}),
        settings_hash({"a": True, "b": {"c": Fraction(1, 2), "d": [1, 2]}}),
    ]
    assert len({first, *others}) == 4
    assert len(first) == 64
