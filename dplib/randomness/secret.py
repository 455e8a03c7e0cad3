"""The operator's secret, from which every key of the library is derived.

With the secret, and what the ledger holds, noise can be removed; so it is read from a place that only the operator
can read, never printed, never pickled, never sent to executors, and this module is the only one that sees its bytes:
others get sub-keys. The text form is hexadecimal, at least 64 digits (32 bytes), spaces and line ends around it
ignored.

Places, as written in a configuration:

    file:PATH        a file of mode 0600 or stricter; a relative path counts from the configuration's directory
    env:NAME         an environment variable
    command:WORDS    the standard output of a command, run without a shell
"""

import contextlib
import os
import re
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Never

from dplib.errors import ConfigError
from dplib.randomness.keyed import KEY_BYTES, Label, derive_key
from dplib.validate import require

_HEX = re.compile(rf"[0-9a-fA-F]{{{2 * KEY_BYTES},}}")
_LOOKS_SECRET = re.compile(r"[0-9a-fA-F]{24,}")
_LEAST_DISTINCT_BYTES = 12  # 32 random bytes have fewer distinct values with probability below 1e-14
_LARGEST_BYTES = 4096
_COMMAND_SECONDS = 30.0


class Secret:
    """Key material that shows itself to nobody; it only derives sub-keys.

    Args:
        key: at least 32 random bytes.

    Raises:
        ConfigError: if the key is too short or plainly not random.
    """

    __slots__ = ("_key", "key_id")

    def __init__(self, key: bytes) -> None:
        require(len(key) >= KEY_BYTES, "secret", f"have at least {KEY_BYTES} bytes", "fewer")
        require(len(set(key)) >= _LEAST_DISTINCT_BYTES, "secret", "be random bytes", "a pattern")
        self._key = key
        self.key_id = derive_key(key, "public key id", length=8).hex()
        """Public name of the secret, 16 hexadecimal digits: equal for equal secrets, tells nothing of the bytes."""

    def derive(self, *labels: Label, length: int = KEY_BYTES) -> bytes:
        """An independent sub-key named by ``labels``, as `dplib.randomness.keyed.derive_key` makes it."""
        return derive_key(self._key, "secret", *labels, length=length)

    def __repr__(self) -> str:
        return f"Secret({self.key_id})"

    def __reduce__(self) -> Never:
        raise TypeError("a Secret cannot be pickled or copied; derive a sub-key instead")


def load_secret(spec: str, base: Path) -> Secret:
    """Read the secret from where ``spec`` says.

    Args:
        spec: ``file:PATH``, ``env:NAME`` or ``command:WORDS``.
        base: directory from which a relative path counts and in which the command runs.

    Raises:
        ConfigError: if the place cannot be read, is open to others, or holds no secret; the message never carries
            what was read.
    """
    kind, colon, place = spec.partition(":")
    readers = {"file": _read_file, "env": _read_variable, "command": _read_command}
    # A literal secret in the configuration is a likely mistake: what is not understood is not shown.
    require(bool(colon) and kind in readers, "secret", "start with file:, env: or command:", "something else")
    text = readers[kind](place, base).strip()
    is_hex = len(text) % 2 == 0 and _HEX.fullmatch(text) is not None
    require(is_hex, "secret", f"be hexadecimal text of at least {2 * KEY_BYTES} digits", "another text")
    return Secret(bytes.fromhex(text))


def create_secret_file(path: Path) -> None:
    """Write a new random secret to a file that only its owner can read.

    Raises:
        ConfigError: if the file exists already or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(f"secret must be a new file, got the existing {_shown(str(path))}") from None
    except OSError as error:
        raise ConfigError(f"secret must be a file that can be written, got {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(os.urandom(KEY_BYTES).hex() + "\n")
        file.flush()
        os.fsync(file.fileno())


def _shown(place: str) -> str:
    return "a name that looks like a secret itself" if _LOOKS_SECRET.search(place) else place


def _read_file(place: str, base: Path) -> str:
    path = base / place
    shown = _shown(f"file:{place}")
    try:
        # Opened first and asked afterwards, so that the file that is checked is the file that is read; without
        # waiting, in case it is a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError):
        raise ConfigError(f"secret must be a file that can be read, got {shown}") from None
    try:
        status = os.fstat(descriptor)
        require(stat.S_ISREG(status.st_mode), "secret", "be a regular file", shown)
        mode = stat.S_IMODE(status.st_mode)
        require(mode & 0o077 == 0, "secret", "be a file of mode 0600, closed to group and others", f"mode {mode:04o}")
        return _text(os.read(descriptor, _LARGEST_BYTES + 1))
    finally:
        os.close(descriptor)


def _read_variable(place: str, base: Path) -> str:
    value = os.environ.get(place)
    if value is None:
        raise ConfigError(f"secret must be an environment variable that is set, got {_shown(f'env:{place}')}")
    return value


def _read_command(place: str, base: Path) -> str:
    words: list[str] = []
    with contextlib.suppress(ValueError):  # an unclosed quote
        words = shlex.split(place)
    require(bool(words), "secret", "be a command with its arguments after command:", "none that can be split")
    done = None
    # Errors are raised outside the handlers: the exceptions here hold the command's output.
    with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
        done = subprocess.run(
            words, cwd=base, stdin=subprocess.DEVNULL, capture_output=True, timeout=_COMMAND_SECONDS, check=False
        )
    if done is None:
        raise ConfigError(f"secret must be a command that runs and ends within {_COMMAND_SECONDS:.0f} s, got none")
    require(done.returncode == 0, "secret", "be a command that ends with code 0", f"code {done.returncode}")
    return _text(done.stdout)


def _text(content: bytes) -> str:
    """The text of some bytes; empty, hence refused by the caller, where they are too many or not ASCII."""
    if len(content) > _LARGEST_BYTES or not content.isascii():
        return ""
    return content.decode("ascii")
