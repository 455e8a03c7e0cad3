"""The life of a stream: what commands, changed settings and damaged files make of it."""

import json
import shutil
from pathlib import Path

import pytest

from dplib.config.event_input import Input
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.consistent_histograms import stream_measure
from dplib.jobs.pricing import price
from dplib.ledger.runs import RunState
from dplib.release.manifest import STREAM, load_manifest
from dplib.release.tables import read_table
from tests.support.jobs import content, dplib
from tests.support.stream_shop import days, new_stream


def test_a_closed_stream_takes_no_more_days_and_all_of_it_is_final(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])
    run = shop.ledger.runs("counts")[0]
    assert run.state is RunState.PUBLISHED
    with pytest.raises(ConfigError, match="reservation without a measurement"):
        shop.ledger.void(run, "no")
    outcome = shop.close()
    assert outcome.code == 0, outcome.err
    version = outcome.release
    assert set(read_table(version / "estimates", ["status"]).column("status").to_pylist()) == {"final"}
    assert shop.ledger.runs("counts")[0].is_closed
    with pytest.raises(IntegrityError, match="none after its end"):
        shop.day(days(1)[0])
    assert shop.run("--date", days(1)[0]).code == 2
    again = dplib("stream", "close", "--config", str(shop.config), "--why", "again")
    assert (again.code, again.last) == (0, str(version))
    assert not shop.ledger.audit()


