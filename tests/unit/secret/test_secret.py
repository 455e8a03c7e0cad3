"""The secret: where it may come from, and that nothing shows it."""

import copy
import logging
import os
import pickle
import sys
import time
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest

from dplib.errors import ConfigError
from dplib.randomness.keyed import KeyedStream, derive_key
from dplib.secret import places as secret_places
from dplib.secret.secret import Secret, load_secret
from tests.support.secret_files import KEY, TEXT, all_of, arguments_of, key_file


def _refusal(spec: str, base: Path) -> str:
    """Everything that a refusal could print: the chain of exceptions with their arguments and their local variables."""
    with pytest.raises(ConfigError, match=r"^secret must ") as caught:
        load_secret(spec, base)
    return all_of(caught.value, load_secret.__code__.co_filename)


def test_three_places_give_one_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = key_file(tmp_path / "secret.hex", f" {TEXT.upper()}\n")
    monkeypatch.setenv("A_SECRET", TEXT)
    program = "print(open('secret.hex').read())"
    specs = ["file:secret.hex", f"file:{path}", "env:A_SECRET", f'command:{sys.executable} -c "{program}"']
    secrets = [load_secret(spec, tmp_path) for spec in specs]
    assert [ring.key_ids for ring in secrets] == [[Secret(KEY).key_id]] * len(specs)
    assert {ring.current.derive("x", 1) for ring in secrets} == {Secret(KEY).derive("x", 1)}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_files_open_to_others_are_refused(tmp_path: Path, mode: int) -> None:
    key_file(tmp_path / "s", mode=mode)
    assert f"mode {mode:04o}" in _refusal("file:s", tmp_path)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_closed_files_are_read(tmp_path: Path, mode: int) -> None:
    assert load_secret(f"file:{key_file(tmp_path / 's', mode=mode)}", tmp_path).current.key_id == Secret(KEY).key_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT[:-2],
        TEXT + "0",
        TEXT[:-1] + "g",
        TEXT + " " + TEXT,
        "é" * 40,
        "00" * 32,
        "ab" * 5000,
        TEXT + "\nno key",
    ],
)
def test_texts_that_are_no_secret_are_refused_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    key_file(tmp_path / "s", text)
    monkeypatch.setenv("A_SECRET", text)
    for spec in ("file:s", "env:A_SECRET", "command:cat s"):
        shown = _refusal(spec, tmp_path)
        assert not text or text[:12] not in shown
        assert not text or repr(bytes.fromhex(TEXT))[2:30] not in shown


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
    with pytest.raises(ConfigError, match=r"^secret must ") as caught:
        load_secret(spec, tmp_path)
    # Without local variables, which hold the setting itself, where someone wrote the secret into it.
    shown = "".join(traceback.format_exception(caught.value)) + arguments_of(caught.value)
    assert reason in shown
    assert TEXT not in shown


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "be a regular file" in _refusal("file:pipe", tmp_path)


def test_a_failing_or_slow_command_shows_none_of_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fail.sh").write_text(f"echo {TEXT}; echo {TEXT} >&2; exit 3\n")
    (tmp_path / "slow.sh").write_text(f"echo {TEXT}; sleep 600 & wait\n")
    (tmp_path / "closed.sh").write_text(f"echo {TEXT}; exec 1>&-; sleep 600\n")
    (tmp_path / "silent.sh").write_text(f"echo {TEXT} >&2\n")
    (tmp_path / "endless.sh").write_text(f"yes {TEXT}\n")
    reasons = {"fail": "got code 3", "slow": "ends within", "closed": "ends within", "silent": "got nothing"}
    for name, reason in (reasons | {"endless": "got more"}).items():
        script = f"{name}.sh"
        # Those that are to end in time get time enough on any machine.
        monkeypatch.setattr(secret_places, "_COMMAND_SECONDS", 0.5 if reason == "ends within" else 300)
        shown = _refusal(f"command:sh {script}", tmp_path)
        assert reason in shown
        assert TEXT not in shown
    assert capfd.readouterr() == ("", "")


