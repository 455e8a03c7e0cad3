"""What is hashed of settings stays as it was recorded, so that runs and releases of before are found again.

The hashes were recorded before the settings of a release were parted from their surroundings. To record a wanted
change: ``DPLIB_RECORD_GOLDEN=1 pytest`` with this file.
"""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dplib.canonical import settings_hash
from dplib.config.job_config import Surroundings
from dplib.jobs.table import JOBS, job_named
from dplib.ledger.runs import Run, RunKey, RunState
from dplib.workflow.design import JobDesign
from dplib.workflow.prepared import Prepared
from tests.support.golden import FOLDER, require_recorded

RICH: dict[str, dict[str, Any]] = YAML(typ="safe").load(FOLDER / "settings.yaml")


def _files(folder: Path) -> None:
    (folder / "names.txt").write_text("a\nb\nc\nd\n")
    (folder / "names.csv").write_text("id,name\n1,north\n2,south\n")
    (folder / "splits.csv").write_text("candidate,vertex,group\ns,a,1\ns,b,1\ns,c,2\nt,a,1\nt,d,1\n")


def _example(job: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(job_named(job).example)
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
    assert "pass-word" not in str(RICH.get(case)) or b"pass-word" in pickle.dumps(run.config)
    assert pickle.loads(stored).public() == run.design.public()  # noqa: S301 - written two lines above