def test_plan_and_verify_speak_of_a_stream_s_day(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    shop.day(days(0)[0])

    def planned(date: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(shop.command("plan", "--json", "--date", date).out)
        assert found["horizon"] == ["2026-01-26", "2026-02-15"]
        return found["ledger"]  # type: ignore[return-value]  # an object

    assert [planned(date)["existing_state"] for date in days(0, 1)] == ["published", "reserved"]
    verified = [dplib("verify", "--config", str(shop.config), "--date", date).code for date in days(0, 1)]
    assert verified == [0, 1]
    assert shop.close().code == 0
    refused = shop.command("plan", "--date", days(1)[0])
    assert refused.code == 2
    assert "--date must name a day of an open stream" in refused.err
    assert planned(days(0)[0])["existing_state"] == "published"
    assert shop.command("plan").code == 0


@pytest.mark.parametrize(
    ("horizon", "levels"),
    [
        (("2026-01-26", "2026-02-15"), ["week", "day"]),
        (("2025-12-20", "2026-04-10"), ["quarter", "month", "day"]),
        (("2026-01-28", "2026-06-02"), ["4 weeks", "2 weeks", "day"]),
        (("2026-02-01", "2026-02-28"), ["month", "day"]),  # the month is the root
    ],
)
def test_a_run_reads_the_files_of_the_days_of_the_nodes_that_close(
    tmp_path: Path, horizon: tuple[str, str], levels: list[str]
) -> None:
    shop = new_stream(tmp_path, stream__horizon=list(horizon), stream__levels=levels, input__path="{date}.csv")
    whole = shop.prepared()
    days = [whole.design.date(day).isoformat() for day in range(whole.design.config.domain.n_days)]
    assert whole.source(Input).path == [f"{day}.csv" for day in days]
    for number, date in enumerate(days):
        _, first = stream_measure.closing(whole.design, number)
        if first == number and number % 7:
            continue  # of the days that close nothing but themselves one in seven is enough
        prepared = shop.prepared(date)
        assert prepared.source(Input).path == [f"{day}.csv" for day in days[first : number + 1]]
        assert prepared.key == whole.key  # one stream


def test_other_publish_settings_make_final_numbers_anew_and_a_version_is_never_replaced(tmp_path: Path) -> None:
    shop = new_stream(tmp_path, stream__horizon=days(5, 14))
    first = shop.day(*days(5, 6, 7))  # the first week has two days
    before = content(first)
    other = shop.set(publish={"counts": "reals", "output": {"path": "releases", "csv": True}}).day(days(5)[0])
    assert (other.name, content(first)) == ("000002", before)
    assert (other / "published" / "top-00000.csv").is_file()
    assert str(read_table(other / "published", ["count"]).schema.field("count").type) == "double"
    assert shop.spent() == 1
    # What a crash left unrecorded stays as it is; the next version stands behind it.
    shutil.copytree(other, shop.stream / "000003")
    assert shop.day(days(8)[0]).name == "000004"


def test_a_stream_is_closed_whose_first_week_was_never_measured(tmp_path: Path) -> None:
    shop = new_stream(tmp_path, stream__horizon=days(5, 8))
    before = shop.day(*days(7, 8))
    outcome = shop.close()
    assert outcome.code == 0, outcome.err
    assert content(outcome.release / "published") == content(before / "published")


def test_what_is_lost_or_changed_of_a_version_is_made_anew(tmp_path: Path) -> None:
    shop = new_stream(tmp_path, stream__horizon=days(5, 14))
    version = shop.day(*days(5, 6))  # the first week
    whole = content(version / "published")

    def damage(name: str) -> None:
        place = version / name
        place.write_bytes(place.read_bytes()[::-1])

    for day, name in ((7, "published/top-00000.parquet"), (8, "manifest.json")):
        damage(name)
        version = shop.day(days(day)[0])
        assert content(version / "published").items() >= whole.items()
    shutil.rmtree(version)
    version = shop.day(days(9)[0])
    damage("estimates/top-00001.parquet")  # the page says what was revised
    outcome = shop.close()
    assert outcome.code == 0, outcome.err
    assert content(outcome.release / "published").items() >= whole.items()


def test_a_stream_stays_where_it_began(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    first = shop.day(days(0)[0])
    second = shop.set(publish={"output": {"path": "elsewhere"}}).day(days(1)[0])
    assert second.parent == first.parent
    assert sorted(path.name for path in (second.parent / "measurement").iterdir()) == days(0, 1)


def test_a_measured_day_that_was_changed_or_lost_is_found(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    shop.day(*days(0, 1))
    place = shop.stream / "measurement" / days(0)[0] / "nodes.parquet"
    whole = place.read_bytes()
    place.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    found = dplib("verify", str(shop.stream))
    failed = next(line for line in found.out.splitlines() if line.startswith("FAILED"))
    assert (found.code, failed.split()) == (1, ["FAILED", "measured", "days", days(0)[0]])
    with pytest.raises(IntegrityError, match="a changed one"):
        shop.day(days(2)[0])
    place.unlink()
    with pytest.raises(IntegrityError):
        shop.day(days(2)[0])
    assert [day.date for day in shop.ledger.runs("counts")[0].days] == days(0, 1)


@pytest.mark.parametrize("rho", ["37/100", "0.123456789"])
def test_the_cost_of_chosen_levels_hangs_on_no_query(tmp_path: Path, rho: str) -> None:
    costs = []
    for number, queries in enumerate((["day"], ["year to date", {"range": "last 7 days", "weight": 3}])):
        shop = new_stream(tmp_path / str(number), queries=queries, privacy__budget={"rho": rho}, stream__levels="auto")
        shop.drawn(days(0)[0])
        costs.append(shop.spent())
        assert not shop.ledger.audit(pricing=price)
    assert costs[0] == costs[1]


def test_commands_show_a_stream(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    for date in days(0, 1, 3):
        shop.day(date)
    shown = dplib("stream", "show", "--config", str(shop.config))
    assert shown.code == 0, shown.err
    assert "3 of 21 days" in shown.out
    assert f"missing    {days(2)[0]}" in shown.out
    asked = dplib("query", str(shop.stream), "--item", "tea", "--from", days(0)[0], "--to", days(1)[0])
    assert asked.code == 0, asked.err
    missing = dplib("query", str(shop.stream), "--from", days(0)[0], "--to", days(3)[0])
    assert missing.err == (
        f"dplib: --from and --to must be days that the stream has measured, got {days(2)[0]}, which it has not\n"
    )
    sound = dplib("verify", str(shop.stream), "--ledger", f"sqlite:///{shop.folder}/ledger.db")
    assert sound.code == 0, sound.out + sound.err
    details = load_manifest(shop.stream / "000003").details[STREAM]
    assert details["missing"] == days(2)  # type: ignore[index,call-overload]
    assert shop.ledger.runs("counts")[0].state is RunState.PUBLISHED
    old = dplib("verify", str(shop.stream / "000001"), "--ledger", f"sqlite:///{shop.folder}/ledger.db")
    assert old.code == 0, old.out + old.err


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"domain__first_day": "2026-01-01"}, "domain.first_day must be absent"),
        ({"tree": {"levels": ["day"]}}, "tree must be absent"),
        ({"measure": "auto"}, "measure must be absent"),
        ({"publish__output": {"tables": {"published": "t"}}}, "publish.output.tables must be absent"),
        ({"publish": {"solver": {"layout": "blocks"}}}, "publish.solver.layout must be auto or driver"),
        ({"publish__divided_from": "tops"}, "publish.divided_from must be range unless"),
        (
            {"publish": {"divided_from": "tops", "solver": {"layout": "driver"}}},
            "publish.divided_from must be absent in a stream",
        ),
        ({"stream__shares": [1, 1], "stream__levels": "auto"}, "stream.shares must be absent"),
        (
            {"stream__levels": ["13 weeks", "2 weeks", "day"]},
            "stream.levels must nest, each number of weeks dividing the next",
        ),
        ({"stream__levels": ["month", "week", "day"]}, "stream.levels must nest, and weeks do not nest in months"),
        ({"stream__levels": ["week"]}, "stream.levels must include day"),
        ({"stream__shares": [1]}, "stream.shares must have one share for each of the 2 measured levels"),
        ({"stream__shares": [1, 0]}, "stream.shares must be numbers of at least 0, the last one above 0"),
        ({"stream__horizon": ["2026-02-15", "2026-01-26"]}, "must not be before"),
        ({"input__path": "rows-{date}.csv", "stream__levels": "auto"}, "stream.levels must be a list where input.path"),
        ({"input__path": "rows-{date}", "input__format": "delta", "input__options": {}}, "name the rows of all days"),
        ({"privacy__quality_share": "1/10"}, "privacy.quality_share must be absent"),
        ({"queries": ["last 1 days"]}, "queries"),
    ],
)
def test_wrong_settings_get_one_sentence(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    shop = new_stream(tmp_path)
    shop.set(**changes)
    outcome = shop.run("--date", "2026-01-26")
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    assert shop.spent() == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "--date must name the day of the stream to measure"),
        (("--date", "2026-03-01"), "--date must be a day from 2026-01-26 to 2026-02-15"),
        (("--date", "2026-01-26", "--again"), "--again must not be given for a stream"),
    ],
)
def test_wrong_days_get_one_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    shop = new_stream(tmp_path)
    outcome = shop.run(*words)
    assert (outcome.code, sentence in outcome.err) == (2, True), outcome.err
    assert shop.spent() == 0


def test_questions_about_recent_days_are_of_streams(tmp_path: Path) -> None:
    shop = new_stream(tmp_path)
    settings = {name: value for name, value in shop.settings.items() if name != "stream"}
    settings["domain"] |= {"first_day": "2026-01-26", "last_day": "2026-02-15"}
    shop.settings = settings | {"queries": ["last 7 days"]}
    outcome = shop.set().run()
    assert (outcome.code, "queries must be of whole periods" in outcome.err) == (2, True), outcome.err