def test_what_a_slow_command_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is up once the command has started its child, however long the machine takes for that."""
    child = tmp_path / "child"
    (tmp_path / "slow.sh").write_text("sleep 600 & echo $! >child.new; mv child.new child; echo x; wait\n")
    start = iter([0.0])  # also where the child is there before the waiting begins
    clock = SimpleNamespace(monotonic=lambda: next(start, 1e9 if child.exists() else 0.0))
    monkeypatch.setattr(secret_places, "time", clock)
    monkeypatch.setattr(secret_places, "_COMMAND_SECONDS", 300)
    assert "ends within" in _refusal("command:sh slow.sh", tmp_path)
    status = Path(f"/proc/{child.read_text().strip()}/status")
    # A process that was killed is there until the system has taken it away.
    patience = time.monotonic() + 120
    while status.exists() and "State:\tZ" not in _text_of(status) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not status.exists() or "State:\tZ" in _text_of(status)


def _text_of(status: Path) -> str:
    """Of a process, dead ones included."""
    try:
        return status.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "State:\tZ"


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
    assert bytes.fromhex(one.key_id) not in one.derive("public key id")


def test_weak_keys_are_refused() -> None:
    for key in (KEY[:31], bytes(64), bytes(range(8)) * 8):
        with pytest.raises(ConfigError, match=r"^secret must .* got (fewer|a pattern)$"):
            Secret(key)


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = key_file(tmp_path / "s")
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    if path.stat().st_uid:
        assert "belong to the user who runs the job" in _refusal("file:s", tmp_path)
    else:  # root's files serve everybody who can open them
        os.chown(path, 4711, -1)
        assert "of user 4711" in _refusal("file:s", tmp_path)


def test_folders_in_which_everybody_could_replace_the_file_are_refused(tmp_path: Path) -> None:
    open_folder, closed = tmp_path / "open", tmp_path / "open" / "closed"
    closed.mkdir(parents=True)
    key_file(closed / "s")
    (tmp_path / "link").symlink_to(closed / "s")
    (tmp_path / "way").symlink_to(tmp_path / "safe")
    (tmp_path / "safe").mkdir()
    key_file(tmp_path / "safe" / "s")
    (open_folder / "link").symlink_to(tmp_path / "safe" / "s")
    assert load_secret("file:link", tmp_path).current.key_id == load_secret("file:way/s", tmp_path).current.key_id
    open_folder.chmod(0o777)
    # The file's own folder, one further up, one behind a link, and one that holds the link.
    for spec in ("file:open/closed/s", f"file:{closed}/s", "file:link", "file:open/link"):
        assert "of mode 0777" in _refusal(spec, tmp_path)
    assert load_secret("file:way/s", tmp_path)
    open_folder.chmod(0o1777)
    assert load_secret("file:link", tmp_path)


def test_a_variable_is_not_inherited_by_children_and_can_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", TEXT)
    first = load_secret("env:A_SECRET", tmp_path)
    assert "A_SECRET" not in os.environ
    assert load_secret("env:A_SECRET", tmp_path).key_ids == first.key_ids
    monkeypatch.setenv("A_SECRET", KEY[::-1].hex())
    assert load_secret("env:A_SECRET", tmp_path).key_ids == [Secret(KEY[::-1]).key_id]


def test_errors_below_a_key_show_none_of_it() -> None:
    key = derive_key(KEY, "a")
    for call in (
        lambda: derive_key(key, 1.5),  # type: ignore[arg-type]
        lambda: KeyedStream(key, None),  # type: ignore[arg-type]
        lambda: Secret(KEY[:31]),
        lambda: Secret(KEY[:8] * 4),
    ):
        with pytest.raises(ConfigError) as caught:
            call()
        shown = all_of(caught.value, load_secret.__code__.co_filename)
        assert "HiddenKey(...)" in shown
        for form in (key.hex(), repr(bytes.fromhex(key.hex()))[2:-1], KEY[:8].hex(), repr(KEY[:8])[2:-1]):
            assert form not in shown
