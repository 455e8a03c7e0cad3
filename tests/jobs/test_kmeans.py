"""The job kmeans from the command line: what it counts, publishes, answers, spends and refuses."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import ArrayType, BooleanType, DecimalType, DoubleType, LongType, StringType

from dplib.clustering.source import Blocks
from dplib.clustering.sums import Moments
from dplib.config.point_input import PointInput
from dplib.errors import SchemaError
from dplib.jobs.kmeans.collection import Collection
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.measure import measure_reports
from dplib.jobs.kmeans.report_text import ReportReader, report_of
from dplib.jobs.table import job_named
from dplib.release.tables import read_table
from dplib.spark.points import point_rows
from dplib.spark.points.point_rows import open_points
from dplib.spark.points.points import SparkPoints, block_points
from tests.support.jobs import Outcome, content, dplib, named, require_refused
from tests.support.made_releases import made_release
from tests.support.places import EXACT, GROUPS, LOCAL, Places, new_places, read_in_python


def shown_by(places: Places) -> dict[str, list[str]]:
    """Kept and dropped rows by rule, of ``dplib inspect``."""
    lines = places.command("inspect").out.splitlines()[2:]
    return {line.rsplit(None, 2)[0].strip(): line.split()[-2:] for line in lines}


def read_table_of(folder: Path) -> pd.DataFrame:
    """Rows that Spark wrote."""
    return pd.read_parquet(folder)


@pytest.fixture
def places(tmp_path: Path, spark: object) -> Places:
    return new_places(tmp_path)


BAD = [
    ("nan", "5", "p1"), ("SECRETVALUE", "5", "p2"), ("", "5", "p3"), ("5", "5", ""), ("5",), ("inf", "5", "p4"),
    ("-1e999", "5", "p5"), (" 7 ", " 8", "p6"), ("500", "-500", "p7"),
]  # fmt: skip
"""Rows of which four count."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spark: object) -> tuple[Places, Outcome]:
    """A place with good and bad rows, and its run, with hardly any noise."""
    place = new_places(tmp_path_factory.mktemp("made"), privacy__budget=EXACT).rows([*GROUPS, *BAD])
    return place, place.run()


def test_a_run_publishes_answers_and_comes_again_for_nothing(made: tuple[Places, Outcome], pictures: None) -> None:
    places, release = made[0], made[1].release
    manifest = json.loads((release / "manifest.json").read_text())
    assert manifest["cost"] == "30"
    assert manifest["details"]["method"] == "grid"
    assert manifest["domain"]["coordinates"] == ["east", "north"]
    assert "iteration" not in json.dumps(manifest)
    page = (release / "report.html").read_text()
    assert "Centers by east and north" in page
    before = content(places.output)
    places.rows([*GROUPS, ("50", "50", "z")])
    assert places.run().release == release
    assert content(places.output) == before
    places.rows([*GROUPS, *BAD])
    # Publish settings make another page of the same measurement.
    assert places.run("--set", "publish.picture.x=north").release == release
    assert places.spent() == 30
    assert dplib("verify", str(release), "--ledger", f"sqlite:///{places.folder}/ledger.db").code == 0
    answers = json.loads(dplib("query", str(release), "--json").out)
    assert len(answers) == 2
    assert answers[0]["weight"] >= answers[1]["weight"]
    nearest = json.loads(dplib("query", str(release), "--from", "21,31", "--json").out)
    assert len(nearest) == 1
    assert nearest[0]["center"] == answers[0]["center"]
    one = json.loads(dplib("query", str(release), "--item", "1", "--json").out)[0]
    assert one["center"] == 1
    assert set(one["coordinates"]) == {"east", "north"}
    assert one["weight_error"] > 0
    for words, name in ((("--item", "2"), "--item"), (("--from", "1"), "--from"), (("--to", "1"), "--to")):
        refused = dplib("query", str(release), *words)
        assert (refused.code, refused.err.split(" must")[0]) == (2, f"dplib: {name}")


