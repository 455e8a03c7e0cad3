"""What the paths of a configuration name: places on this machine, or one sentence that refuses them."""

from pathlib import Path

import pytest

from dplib.config.paths import has_scheme, local_path
from dplib.config.sections import Source
from dplib.errors import ConfigError

BASE = Path("/base")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("releases", "/base/releases"),
        ("../out", "/base/../out"),
        ("/data/out", "/data/out"),
        ("file:///data/out", "/data/out"),
        ("file:/data/out", "/data/out"),
        ("FILE:///data/a b%20c", "/data/a b%20c"),
        ("${PLACE}/out", "/data/x/out"),
        ("c:odd", "/base/c:odd"),
    ],
)
def test_paths_and_file_urls(path: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "file:///data/x")
    assert local_path("setting", path, BASE) == Path(place)


@pytest.mark.parametrize("path", ["s3a://bucket/out", "hdfs:///out", "file://host/out", "gs://b", "https://h/x"])
def test_other_systems_and_machines_are_refused(path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        local_path("publish.output.path", path, BASE, ", since releases appear by one rename")
    assert str(caught.value) == (
        "publish.output.path must be a path or a file:// URL on the driver's machine, since releases appear by one"
        f" rename, got {path}"
    )


def test_input_urls_go_to_spark_as_they_stand() -> None:
    urls = ["s3a://bucket/day=1/*.csv", "hdfs://name:8020/rows", "file:///rows.csv", "file:/rows.csv", "viewfs:/rows"]
    assert all(map(has_scheme, urls))
    assert Source(path=[*urls, "rows.csv"]).paths(BASE) == [*urls, "/base/rows.csv"]
