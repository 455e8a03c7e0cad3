"""Files of secrets: made closed, rotated in one step, old keys dropped by name."""

import os
import stat
from pathlib import Path

import pytest

from dplib.errors import ConfigError
from dplib.secret import places as secret_places
from dplib.secret.file import create_secret_file, drop_old_key, rotate_secret_file
from dplib.secret.secret import Secret, load_secret
from tests.support.secret_files import KEY, TEXT, all_of, key_file


def test_new_files_are_closed_random_and_never_overwrite(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    old_mask = os.umask(0)
    try:
        create_secret_file(one)
        create_secret_file(other)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert load_secret("file:one", tmp_path).key_ids != load_secret("file:other", tmp_path).key_ids
    before = one.read_bytes()
    with pytest.raises(ConfigError, match="secret must be a new file, got the existing"):
        create_secret_file(one)
    assert one.read_bytes() == before
    with pytest.raises(ConfigError, match="secret must be a file that can be written"):
        create_secret_file(tmp_path / "missing" / "s")


def test_the_first_key_is_the_current_one_and_the_others_are_found(tmp_path: Path) -> None:
    one, other, third = Secret(KEY), Secret(KEY[::-1]), Secret(bytes(range(32)))
    key_file(tmp_path / "s", f"{KEY.hex()}\n\n  {KEY[::-1].hex()} {bytes(range(32)).hex()}\n")
    ring = load_secret("file:s", tmp_path)
    assert ring.key_ids == [one.key_id, other.key_id, third.key_id]
    assert ring.current.derive("x") == one.derive("x")
    found = ring.find(other.key_id)
    assert found is not None
    assert found.derive("x") == other.derive("x")
    assert ring.find("0" * 16) is None
    assert TEXT not in repr(ring)


def test_rotation_puts_a_new_key_first_and_drops_old_ones_by_name(tmp_path: Path) -> None:
    path = key_file(tmp_path / "s")
    (tmp_path / "link").symlink_to(path)
    old = Secret(KEY).key_id
    ring = rotate_secret_file(tmp_path / "link")
    assert ring.key_ids[1:] == [old]
    assert load_secret("file:s", tmp_path).key_ids == ring.key_ids
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    newest = rotate_secret_file(path)
    assert newest.key_ids[1:] == ring.key_ids
    for wrong in (newest.current.key_id, "0" * 16):
        with pytest.raises(ConfigError, match=r"^KEY must be the id of an old key"):
            drop_old_key(path, wrong)
    assert drop_old_key(path, ring.current.key_id).key_ids == [newest.current.key_id, old]
    assert sorted(os.listdir(tmp_path)) == ["link", "s"]


def test_a_rotation_that_cannot_be_written_leaves_the_file_and_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = key_file(tmp_path / "s")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(ConfigError, match="can be written, got No space left on device") as caught:
            rotate_secret_file(path)
    assert TEXT not in all_of(caught.value, load_secret.__code__.co_filename)
    assert path.read_text() == TEXT
    assert os.listdir(tmp_path) == ["s"]
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="mode 0640"):
        rotate_secret_file(path)


def test_what_a_killed_rotation_left_is_removed_by_the_next(tmp_path: Path) -> None:
    key_file(tmp_path / "s")
    key_file(tmp_path / f".s.{'0a' * 8}", "half a k")
    key_file(tmp_path / ".s.backup")
    assert len(rotate_secret_file(tmp_path / "s").keys) == 2
    assert sorted(os.listdir(tmp_path)) == [".s.backup", "s"]


def test_a_file_full_of_keys_is_not_rotated(tmp_path: Path) -> None:
    words = [os.urandom(32).hex() for _ in range(secret_places.MAX_BYTES // 65)]
    path = key_file(tmp_path / "s", "\n".join(words) + "\n")
    with pytest.raises(ConfigError, match="drop old ones"):
        rotate_secret_file(path)
    assert len(load_secret("file:s", tmp_path).keys) == len(words)
