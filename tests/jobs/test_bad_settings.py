"""A wrong setting: one sentence that names it, the right exit code, nothing spent, nothing written."""

import re
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dplib.errors import ConfigError, DplibError
from dplib.jobs.consistent_histograms.job import JOB as HISTOGRAMS
from dplib.jobs.table import job_named
from dplib.progress import SILENT
from dplib.workflow.job import Resources
from dplib.workflow.run import run_job
from tests.jobs.test_items_of_a_table import stores
from tests.jobs.test_minimum_cuts import new_contacts
from tests.jobs.test_network_statistics import new_network
from tests.jobs.test_range_histograms import new_visits
from tests.support.jobs import DROP, JOB, Outcome, Shop, content, dplib, named, new_shop, refuse_spark, require_refused
from tests.support.places import new_places

DATA = Path(__file__).parents[1] / "data"

WRONG: dict[str, list[tuple[str, dict[str, Any]]]] = YAML(typ="safe").load(DATA / "wrong_settings.yaml")
CASES = {job: [(name, changes) for name, changes in cases] for job, cases in WRONG.items() if job != "bases"}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shop]:
    """One place of each for all: a refusal must leave it as it was."""
    folder = tmp_path_factory.mktemp("places")
    return {
        "consistent-histograms": new_shop(folder / "shop"),
        "range-histograms": new_visits(folder / "visits"),
        "kmeans": new_places(folder / "points"),
        "network-statistics": new_network(folder / "network"),
        "noisy graphs": new_network(folder / "noisy", graph__statistics={"adjacency": 1}),
        "minimum-cuts": new_contacts(folder / "cuts"),
        "items of a table": stores(folder / "stores"),
    }


@pytest.fixture
def shop(places: dict[str, Shop]) -> Shop:
    return places["consistent-histograms"]


@pytest.mark.parametrize("job", CASES)
def test_each_wrong_setting_is_named_and_nothing_happens(
    job: str, places: dict[str, Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_spark(monkeypatch)
    monkeypatch.delenv("DPLIB_TEST_ABSENT", raising=False)
    right = places[job]
    before = content(right.folder)
    found = [(name_of_refusal(right, changes), changes) for _, changes in CASES[job]]
    assert found == CASES[job]
    assert content(right.set().folder) == before


def name_of_refusal(right: Shop, changes: dict[str, Any]) -> str:
    """The setting that a run with changes names; the command line makes exit code 2 of any such error: below."""
    wrong = type(right)(right.folder, deepcopy(right.settings))
    wrong.set(**{setting.replace(".", "__"): value for setting, value in changes.items()})
    try:
        run_job(job_named(wrong.job).prepare(wrong.config), progress=SILENT)
    except ConfigError as refused:
        return named(Outcome(2, "", f"dplib: {refused}\n"))
    return "none"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--set", "privacy.budget.epsilon"), "--set"),
        (("--set", "=1"), "--set"),
        (("--set", "dataset.name=1"), "--set"),
        (("--set", "domain.items={"), "--set"),
        (("--set", "domain.items.9=tea"), "--set"),
        (("--set", "privacy.budget.epsilon=-2"), "privacy.budget.epsilon"),
        (("--set", "privacy.budgt.epsilon=2"), "privacy.budgt"),
        (("--stage", "reap"), "--stage"),
        (("--release", "shop-1"), "--release"),
        (("--again", "--stage", "publish"), "--again"),
        (("--release", "x", "--stage", "publish"), "release"),
    ],
)
def test_wrong_options_arenamed(words: tuple[str, ...], name: str, shop: Shop) -> None:
    right = Shop(shop.folder).set()
    before = content(shop.folder)
    outcome = right.run(*words)
    assert outcome.code == 2, outcome.err
    found = re.fullmatch(r"dplib: (\S+) .*must .+, got .+\n", outcome.err)
    assert found is not None, outcome.err
    assert found[1] == name
    assert content(shop.folder) == before


@pytest.mark.parametrize(
    "text",
    ["privacy: [1", "- a\n- b\n", "", "a: 1\na: 2\n", "dataset: \x00\n", "dataset: shop\n\tjob: x\n", "a: &x [*x]\n"],
)
def test_a_file_that_is_no_configuration(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    outcome = dplib("run", JOB, "--config", str(path))
    assert outcome.code == 2, outcome.err
    assert re.fullmatch(r"dplib: \S+ must .+, got .+\n", outcome.err), outcome.err
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.yaml", tmp_path):
        outcome = dplib("run", JOB, "--config", str(path))
        assert outcome.code == 2
        assert named(outcome) == "--config"
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"dataset: caf\xe9\n")
    assert named(dplib("run", JOB, "--config", str(latin))) == "--config"


def test_an_unknown_job_isnamed(shop: Shop) -> None:
    outcome = dplib("run", "histograms", "--config", str(Shop(shop.folder).set().config))
    assert outcome.code == 2
    assert named(outcome) == "JOB"


@pytest.mark.usefixtures("rows_in_python")
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    shop = new_shop(tmp_path).set(publish__output__path="orders.csv/deeper")
    before = content(tmp_path)
    outcome = shop.run()
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("dplib: publish.output.path must be a directory that can be written")
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("changes", "code", "name"),
    [
        ({"input__date_format": "dd/mm/yyyy"}, 2, "input.date_format"),
        ({"input__date_format": "yyyy-MM-dd'"}, 2, "input.date_format"),
        ({"input__format": "papyrus"}, 2, "input.format"),
        ({"input__options": {"header": "true", "mode": "FAILFAST"}}, 2, "input.options.mode"),
        ({"input__columns__item": "_c1", "input__options": {}}, 3, "input.columns.day"),
        ({"input__path": "absent.csv"}, 3, "input.path"),
        ({"input__path": "shop.yaml", "input__format": "parquet", "input__options": {}}, 3, "input.path"),
        ({"input__table": "absent.orders", "input__path": DROP, "input__options": DROP}, 3, "input.table"),
        ({"spark": {"conf": {"spark.sql.ansi.enabled": "false"}}}, 2, "spark.conf"),
    ],
)
def test_what_only_spark_can_tell_is_named(
    changes: dict[str, Any], code: int, name: str, tmp_path: Path, spark: object
) -> None:
    """Where a run opens its input, before anything is reserved: below."""
    shop = new_shop(tmp_path).set(**changes)
    with pytest.raises(DplibError) as refused, closing(Resources(HISTOGRAMS.prepare(shop.config), SILENT)) as resources:
        HISTOGRAMS.stages().open_input(resources)
    assert (named(Outcome(code, "", f"dplib: {refused.value}\n")), refused.value.exit_code) == (name, code)


@pytest.mark.parametrize(
    ("changes", "code", "name"),
    [
        ({"input__date_format": "nonsense"}, 2, "input.date_format"),
        ({"input__columns__day": "day"}, 3, "input.columns.day"),
    ],
)
def test_what_spark_tells_reserves_nothing(
    changes: dict[str, Any], code: int, name: str, tmp_path: Path, spark: object
) -> None:
    shop = new_shop(tmp_path).set(**changes)
    refused = require_refused(shop, code)
    assert re.fullmatch(rf"dplib: {re.escape(name)} must .+, got .+", refused.err.splitlines()[-1]), refused.err
    assert shop.entries() == ["account"]
