"""The secret: where it may come from, and that nothing shows it."""

import copy
import logging
import os
import pickle
import stat
import sys
import traceback
from pathlib import Path

import pytest

from dplib.errors import ConfigError
from dplib.randomness import secret as module
from dplib.randomness.secret import Secret, create_secret_file, load_secret

KEY = bytes(range(100, 132))
TEXT = KEY.hex()


def _file(path: Path, text: str = TEXT, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def _refusal(spec: str, base: Path) -> str:
    """Everything that a refusal could print: the chain of exceptions with their arguments."""
    with pytest.raises(ConfigError, match=r"^secret must ") as caught:
        load_secret(spec, base)
    shown = "".join(traceback.format_exception(caught.value))
    link: BaseException | None = caught.value
    while link is not None:
        shown += repr(vars(link)) + repr(link.args)
        link = link.__context__
    return shown


def test_three_places_give_one_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _file(tmp_path / "secret.hex", f" {TEXT.upper()}\n")
    monkeypatch.setenv("A_SECRET", TEXT)
    program = "print(open('secret.hex').read())"
    specs = ["file:secret.hex", f"file:{path}", "env:A_SECRET", f'command:{sys.executable} -c "{program}"']
    secrets = [load_secret(spec, tmp_path) for spec in specs]
    assert {secret.key_id for secret in secrets} == {Secret(KEY).key_id}
    assert {secret.derive("x", 1) for secret in secrets} == {Secret(KEY).derive("x", 1)}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_files_open_to_others_are_refused(tmp_path: Path, mode: int) -> None:
    _file(tmp_path / "s", mode=mode)
    assert f"mode {mode:04o}" in _refusal("file:s", tmp_path)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_closed_files_are_read(tmp_path: Path, mode: int) -> None:
    assert load_secret(f"file:{_file(tmp_path / 's', mode=mode)}", tmp_path).key_id == Secret(KEY).key_id


@pytest.mark.parametrize(
    "text", ["", TEXT[:-2], TEXT + "0", TEXT[:-1] + "g", TEXT + " " + TEXT, "é" * 40, "00" * 32, "ab" * 5000]
)
def test_texts_that_are_no_secret_are_refused_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    _file(tmp_path / "s", text)
    monkeypatch.setenv("A_SECRET", text)
    for spec in ("file:s", "env:A_SECRET", "command:cat s"):
        shown = _refusal(spec, tmp_path)
        assert not text or text[:12] not in shown


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (TEXT, "start with file:, env: or command:"),
        (f"hex:{TEXT}", "start with file:, env: or command:"),
        ("file:missing", "got file:missing"),
        (f"file:{TEXT}", "looks like a secret itself"),
        (f"env:{TEXT}", "looks like a secret itself"),
        ("file:.", "be a regular file"),
        ("file:a\0b", "be a file that can be read"),
        ("env:NOT_SET_ANYWHERE", "got env:NOT_SET_ANYWHERE"),
        ("command:", "be a command with its arguments"),
        ("command:'unclosed", "be a command with its arguments"),
        ("command:no-such-program-anywhere", "a command that runs"),
    ],
)
def test_places_that_cannot_be_read_are_refused(tmp_path: Path, spec: str, reason: str) -> None:
    shown = _refusal(spec, tmp_path)
    assert reason in shown
    assert TEXT not in shown


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "be a regular file" in _refusal("file:pipe", tmp_path)


def test_a_failing_or_slow_command_shows_none_of_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fail.sh").write_text(f"echo {TEXT}; echo {TEXT} >&2; exit 3\n")
    (tmp_path / "slow.sh").write_text(f"echo {TEXT}; exec sleep 20\n")
    monkeypatch.setattr(module, "_COMMAND_SECONDS", 0.5)
    for script, reason in (("fail.sh", "got code 3"), ("slow.sh", "ends within")):
        shown = _refusal(f"command:sh {script}", tmp_path)
        assert reason in shown
        assert TEXT not in shown
    assert capfd.readouterr() == ("", "")


def test_a_command_runs_without_a_shell(tmp_path: Path) -> None:
    _refusal("command:true; touch made", tmp_path)
    _refusal("command:echo $(touch made)", tmp_path)
    assert not (tmp_path / "made").exists()


def test_nothing_shows_the_key(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(KEY)
    logging.getLogger("test").warning("%s %r", secret, secret)
    shown = f"{secret} {secret!r} {secret.key_id} {caplog.text}"
    for form in (TEXT, str(KEY), repr(KEY), KEY[:8].hex()):
        assert form not in shown
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="derive a sub-key"):
            leave(secret)
    with pytest.raises(TypeError):
        vars(secret)


def test_key_ids_and_sub_keys_tell_secrets_apart() -> None:
    one, other = Secret(KEY), Secret(KEY[::-1])
    assert len(one.key_id) == 16
    assert one.key_id != other.key_id
    assert one.derive("a") != other.derive("a")
    assert one.derive("a") != one.derive("b")
    assert bytes.fromhex(one.key_id) not in one.derive("public key id", length=64)
    assert len(one.derive("a", length=64)) == 64


def test_weak_keys_are_refused() -> None:
    for key in (KEY[:31], bytes(64), bytes(range(8)) * 8):
        with pytest.raises(ConfigError, match=r"^secret must .* got (fewer|a pattern)$"):
            Secret(key)


def test_new_files_are_closed_random_and_never_overwrite(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    old_mask = os.umask(0)
    try:
        create_secret_file(one)
        create_secret_file(other)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert load_secret("file:one", tmp_path).key_id != load_secret("file:other", tmp_path).key_id
    before = one.read_bytes()
    with pytest.raises(ConfigError, match="secret must be a new file, got the existing"):
        create_secret_file(one)
    assert one.read_bytes() == before
    with pytest.raises(ConfigError, match="secret must be a file that can be written"):
        create_secret_file(tmp_path / "missing" / "s")
