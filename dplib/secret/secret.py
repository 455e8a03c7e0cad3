"""The operator's secret, from which every key of the library is derived.

With the secret, and what the ledger holds, noise can be removed; so it is read from a place that only the operator
can read (`dplib.secret.places`), never printed, never pickled, never sent to executors: others get sub-keys.

*Key ring*: a place holds one or more keys as hexadecimal words of at least 64 digits (32 bytes), parted by spaces or
line ends. The first is the current key, under which new measurements are made; the others are old ones, kept for
reservations that were made under them and are not measured yet. Nothing else needs an old key: a stored measurement
is published without any.

No frame of this module that raises an error has the text or the bytes of a key among its local variables, so a
traceback that shows those shows no secret; `dplib.randomness.keyed.derive_key` hides the bytes of sub-keys too.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Never

from dplib.errors import ConfigError
from dplib.randomness.keyed import KEY_BYTES, HiddenKey, Label, derive_key
from dplib.secret.places import read_place
from dplib.validate import require

_HEX = re.compile(rf"[0-9a-fA-F]{{{2 * KEY_BYTES},}}")
_MIN_DISTINCT_BYTES = 12  # 32 random bytes have fewer distinct values with probability below 1e-14


class Secret:
    """Key material that shows itself to nobody; it only derives sub-keys.

    Args:
        key: at least 32 random bytes.

    Raises:
        ConfigError: if the key is too short or plainly not random.
    """

    __slots__ = ("_key", "key_id")

    def __init__(self, key: bytes) -> None:
        key = HiddenKey(key)
        require(len(key) >= KEY_BYTES, "secret", f"have at least {KEY_BYTES} bytes", "fewer")
        require(len(set(key)) >= _MIN_DISTINCT_BYTES, "secret", "be random bytes", "a pattern")
        self._key = key
        self.key_id = derive_key(key, "public key id", length=8).hex()
        """Public name of the secret, 16 hexadecimal digits: equal for equal secrets, tells nothing of the bytes."""

    def derive(self, *labels: Label) -> bytes:
        """An independent sub-key named by ``labels``, as `dplib.randomness.keyed.derive_key` makes it."""
        return derive_key(self._key, "secret", *labels)

    def __repr__(self) -> str:
        return f"Secret({getattr(self, 'key_id', 'refused')})"

    def __reduce__(self) -> Never:
        raise TypeError("a Secret cannot be pickled or copied; derive a sub-key instead")


@dataclass(frozen=True)
class KeyRing:
    """The current key and the old ones, newest first.

    Attributes:
        keys: at least one, all different.
    """

    keys: tuple[Secret, ...]

    @property
    def current(self) -> Secret:
        """The key of new measurements."""
        return self.keys[0]

    @property
    def key_ids(self) -> list[str]:
        """Public names, the current one first."""
        return [key.key_id for key in self.keys]

    def find(self, key_id: str) -> Secret | None:
        """The key of this public name, if it is here."""
        return next((key for key in self.keys if key.key_id == key_id), None)


def load_secret(spec: str, base: Path) -> KeyRing:
    """Read the secret from where ``spec`` says (`dplib.secret.places.read_place`).

    Raises:
        ConfigError: if the place cannot be read, is open to others, or holds no secret; the message never carries
            what was read.
    """
    words = _key_words(read_place(spec, base))
    require(bool(words), "secret", f"be hexadecimal text of at least {2 * KEY_BYTES} digits", "another text")
    ring = KeyRing(tuple(Secret(word) for word in words))
    if len(set(ring.key_ids)) < len(ring.keys):
        raise ConfigError("secret", "hold each key once, the current one first", "a key twice")
    return ring


def _key_words(text: str) -> list[HiddenKey]:
    """The keys of a text, none if a part of it is no key; raises nothing, since its frame holds the text."""
    words = text.split()
    if not all(len(word) % 2 == 0 and _HEX.fullmatch(word) for word in words):
        return []
    return [HiddenKey.fromhex(word) for word in words]
