"""Paths of a configuration: environment variables, ``file://`` URLs, and what lies in other systems.

The rows are read by Spark, which knows every file system that the cluster knows: ``input.path`` may carry any scheme.
What the driver reads or writes itself (lists of names, the releases) must lie in a file system of its machine. Releases
appear by renaming a folder, under a lock: object stores and HDFS through a client have neither for a whole folder, so a
reader could meet half a release. They are refused instead; a finished release is copied there with its manifest last.
"""

import codecs
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from dplib.errors import ConfigError, SchemaError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_FILE = re.compile(r"file:(?://)?(/[^/].*|/)", re.IGNORECASE)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PATTERN_SIGNS = "[]{}*?\\"
"""Signs that Spark takes for a pattern's."""


def expand(setting: str, path: str) -> str:
    """Replace each ``${NAME}`` of a path by that environment variable.

    Raises:
        ConfigError: if the variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            raise ConfigError(setting, "name environment variables that are set", match[0])
        return found

    return re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", value, path)


def has_scheme(path: str) -> bool:
    """Whether a path is a URL: ``file:/a``, ``s3a://bucket/a``, ``hdfs:///a``."""
    return _SCHEME.match(path) is not None


def local_path(setting: str, path: str, base: Path, why: str = "") -> Path:
    """The place on this machine that a path or a ``file:`` URL names.

    Args:
        setting: for messages.
        path: as configured; ``${NAME}`` is an environment variable. As everywhere in Spark, ``%20`` stands for itself.
        base: folder that a relative path starts from.
        why: ends the message's rule.

    Raises:
        ConfigError: if a variable is not set, or the path is a URL of another system or of another machine.
    """
    expanded = expand(setting, path)
    if not has_scheme(expanded):
        return base / expanded
    local = _FILE.fullmatch(expanded)
    if local is None:
        raise ConfigError(setting, f"be a path or a file:// URL on the driver's machine{why}", path)
    return Path(local[1])


def read_text(setting: str, path: Path, most: int, shown: str) -> str:
    """A public text file; no more of it than could be one, however long the file is (``/dev/zero`` has no end).

    Args:
        setting: for messages.
        path: of the file.
        most: bytes that it may have.
        shown: the path as configured, for messages.

    Raises:
        ConfigError: if it cannot be read, is too long, or is neither UTF-8 nor UTF-16 with its mark.
    """
    try:
        with path.open("rb") as file:
            found = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(setting, "name a readable text file", shown) from error
    if len(found) > most:
        raise ConfigError(setting, f"name a text file of at most {most >> 20} MiB", shown)
    try:
        # What programs write that call UTF-16 Unicode begins with a mark, which no UTF-8 text has.
        return found.decode("utf-16" if found.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(setting, "name a readable text file, in UTF-8", shown) from error


def literal(path: str) -> str:
    """A path whose signs of a pattern stand for themselves, as Spark reads it."""
    return "".join("\\" + sign if sign in _PATTERN_SIGNS else sign for sign in path)


def below(base: Path, path: str) -> str:
    """The pattern of a path that starts from a folder: the folder is literal, the path may be a pattern.

    A path that is there as it is written is literal too.
    """
    if (base / path).exists():
        return literal(str(base / path))
    return path if Path(path).is_absolute() else f"{literal(str(base))}/{path}"


def require_local_files(setting: str, places: Sequence[str]) -> None:
    """Refuse paths of this machine at which there is nothing.

    Args:
        setting: for the message.
        places: absolute paths or patterns, or URLs; those of other file systems are not looked at.

    Raises:
        SchemaError: naming the place.
    """
    for place in places:
        local = _FILE.fullmatch(place) if has_scheme(place) else None
        if has_scheme(place) and local is None:
            continue
        path = place if local is None else local[1]
        if Path(path).exists() or _may_match(path):
            continue
        pattern = any(sign in path for sign in _PATTERN_SIGNS)
        rule = "match at least one file" if pattern else "name a file or folder that is there"
        raise SchemaError(f"{setting} must {rule}, got {place}")


def _may_match(path: str) -> bool:
    """Whether a pattern matches something; those that only Spark understands are left to it."""
    if "{" in path or "\\" in path:
        return True
    return any(sign in path for sign in "[*?") and next(glob.iglob(path), None) is not None
