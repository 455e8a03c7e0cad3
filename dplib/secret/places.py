"""The places that hold the secret's text, and what each must be before it is believed.

    file:PATH        a file of mode 0600 or stricter; a relative path counts from the configuration's directory
    env:NAME         an environment variable
    command:WORDS    the standard output of a command, run without a shell

*File*: opened first and judged afterwards, so that the file that is checked is the one that is read. It is a regular
file that belongs to this process's user or to root and that nobody else can open, and no directory on the way to it,
neither as written nor with all links followed, lets every user replace it (world-writable without the sticky bit).
Access-control lists are not looked at.

*Variable*: taken out of this process's environment as soon as a configuration names it (`withhold`), so that Java,
Spark's Python workers and other children do not inherit it; reading gets it from memory. What was started before has
it: under spark-submit Java starts Python, so there such a secret is refused (`dplib.spark.engine.session.java_holds`).
Anyone who may read ``/proc/PID/environ`` of this very process still sees it.

*Command*: gets no input, must end in time and with code 0 and print no more than a key ring; it and what it started
are killed otherwise. Nothing of what it prints is ever shown.

No frame that raises an error holds what was read.
"""

import contextlib
import os
import re
import select
import shlex
import signal
import stat
import subprocess
import time
from pathlib import Path

from dplib.errors import ConfigError
from dplib.validate import require

MAX_BYTES = 8192
_LOOKS_SECRET = re.compile(r"[0-9a-fA-F]{24,}")
_COMMAND_SECONDS = 30.0
_taken: dict[str, str] = {}
"""Variables that were read, by name."""


def read_place(spec: str, base: Path) -> str:
    """The text that a place holds; empty where it is too long or not ASCII.

    Args:
        spec: ``file:PATH``, ``env:NAME`` or ``command:WORDS``.
        base: directory from which a relative path counts and in which the command runs.

    Raises:
        ConfigError: if the place cannot be read or is open to others.
    """
    kind, colon, place = spec.partition(":")
    readers = {"file": _read_file, "env": _read_variable, "command": _read_command}
    # A literal secret in the configuration is a likely mistake: what is not understood is not shown.
    require(bool(colon) and kind in readers, "secret", "start with file:, env: or command:", "something else")
    return readers[kind](place, base)


def withhold(spec: str) -> None:
    """Take the variable that a secret is in (``env:NAME``) out of the environment, before anything could inherit it."""
    name = variable_of(spec)
    if name is not None and name in os.environ:
        _taken[name] = os.environ.pop(name)


def variable_of(spec: str) -> str | None:
    """The environment variable that a secret is in; None where it is elsewhere."""
    kind, colon, name = spec.partition(":")
    return name if colon and kind == "env" else None


def shown_place(place: str) -> str:
    """A place for a message, unless it looks like a secret that was written where its place should be."""
    return "a name that looks like a secret itself" if _LOOKS_SECRET.search(place) else place


def _read_file(place: str, base: Path) -> str:
    path = base / place
    shown = shown_place(f"file:{place}")
    try:
        # Without waiting, in case it is a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        real = Path(os.path.realpath(path))
    except (OSError, ValueError):
        raise ConfigError("secret", "be a file that can be read", shown) from None
    try:
        _require_closed(os.fstat(descriptor), shown)
        for folder in sorted({*Path(os.path.abspath(path)).parents, *real.parents}):
            _require_guarded(folder)
        return _text(os.read(descriptor, MAX_BYTES + 1))
    finally:
        os.close(descriptor)


def _require_closed(status: os.stat_result, shown: str) -> None:
    require(stat.S_ISREG(status.st_mode), "secret", "be a regular file", shown)
    mode = stat.S_IMODE(status.st_mode)
    require(mode & 0o077 == 0, "secret", "be a file of mode 0600, closed to group and others", f"mode {mode:04o}")
    trusted = status.st_uid in (os.geteuid(), 0)
    require(trusted, "secret", "belong to the user who runs the job, or to root", f"{shown} of user {status.st_uid}")


def _require_guarded(folder: Path) -> None:
    mode = stat.S_IMODE(folder.stat().st_mode)
    replaceable = mode & stat.S_IWOTH and not mode & stat.S_ISVTX
    rule = "stand in folders that not every user can write"
    require(not replaceable, "secret", rule, f"{shown_place(str(folder))} of mode {mode:04o}")


def _read_variable(place: str, base: Path) -> str:
    name = shown_place(f"env:{place}")
    withhold(f"env:{place}")
    require(place in _taken, "secret", "be an environment variable that is set", name)
    return _text(_taken[place].encode("utf-8", "surrogateescape"))


def _read_command(place: str, base: Path) -> str:
    words: list[str] = []
    with contextlib.suppress(ValueError):  # an unclosed quote
        words = shlex.split(place)
    require(bool(words), "secret", "be a command with its arguments after command:", "none that can be split")
    code, output = _output(words, base)
    problem = _command_problem(code, len(output))
    if problem:
        del output
        raise ConfigError("secret", f"be a command that {problem[0]}", problem[1])
    return _text(output)


def _command_problem(code: int | None, size: int) -> tuple[str, str] | None:
    """What the command should do and what it did, if that is something else."""
    if code is None:
        return f"runs and ends within {_COMMAND_SECONDS:.0f} s", "none"
    if size > MAX_BYTES:
        return f"prints at most {MAX_BYTES} bytes", "more"
    if code != 0:
        return "ends with code 0", f"code {code}"
    return None if size else ("prints the secret", "nothing")


def _output(words: list[str], base: Path) -> tuple[int | None, bytes]:
    """Exit code (None if it did not start or end in time) and at most one byte more than may be of its output."""
    try:
        process = subprocess.Popen(
            words,
            cwd=base,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None, b""
    end = time.monotonic() + _COMMAND_SECONDS
    output = b""
    code = None
    try:
        output = _read_until(process, end)
        # One that prints too much is not waited for.
        code = -1 if len(output) > MAX_BYTES else process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass
    finally:
        # What it started too, all of which is in its session.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    return code, output


def _read_until(process: "subprocess.Popen[bytes]", end: float) -> bytes:
    output = b""
    while process.stdout is not None and len(output) <= MAX_BYTES:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
        part = os.read(process.stdout.fileno(), MAX_BYTES + 1 - len(output)) if ready else b""
        output += part
        if not part:
            break
    return output


def _text(content: bytes) -> str:
    """The text of some bytes; empty, hence refused by the caller, where they are too many or not ASCII."""
    if len(content) > MAX_BYTES or not content.isascii():
        return ""
    return content.decode("ascii")