def test_assign_is_apart_from_the_release_and_says_what_it_is(made: tuple[Places, Outcome]) -> None:
    places, release = made[0], made[1].release
    before, to = content(release), places.folder / "mine"
    found = dplib("assign", str(release), "--config", str(places.config), "--to", str(to))
    assert found.code == 0, found.err
    assert "NOT PRIVATE" in found.out
    assert "NOT PRIVATE" in (to / "_NOT_PRIVATE.txt").read_text()
    rows = read_table_of(to)
    assert list(rows.columns) == ["east", "north", "unit", "center", "distance"]
    # Whoever has no unit has a point.
    assert len(rows) == 109
    assert rows.center.isna().sum() == 4
    by_group = rows.dropna().groupby(rows.unit.str[0]).center.nunique()
    assert (by_group["a"], by_group["b"]) == (1, 1)
    assert content(release) == before
    assert places.spent() == 30
    for folder, name in ((to, "--to"), (release / "rows", "--to")):
        refused = dplib("assign", str(release), "--config", str(places.config), "--to", str(folder))
        assert (refused.code, named(refused)) == (2, name)
    other = ("--set", "clustering.bounds=[[0, 1], [0, 1]]")
    refused = dplib("assign", str(release), "--config", str(places.config), "--to", str(places.folder / "b"), *other)
    assert (refused.code, named(refused)) == (2, "RELEASE")


def test_bad_rows_follow_the_rule_and_appear_nowhere(made: tuple[Places, Outcome]) -> None:
    places, found = made
    weights = read_table(found.release / "estimates", ["weight"], blocks=("weights",))["weight"]
    assert round(float(weights.to_numpy().sum())) == 104
    assert "SECRETVALUE" not in found.out + found.err
    assert all(b"SECRETVALUE" not in path.read_bytes() for path in places.output.rglob("*") if path.is_file())
    shown = shown_by(places)
    assert shown["unit is given"] == ["107", "2"]
    assert shown["every coordinate is given"] == ["104", "3"]
    assert shown["point is inside the bounds"] == ["101", "3"]
    assert shown["rows are within the cap a unit"] == ["104", "0"]


@pytest.mark.usefixtures("spark")
def test_a_private_radius_is_part_of_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ball = {"radius": "private", "radius_share": "1/2", "n_clusters": 2, "method": "grid"}
    places = new_places(tmp_path, clustering=ball, privacy__budget={"epsilon": 60}, privacy__max_rows_per_unit=2)
    places.rows([*GROUPS, *GROUPS])
    with monkeypatch.context() as reading:
        read_in_python(reading)
        release = places.run().release
    manifest = json.loads((release / "manifest.json").read_text())
    # The farthest place is 112 from the middle, the nearest 36: half octaves above are 128 and 45.
    assert 64 <= manifest["details"]["choices"]["radius"] <= 128
    draws = read_table(release / "measurement").to_pandas()
    assert draws[draws.draw == 0].noisy.sum() == pytest.approx(200, abs=4)
    assert dplib("verify", str(release)).code == 0
    seen: list[pd.DataFrame] = []
    monkeypatch.setattr("dplib.jobs.kmeans.assign.write_assigned", lambda rows, _: seen.append(rows.toPandas()))
    found = dplib("assign", str(release), "--config", str(places.config), "--to", str(tmp_path / "mine"))
    assert found.code == 0, found.err
    # Distances are in radii of the ball that was found; the groups' points lie within five of each other.
    assert seen[0].groupby(seen[0].unit.str[0]).center.nunique().to_dict() == {"a": 1, "b": 1}
    assert seen[0].distance.max() < 5 / manifest["details"]["choices"]["radius"]
    assert "privately found radius" in places.command("plan").out


ARRAYS = [[1.0, 2.0], [3.0], None, [90.0, None], [95.0, 95.0], [5.0, 5.0, 5.0]]
"""Of which two hold a point."""


@pytest.mark.parametrize("kind", [pa.float64(), pa.string()], ids=str)
def test_arrays_and_rows_of_their_own_unit(tmp_path: Path, spark: Any, kind: pa.DataType) -> None:
    pq.write_table(pa.table({"place": pa.array(ARRAYS).cast(pa.list_(kind))}), tmp_path / "rows.parquet")
    changed = {"path": "rows.parquet", "format": "parquet", "columns": {"vector": "place"}}
    places = new_places(tmp_path, privacy={"unit": "event", "budget": EXACT}, input=changed)
    prepared = job_named(places.job).prepare(places.config)
    rows = open_points(spark, prepared.source(PointInput), tmp_path)
    frame = cast(Design, prepared.design).frame
    found = SparkPoints(block_points(rows, frame, 1, bytes(32)), 2).total(Moments(2))
    assert np.array_equal(found[1], Blocks(frame.to_units(np.array([ARRAYS[0], ARRAYS[4]]))).total(Moments(2))[1])


def test_arrays_hold_numbers() -> None:
    for kind in (DecimalType(5, 2), StringType(), LongType()):
        point_rows._require_numbers("place", ArrayType(kind))
    for other in (ArrayType(DoubleType()), BooleanType()):
        with pytest.raises(SchemaError, match="vector must name arrays of type"):
            point_rows._require_numbers("place", ArrayType(other))


