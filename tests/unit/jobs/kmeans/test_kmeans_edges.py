"""Settings at the edges of numbers: refused with one sentence, or good for a whole release; nothing in between."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplib.clustering.source import Blocks
from dplib.errors import ConfigError
from dplib.jobs.kmeans.check import check_tables
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.measure import measure_points, measure_users
from dplib.jobs.kmeans.plan import make_plan
from dplib.jobs.kmeans.publish import write_tables
from tests.support.kmeans import CENTRAL, LOCAL, design_of, keys_of, local_settings_of, rows_in, settings_of

WIDE: list[tuple[str, dict[str, Any]]] = [
    ("clustering.bounds", {"bounds": [[-1e300, 1e300]] * 2}),
    ("clustering.bounds", {"bounds": [[-1, 1], ["-1e400", "1e400"]]}),
    ("clustering.bounds", {"bounds": [[0, 1e-300]] * 2}),
    ("clustering.bounds", {"bounds": [[0, 5e-324]] * 2}),
    ("clustering.bounds", {"bounds": [[1, 1 + 2.0**-52]] * 2}),
    ("clustering.bounds", {"bounds": [[10**15, 10**15 + 1]] * 2}),
    ("clustering.bounds", {"bounds": [[0, 1], [0, 1e6]]}),
    ("clustering.radius", {"bounds": None, "radius": 1e300}),
    ("clustering.radius", {"bounds": None, "radius": "1e-300"}),
    ("clustering.radius", {"bounds": None, "radius": "1e999"}),
    ("clustering.center", {"bounds": None, "radius": 1, "center": [1e300, 0]}),
    ("clustering.center", {"bounds": None, "radius": 1, "center": ["1e12", 0]}),
    ("clustering.center", {"bounds": None, "radius": "private", "center": ["1e12", 0]}),
    ("clustering.radius_share", {"bounds": None, "radius": "private", "radius_share": "1e-300"}),
    ("clustering.radius_share", {"bounds": None, "radius": "private", "radius_share": "0." + "9" * 60}),
    ("clustering.missing", {"missing": ["1e400", 0]}),
    ("clustering.local.expected_users", {"local": {"expected_users": 10**400}}),
]


@pytest.mark.parametrize(("name", "change"), WIDE)
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.1"}], ids=["epsilon", "rho"])
def test_numbers_whose_squares_are_none_are_refused_by_name(
    name: str, change: dict[str, Any], budget: dict[str, Any]
) -> None:
    method = "lloyd" if "rho" in budget else "auto"
    with pytest.raises(ConfigError, match=rf"^{name} must .*, got "):
        design_of(settings_of(method, budget, d=2) | {"clustering": settings_of(method, budget)["clustering"] | change})


ABSURD = st.sampled_from([0, 1e-300, 1e-100, 1e-99, 1e99, 1e100, 1e101, 1e155, 1e300, 5e-324])
NUMBERS = st.one_of(st.floats(-1e3, 1e3), st.floats(1, 9), st.floats(-9, -1), ABSURD)
BUDGETS = st.one_of(
    st.sampled_from([f"1e{power}" for power in range(-12, 2)]).map(lambda epsilon: {"epsilon": epsilon}),
    st.sampled_from([f"1e{power}" for power in range(-25, 3)]).map(lambda rho: {"rho": rho}),
    st.sampled_from([f"1e{power}" for power in range(-12, 2)]).map(lambda e: {"epsilon": e, "delta": "1e-6"}),
)


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """Settings of all kinds, many of them absurd."""
    d, k = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 3, 40]))
    local = draw(st.booleans()) and draw(st.booleans())
    if local:
        users = draw(st.sampled_from([1, 1000, 10**6, 10**12]))
        epsilon = draw(st.sampled_from([f"1e{power}" for power in range(-12, 3)] + ["31", "5"]))
        found = local_settings_of(draw(st.sampled_from(LOCAL)), epsilon, users, k=k, d=d)
    else:
        method = draw(st.sampled_from([name for name, _ in CENTRAL if name != "privgene"]))
        found = settings_of(method, draw(BUDGETS), k=k, d=d)
        found["privacy"] |= {"neighbors": draw(st.sampled_from(["add_remove", "replace_one"]))}
    clustering = found["clustering"]
    if draw(st.booleans()):
        clustering["bounds"] = [sorted([draw(NUMBERS), draw(NUMBERS)]) for _ in range(d)]
        clustering["scale"] = draw(st.sampled_from(["none", "bounds"]))
    else:
        clustering.pop("bounds")
        clustering |= {"radius": draw(st.one_of(NUMBERS.map(abs), st.just("private")))}
        clustering |= {"center": [draw(NUMBERS) for _ in range(d)]} if draw(st.booleans()) else {}
        clustering |= {
            "radius_share": draw(st.sampled_from(["1e-300", "1e-9", "0.05", "0.5", "0.99", "0." + "9" * 40]))
        }
    if draw(st.integers(0, 3)) == 0:
        clustering["missing"] = [draw(NUMBERS) for _ in range(d)]
    return found


@given(given_settings=configurations(), rows=st.integers(0, 2))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_settings_pass_can_be_measured_published_and_verified(
    given_settings: dict[str, Any], rows: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        design = design_of(given_settings)
        make_plan(design, "")
    except ConfigError:
        return
    _whole(design, rows, tmp_path_factory.mktemp("edge"))


def _whole(design: Design, n_rows: int, folder: Path) -> None:
    rows = np.full((n_rows, len(design.coordinates)), 1e300)
    if design.local:
        names = np.arange(3 * n_rows).reshape(n_rows, 3)
        users = np.concatenate([names, design.frame.to_units(rows)], axis=1)
        measure_users(design, Blocks(users), keys_of(design), folder)
    else:
        measure_points(design, rows_in(rows), keys_of(design), folder)
    results = write_tables(design, folder)
    assert np.isfinite(results.centers).all()
    assert results.loss is None or np.isfinite(results.loss)
    errors = results.std_errors[~np.isnan(results.std_errors)]
    assert (errors >= 0).all()
    for check in check_tables(folder, _Manifest(design)):  # type: ignore[arg-type]
        assert check.ok, check


class _Manifest:
    """The part of a manifest that a check of the tables reads."""

    def __init__(self, design: Design) -> None:
        self.job = "kmeans"
        self.details = {"design": design.public()}
