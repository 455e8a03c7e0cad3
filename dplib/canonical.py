"""One JSON text for one value: the bytes that manifests, ledger entries and settings hashes are made of.

Keys are sorted, fractions are texts ``p/q`` (or ``p``), dates are ISO texts, sets of settings are refused (they have no
order) and so are NaN and infinity. Equal values give equal bytes on every machine and Python version that the
project supports.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction

import numpy as np

from dplib.errors import ConfigError

_OWN = frozenset({str, int, bool, type(None)})
"""Classes whose values are JSON's own."""
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def plain(value: object, name: str = "value") -> Json:
    """Return ``value`` as JSON's own types.

    Args:
        value: nested mappings with text keys, sequences, numbers, fractions, dates, enums of text, numpy scalars.
        name: path of the value, for the message.

    Raises:
        ConfigError: if a part has no canonical form; the message names its path, never its content.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(name, "be a finite number", "NaN or infinity")
        return float(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    return _plain_container(value, name)


def _plain_container(value: object, name: str) -> Json:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ConfigError(name, "have texts as keys", type(key).__name__)
        return {str(key): part if type(part) in _OWN else plain(part, f"{name}.{key}") for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [part if type(part) in _OWN else plain(part, f"{name}[{index}]") for index, part in enumerate(value)]
    raise ConfigError(name, "be a value with a canonical JSON form", type(value).__name__)


def canonical_json(value: object, indent: int | None = None) -> bytes:
    """Return the UTF-8 bytes of ``value``; ``indent`` is for files that people read as well."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        plain(value), sort_keys=True, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
    )
    return text.encode("utf-8")


def settings_hash(resolved: Mapping[str, object]) -> str:
    """Return the SHA-256, in hex, of resolved settings.

    The caller passes what decides the counts and the noise (for the measurement) or what shapes the result (for
    the publication), resolved: contents of listed files, not their names; no secret and nothing from rows, since
    the hash stands in the manifest.
    """
    return hashlib.sha256(b"dplib settings 1\n" + canonical_json(resolved)).hexdigest()
