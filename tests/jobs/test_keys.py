"""The job `key-selection`: runs, answers, retries, what it refuses, that nothing else is told, and jobs after it."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.every_job import ONE_RUN, entries_of
from tests.support.every_job import Words as People
from tests.support.jobs import content, dplib, new_place, new_shop, require_refused

SETTINGS: dict[str, Any] = {
    "config_version": 1,
    "job": "key-selection",
    "dataset": "words",
    "input": {"path": "orders.csv", "options": {"header": "true"}, "columns": {"key": "product", "unit": "customer"}},
    "privacy": {"unit": "customer", "max_keys_per_unit": 2, "budget": {"epsilon": 2, "delta": "1e-5"}},
    "selection": {"rounds": 1},
    "spark": {"master": "local[1]"},
    "publish": {"output": {"path": "releases", "csv": True}},
    "ledger": "sqlite:///ledger.db",
    "secret": "file:shop.key",
}
COMMON, RARE = ("bread", "tea"), [f"rare-{n}" for n in range(50)]
ROWS = [(key, f"c{n}") for n in range(300) for key in COMMON] + [(key, f"d{n}") for n, key in enumerate(RARE)]
BAD = [(" ", "c1"), ("control\x07", "c2"), ("nobody", "")]


class Words(People):
    """Products of customers."""

    header = ("product", "customer")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Words:
    return new_place(Words, tmp_path_factory.mktemp("words"), SETTINGS, "100").rows([*ROWS, *BAD])


@pytest.fixture(scope="module")
def release(words: Words) -> Path:
    return words.run().release


def test_keys_that_many_share_are_released_and_no_other_is_named_anywhere(words: Words, release: Path) -> None:
    table = pq.read_table(release / "published" / "keys.parquet")
    assert table.column("key").to_pylist() == sorted(COMMON)
    for path in [*release.rglob("*"), words.folder / "ledger.db"]:
        if path.is_file():
            assert b"rare-" not in path.read_bytes(), path.name
    before = content(words.output)
    assert words.run().release == release
    assert content(words.output) == before
    assert entries_of(words) == ONE_RUN


def test_query_verify_and_report(words: Words, release: Path) -> None:
    asked = json.loads(dplib("query", str(release), "--item", "tea", "--item", "rare-1", "--json").out)
    assert [(each["key"], each["released"]) for each in asked] == [("tea", True), ("rare-1", False)]
    checked = dplib("verify", str(release), "--ledger", f"sqlite:///{words.folder}/ledger.db", "--json")
    assert checked.code == 0, checked.err
    assert "published keys are the drawn ones" in {each["name"] for each in json.loads(checked.out)}
    assert "tea" in Path(dplib("report", str(release)).last).read_text(encoding="utf-8")
    assert dplib("ledger", "audit", "--ledger", f"sqlite:///{words.folder}/ledger.db").code == 0


def test_the_plan_says_when_a_key_appears(words: Words) -> None:
    plan = json.loads(words.command("plan", "--json").out)
    assert (plan["mechanism"], plan["rounds"], plan["caps"]) == ("table", 1, {"keys of one customer": 2})
    assert all(1 < size["half"] < size["sure"] < 300 for size in plan["sizes"])


def test_weights_with_their_errors_of_several_columns(words: Words) -> None:
    changed = {"mechanism": "gaussian", "even": True, "max_keys": 1}
    old = {name: words.settings[name] for name in ("selection", "input")}
    both = words.settings["input"] | {"columns": {"keys": ["product", "product"], "unit": "customer"}}
    done = words.set(selection=changed, input=both).run()
    (answer,) = json.loads(dplib("query", str(done.release), "--json").out)
    assert answer["key"] in {"bread / bread", "tea / tea"}
    assert abs(answer["weight"] - 300) < 6 * answer["std_error"]
    assert dplib("verify", str(done.release)).code == 0
    words.set(**old)


@pytest.mark.usefixtures("rows_in_python")
def test_other_jobs_take_the_keys_of_a_release(words: Words, release: Path, tmp_path: Path) -> None:
    shop = new_shop(tmp_path).set(domain__items={"release": str(release)}, constraints=[])
    done = shop.run()
    design = json.loads((done.release / "manifest.json").read_text(encoding="utf-8"))["details"]["design"]
    assert design["domain"]["items"] == sorted(COMMON)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for name in ("manifest.json", "published/keys.parquet"):
        (damaged / name).parent.mkdir(exist_ok=True)
        (damaged / name).write_bytes((release / name).read_bytes().replace(b"tea", b"tee"))
    outcome = require_refused(shop.set(domain__items={"release": str(damaged)}), 2)
    assert "domain.items.release must be a release whose files are those of its manifest" in outcome.err
    outcome = require_refused(shop.set(domain__items={"release": str(done.release)}), 2)
    assert "must be a release of key-selection" in outcome.err


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"privacy__budget": {"epsilon": 1}},
            "privacy.budget must be epsilon with delta, or rho with delta, got epsilon",
        ),
        ({"privacy__neighbors": "replace_one"}, "privacy.neighbors must"),
        ({"privacy__max_keys_per_unit": None}, "privacy.max_keys_per_unit must be set where the unit is customer"),
        ({"selection": {"mechanism": "laplace", "rounds": 3}}, "selection.rounds must be absent unless"),
        ({"privacy__budget": {"epsilon": "1e-4", "delta": "1e-5"}}, "privacy.budget must be large enough"),
    ],
)
def test_settings_are_refused_in_one_sentence(words: Words, changes: dict[str, Any], sentence: str) -> None:
    before = json.loads(json.dumps(words.settings))
    outcome = words.set(**changes).run()
    words.settings = before
    words.set()
    assert outcome.code == 2
    assert sentence in outcome.err


def test_inspect_and_rehearse(words: Words) -> None:
    found = words.command("inspect")
    assert found.code == 0, found.err
    assert "key can be a name" in found.out
    rehearsed = words.command("rehearse", "--rows", "300")
    assert rehearsed.code == 0, rehearsed.err
    assert "units that share a key" in rehearsed.out