def test_the_local_model_merges_one_report_a_person(tmp_path: Path, spark: object) -> None:
    places = new_places(tmp_path, **LOCAL, privacy__budget={"epsilon": 8}).rows(
        [*GROUPS, *GROUPS, ("SECRETVALUE", "1", "someone else"), ("1", "1", "")]
    )
    planned = json.loads(places.command("plan", "--json").out)
    assert planned["method"] == "ldp_tree"
    assert "simulates" in " ".join(planned["frame"]["notes"] if "frame" in planned else planned["notes"])
    found = places.run()
    merged = read_table(found.release / "measurement").to_pandas()
    # The first number of every question is how many answered it: 100 people and one without a usable point.
    assert merged[merged.cell == 0].noisy.sum() == 101
    manifest = json.loads((found.release / "manifest.json").read_text())
    assert (manifest["neighbors"], manifest["details"]["model"]) == ("local", "local")
    page = (found.release / "report.html").read_text()
    assert "simulates the local model" in page
    # The number of people who answered stands in the release as it is: both say that it is public.
    assert "sent a report is public" in page
    assert "sent a report is public" in manifest["invariants"][0]
    assert dplib("verify", str(found.release)).code == 0
    assert "SECRETVALUE" not in found.out + found.err


Sent = tuple[str, str]


def asked_and_sent(places: Places) -> tuple[Collection, list[Sent]]:
    """What the plan says that devices need, and what sixty of them send."""
    collection = Collection.from_json(json.dumps(json.loads(places.command("plan", "--json").out)["collection"]))
    return collection, [(report_of(collection, bytes([n]) * 32, [20, 30]), f"p{n}") for n in range(60)]


def require_weights_without_errors(release: Path) -> None:
    errors = read_table(release / "estimates", ["std_error"], blocks=("weights",)).to_pandas()["std_error"]
    assert errors.isna().all()
    assert "Weights without an error" in (release / "report.html").read_text()
    assert dplib("verify", str(release)).code == 0
    answers = json.loads(dplib("query", str(release), "--json").out)
    assert set(answers[0]["coordinates"]) == {"x0", "x1"}


REPORTS: dict[str, Any] = LOCAL | {
    "privacy__budget": {"epsilon": 8},
    "input__columns": {"report": "report", "unit": "person"},
}


def test_reports_of_devices_become_a_release(tmp_path: Path, spark: object) -> None:
    places = new_places(tmp_path, **REPORTS)
    collection, sent = asked_and_sent(places)
    other = [(report_of(collection, bytes([number]) * 32, [70, 80]), "p1") for number in (200, 201)]
    places.rows([*sent, sent[0], *other, ("SECRETVALUE", "p70"), (sent[0][0], ""), ("1",)], ("report", "person"))
    found = places.run()
    merged = read_table(found.release / "measurement").to_pandas()
    assert merged[merged.cell == 0].noisy.sum() == 59
    require_weights_without_errors(found.release)
    shown = shown_by(places)
    assert shown["unit is given"] == ["64", "2"]
    assert shown["the report can be read"] == ["63", "1"]
    assert shown["the unit reports once"] == ["59", "4"]
    assert "SECRETVALUE" not in found.out + found.err


def test_reports_that_are_noisy_points_become_a_release_too(tmp_path: Path) -> None:
    """Merged in memory: reading their texts from rows is above."""
    places = new_places(tmp_path, **REPORTS).set(clustering__method="noisy_coordinates")
    collection, sent = asked_and_sent(places)
    reader = ReportReader(collection)
    merged = reader.merge(*reader.read([text for text, _ in sent]))
    release = made_release(places, lambda design, keys, folder: measure_reports(design, merged, keys, folder))
    stored = read_table(release / "measurement").to_pandas()
    assert stored[stored.coordinate == 1].noisy.sum() == 60
    require_weights_without_errors(release)


def test_plan_and_rehearsal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal is a run, whose rows are read without Spark here."""
    read_in_python(monkeypatch)
    places = new_places(tmp_path, clustering__method="auto")
    planned = json.loads(places.command("plan", "--json").out)
    assert planned["method"] == "grid"
    assert "uniform grid" in planned["what"]
    found = places.command("rehearse", "--rows", "3000", "--seed", "3")
    assert found.code == 0, found.err
    ratio = {line[:14].strip(): float(line.split()[-1]) for line in found.out.splitlines()[2:]}
    assert ratio["plain k-means"] == 1
    assert 0.99 < ratio["this job"] < 1.5 < ratio["one center"]
    assert places.spent() == 0


def test_a_wrong_schema_is_named_and_nothing_happens(places: Places) -> None:
    require_refused(places.rows(GROUPS, ("east", "west", "person")), 3)
