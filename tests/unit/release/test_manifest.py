import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.errors import ConfigError, IntegrityError
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.release.manifest import MANIFEST, build_manifest, load_manifest, public_design, write_manifest


def content(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "release_id": "takeaway-job-undated-000002",
        "dataset": "takeaway",
        "job": "job",
        "logical_date": "",
        "privacy_unit": "order",
        "neighbors": Neighbors.ADD_REMOVE,
        "currency": Currency.PURE,
        "cost": Fraction(1, 3),
        "totals": {"basic": {"epsilon": Fraction(1, 3)}},
        "sensitivities": {"counts": {"l1": np.int64(50)}},
        "mechanisms": [{"level": 0, "scale": Fraction(100, 3), "name": "discrete_laplace"}],
        "solver": {"method": "smoother", "tol": 1e-9},
        "constraints": [],
        "domain": {"items": ["naan", "bhaji"]},
        "versions": {"dplib": "0.1.0"},
        "key_id": "key-1",
        "settings_hash": "a" * 64,
        "publish_hash": "b" * 64,
    }
    return {**fields, **changes}


def release(folder: Path) -> Path:
    for name in ("measurement/top.parquet", "estimates/top.parquet", "report.html"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


def test_manifest_lists_every_file_with_checksum_and_size_and_comes_back_equal(tmp_path: Path) -> None:
    manifest = build_manifest(release(tmp_path), content())
    digest = write_manifest(tmp_path, manifest)
    assert [entry.path for entry in manifest.files] == [
        "estimates/top.parquet",
        "measurement/top.parquet",
        "report.html",
    ]
    for entry in manifest.files:
        data = (tmp_path / entry.path).read_bytes()
        assert (entry.sha256, entry.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert load_manifest(tmp_path) == manifest
    assert digest == hashlib.sha256((tmp_path / MANIFEST).read_bytes()).hexdigest() == manifest.sha256()


def test_any_changed_bit_shows(tmp_path: Path) -> None:
    write_manifest(tmp_path, build_manifest(release(tmp_path), content()))
    text = (tmp_path / MANIFEST).read_bytes()
    for place in range(0, len(text), 3):
        changed = bytearray(text)
        changed[place] ^= 1 << place % 8
        (tmp_path / MANIFEST).write_bytes(changed)
        with pytest.raises(IntegrityError, match=r"manifest"):
            load_manifest(tmp_path)
    (tmp_path / MANIFEST).write_bytes(text)
    assert load_manifest(tmp_path).to_bytes() == text


def test_text_is_canonical_json_with_fractions_as_text(tmp_path: Path) -> None:
    manifest = build_manifest(release(tmp_path), content())
    reversed_content = dict(reversed(content().items()))
    assert build_manifest(tmp_path, reversed_content).to_bytes() == manifest.to_bytes()
    parsed = json.loads(manifest.to_bytes())
    assert list(parsed) == sorted(parsed)
    assert parsed["cost"] == "1/3"
    assert parsed["mechanisms"][0]["scale"] == "100/3"
    assert parsed["solver"]["tol"] == 1e-9


def test_a_manifest_there_before_is_not_part_of_the_next(tmp_path: Path) -> None:
    first = build_manifest(release(tmp_path), content())
    write_manifest(tmp_path, first)
    assert build_manifest(tmp_path, content()) == first


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"created": "2024-01-01"}, "created"),
        ({"data_digest": "x"}, "data_digest"),
        ({"neighbors": "twin"}, "neighbors"),
        ({"currency": "euro"}, "currency"),
        ({"cost": "a lot"}, "cost"),
        ({"cost": "1/0"}, "cost"),
        ({"settings_hash": "short"}, "settings_hash"),
        ({"dataset": 7}, "dataset"),
        ({"totals": {"x": float("nan")}}, "manifest.totals.x"),
        ({"totals": {"x": object()}}, "manifest.totals.x"),
    ],
)
def test_wrong_content_is_refused_by_name(changes: dict[str, Any], named: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=named):
        build_manifest(release(tmp_path), content(**changes))


def edited(change: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], bytes]:
    def edit(text: bytes) -> bytes:
        parsed = json.loads(text)
        change(parsed)
        # With a right checksum: what is refused is the edit.
        plain = canonical({**parsed, "checksum": ""})
        return canonical({**parsed, "checksum": hashlib.sha256(plain).hexdigest()}) + b"\n"

    return edit


def canonical(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, indent=2, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text[:-10],
        lambda text: b"",
        lambda text: b"\xff\xfe",
        lambda text: b"[]",
        lambda text: text.replace(b"1e-09", b"NaN"),
        lambda text: text.replace(b"  ", b" "),
        lambda text: text + b"\n",
        lambda text: text.replace(b'"dataset": "takeaway"', b'"dataset": "x", "dataset": "takeaway"'),
        edited(lambda m: m.update(manifest_version=1)),
        edited(lambda m: m.update(extra=1)),
        edited(lambda m: m.pop("cost")),
        edited(lambda m: m["files"].reverse()),
        edited(lambda m: m["files"].append(m["files"][-1])),
        edited(lambda m: m["files"][0].update(path="../outside")),
        edited(lambda m: m["files"][0].update(path="/etc/passwd")),
        edited(lambda m: m["files"][0].update(path="a/.hidden")),
        edited(lambda m: m["files"][0].update(size=-1)),
        edited(lambda m: m["files"][0].update(sha256="x")),
    ],
)
def test_every_unsound_manifest_is_an_integrity_error(edit: Callable[[bytes], bytes], tmp_path: Path) -> None:
    write_manifest(tmp_path, build_manifest(release(tmp_path), content()))
    path = tmp_path / MANIFEST
    assert edit(path.read_bytes()) != path.read_bytes()
    path.write_bytes(edit(path.read_bytes()))
    with pytest.raises(IntegrityError, match=r"manifest"):
        load_manifest(tmp_path)


def test_a_directory_without_manifest_is_no_release(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match=r"directory with a manifest\.json"):
        load_manifest(tmp_path)


def test_a_manifest_leads_to_no_file_of_the_readers_machine(tmp_path: Path) -> None:
    folder = release(tmp_path)
    for items, names in ((["a"], True), ({"file": "/etc/passwd"}, False), ({"file": "x", "column": "y"}, False)):
        told = build_manifest(folder, content(details={"design": {"domain": {"items": items}}}))
        if names:
            assert public_design(told, told.job) == {"domain": {"items": ["a"]}}
        else:
            with pytest.raises(IntegrityError, match="got a reference to the file"):
                public_design(told, told.job)
