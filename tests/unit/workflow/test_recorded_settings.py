"""What is hashed of settings stays as it was recorded, so that runs and releases of before are found again.

The hashes were recorded before the settings of a release were parted from their surroundings. To record a wanted
change: ``DPLIB_RECORD_GOLDEN=1 pytest`` with this file.
"""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dplib.canonical import settings_hash
from dplib.config.job_config import Surroundings
from dplib.jobs.table import JOBS, job_named
from dplib.ledger.runs import Run, RunKey, RunState
from dplib.workflow.design import JobDesign
from dplib.workflow.prepared import Prepared
from tests.support.every_job import GRAPH, POINTS, RANGES, WEIGHTS
from tests.support.golden import require_recorded
from tests.support.jobs import SETTINGS as SHOP

HIDDEN = {"ledger": "postgresql://dp:pass-word-1@host/db", "secret": "command:print pass-word-2"}
ACCESS = {"header": "True", "fs.s3a.secret.key": "pass-word-3", "sep": ";"}


def _changed(settings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    found = json.loads(json.dumps(settings)) | HIDDEN
    found["input"]["options"] = dict(ACCESS)
    for key, value in changes.items():
        found[key] = found[key] | value if isinstance(value, dict) and isinstance(found.get(key), dict) else value
    return found


RICH: dict[str, dict[str, Any]] = {
    "histograms of listed items": _changed(
        SHOP,
        domain={"items": {"file": "names.txt"}, "first_day": "2024-01-01", "last_day": "2024-03-31"},
        constraints=[
            {"totals": {"food": ["a", "b"]}, "measured": True, "from": "2024-02-01"},
            {"totals": {"all": ["food", "c"]}},
        ],
        tree={"levels": "calendar", "branching": None, "root": True},
        queries=["month"],
    ),
    "ranges of listed groups": _changed(
        RANGES,
        histogram={"edges": [0, "1/3", 2], "groups": {"file": "names.csv", "column": "name"}},
        tree={"method": "boost", "branching": 3},
        publish={"layout": "driver", "output": {"path": "elsewhere", "csv": True}},
    ),
    "ranges of days": _changed(
        RANGES,
        input={"columns": {"value": "day", "unit": "patient"}, "date_format": "dd/MM/yyyy", "timezone": "Asia/Tokyo"},
        histogram={"edges": None, "groups": None, "days": {"first": "2024-01-01", "last": "2024-01-31"}},
    ),
    "points of a pure choice": _changed(
        POINTS, clustering={"n_clusters": 2, "bounds": [[0, 1], [0, 1]], "method": "local_search"}
    ),
    "reports of points": _changed(
        POINTS,
        input={"columns": {"report": "text", "unit": "person"}},
        privacy={"neighbors": "local"},
        clustering={"n_clusters": 2, "bounds": [[0, 1], [0, 1]], "method": "noisy_coordinates"},
    ),
    "simulated reports": _changed(
        POINTS, privacy={"neighbors": "local"}, clustering=POINTS["clustering"] | {"method": "auto"}
    ),
    "a graph with choices": _changed(
        GRAPH,
        graph={
            "vertices": {"file": "names.txt"},
            "statistics": {"adjacency": 2, "split": 1, "coverage": 1, "k_stars": 1},
            "stars": 3,
            "adjacency": {"blocks": {"x": ["a", "b"], "y": ["c"]}},
            "split": {"candidates": {"file": "splits.csv"}},
            "coverage": {"candidates": {"one": ["a"], "two": ["b", "c"]}},
        },
        counting={"layout": "driver"},
    ),
    "reports of degrees": _changed(
        GRAPH,
        input={"columns": {"vertex": "who", "degree": "number"}},
        privacy={"model": "local"},
        graph={"vertices": {"count": 9, "first": 3}, "statistics": {"degree_sequence": 1}},
    ),
    "a metis graph": GRAPH
    | {
        "input": {"path": "graph.metis", "format": "metis", "options": {"first": "1"}},
        "graph": {"vertices": {"count": 8, "first": 1}, "statistics": {"triangles": 1}},
    },
    "cuts that are drawn": _changed(
        WEIGHTS,
        privacy={"weight_cap": 5, "budget": {"epsilon": 8, "delta": "1/1000000"}},
        graph={"vertices": {"count": 12}, "weights": {"largest": 9, "capped": "pair"}},
        cuts={"releases": {"sampled_cuts": {"k": 2, "when_small": "pad"}}, "method": "packing"},
        plan={"minimum_cut_values": [7]},
        publish={"factor": "5/4", "output": {"path": "releases"}},
    ),
    "cuts of a graph whose weights are all one": _changed(
        WEIGHTS, input={"columns": {"source": "one", "target": "other"}}, graph={"vertices": ["a", "b", "c"]}
    ),
    "shared quality": _changed(SHOP, privacy=SHOP["privacy"] | {"quality_share": "1/25"}),
}


def _files(folder: Path) -> None:
    (folder / "names.txt").write_text("a\nb\nc\nd\n")
    (folder / "names.csv").write_text("id,name\n1,north\n2,south\n")
    (folder / "splits.csv").write_text("candidate,vertex,group\ns,a,1\ns,b,1\ns,c,2\nt,a,1\nt,d,1\n")


def _example(job: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(job_named(job).example)
    return found


CASES: dict[str, Callable[[], dict[str, Any]]] = {name: (lambda given=given: given) for name, given in RICH.items()}
CASES |= {f"example of {job}": (lambda job=job: _example(job)) for job in JOBS}


def _prepared(settings: dict[str, Any], folder: Path) -> Prepared[JobDesign]:
    _files(folder)
    return job_named(settings["job"]).resolve(settings, folder, "")


def _hashes(run: Prepared[JobDesign]) -> dict[str, str]:
    former = run.key.former[0] if run.key.former else run.key.settings_hash
    under_former = Run(2, RunKey("other", "other", "", former), 1, RunState.RESERVED)  # type: ignore[arg-type]
    now = Run(2, run.key, 1, RunState.RESERVED)  # type: ignore[arg-type]
    return {
        "all": settings_hash(run.settings),
        "plan": settings_hash(run.plan_settings),
        "counted": run.key.settings_hash,
        "former": ", ".join(run.key.former),
        "publish": run.publish_hash(now),
        "publish under the former": run.publish_hash(under_former),
        "public": settings_hash(run.design.public()),
    }


@pytest.mark.parametrize("case", CASES)
def test_settings_are_hashed_as_they_were(case: str, tmp_path: Path) -> None:
    require_recorded("settings", case, _hashes(_prepared(CASES[case](), tmp_path)))


@pytest.mark.parametrize("case", CASES)
def test_a_design_goes_to_executors_and_holds_nothing_of_where_things_are(case: str, tmp_path: Path) -> None:
    run = _prepared(CASES[case](), tmp_path)
    assert isinstance(run.config, Surroundings)
    assert not isinstance(run.design.config, Surroundings)
    assert not set(type(run.design.config).model_fields) & {"input", "ledger", "secret", "spark"}
    stored = pickle.dumps(run.design)
    assert b"pass-word" not in stored
    assert case not in RICH or RICH[case].get("ledger") != HIDDEN["ledger"] or b"pass-word" in pickle.dumps(run.config)
    assert pickle.loads(stored).public() == run.design.public()  # noqa: S301 - written two lines above
