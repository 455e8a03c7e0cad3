"""Files that hold the secret: a new one, a new key in front of the old ones, an old key gone.

A file changes in one rename, so anyone who reads it meanwhile gets the ring before or after; what is replaced is the
file that links lead to. Changes take turns by a lock on the directory.
"""

import fcntl
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dplib.errors import ConfigError
from dplib.randomness.keyed import KEY_BYTES
from dplib.secret.places import MAX_BYTES, read_place, shown_place
from dplib.secret.secret import KeyRing, load_secret
from dplib.validate import require


def create_secret_file(path: Path) -> None:
    """Write a new random secret to a file that only its owner can read.

    Raises:
        ConfigError: if the file exists already or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError("secret", "be a new file", f"the existing {shown_place(str(path))}") from None
    except OSError as error:
        raise ConfigError("secret", "be a file that can be written", error.strerror) from None
    _write(descriptor, [_new_key()])


def rotate_secret_file(path: Path) -> KeyRing:
    """Put a new random key in front of those that a file holds; they stay, as old ones.

    Returns:
        The ring with the new key.

    Raises:
        ConfigError: if the file holds no secret, is open to others, cannot be written or is full of old keys.
    """
    with _changing(path) as (real, ring):
        most = MAX_BYTES // (2 * KEY_BYTES + 1)
        require(len(ring.keys) < most, "secret", f"hold fewer than {most} keys to be rotated (drop old ones)", "more")
        _rewrite(real, lambda words: [_new_key(), *words])
        return load_secret(f"file:{real}", real.parent)


def drop_old_key(path: Path, key_id: str) -> KeyRing:
    """Take an old key out of a file, for ever.

    Raises:
        ConfigError: if it is no old key of the file.
    """
    with _changing(path) as (real, ring):
        old = ring.key_ids[1:]
        require(key_id in old, "KEY", f"be the id of an old key ({', '.join(old) or 'there is none'})", key_id)
        place = ring.key_ids.index(key_id)
        _rewrite(real, lambda words: words[:place] + words[place + 1 :])
        return load_secret(f"file:{real}", real.parent)


@contextmanager
def _changing(path: Path) -> Iterator[tuple[Path, KeyRing]]:
    """The file that links lead to and the ring in it, with its directory's lock."""
    real = Path(os.path.realpath(path))
    load_secret(f"file:{path}", path.parent)
    descriptor = os.open(real.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield real, load_secret(f"file:{real}", real.parent)
    finally:
        os.close(descriptor)


def _new_key() -> str:
    return os.urandom(KEY_BYTES).hex()


def _write(descriptor: int, words: list[str]) -> None:
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write("".join(f"{word}\n" for word in words))
        file.flush()
        os.fsync(file.fileno())


def _rewrite(real: Path, change: Callable[[list[str]], list[str]]) -> None:
    problem = _replaced(real, change)
    if problem:
        raise ConfigError("secret", "be a file that can be written", problem)


def _replaced(real: Path, change: Callable[[list[str]], list[str]]) -> str:
    """Change the file's words; returns what the system said against it, since this frame holds them."""
    # The directory's lock is held, so what is there was left by a process that was killed: a key that nobody used.
    for left in real.parent.iterdir():
        if re.fullmatch(rf"\.{re.escape(real.name)}\.[0-9a-f]{{16}}", left.name):
            left.unlink(missing_ok=True)
    new = real.with_name(f".{real.name}.{secrets.token_hex(8)}")
    words = change(read_place(f"file:{real}", real.parent).split())
    try:
        _write(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), words)
        os.replace(new, real)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        return error.strerror or type(error).__name__
    return ""
