"""Errors of settings keep their parts, and say the one sentence wherever they went."""

import copy

import pytest
from pydantic import BaseModel

from dplib.config.load import check
from dplib.errors import ConfigError, SolverError
from dplib.validate import at_least


def test_the_sentence_is_made_of_the_parts() -> None:
    error = ConfigError("a of b", "be one, or two", "three, got four")
    assert str(error) == "a of b must be one, or two, got three, got four"
    assert str(error.of("c.d")) == "c.d must be one, or two, got three, got four"


def test_an_error_of_a_solver_may_have_nothing_to_show() -> None:
    assert str(SolverError("solver", "be another than lblue")) == "solver must be another than lblue"
    assert str(SolverError("solver.split", "be trees_days", "days")) == "solver.split must be trees_days, got days"


@pytest.mark.parametrize("error", [ConfigError("k", "be at least 1", 0), SolverError("solver", "end", "status 4")])
def test_errors_travel_between_processes(error: ConfigError | SolverError) -> None:
    found = copy.deepcopy(error)  # by `__reduce__`, as pickle does
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert (found.name, found.rule, found.got) == (error.name, error.rule, error.got)


def test_checks_and_configurations_raise_the_parts() -> None:
    class Model(BaseModel):
        k: int

    with pytest.raises(ConfigError) as raised:
        at_least("n_vertices", 1, 2)
    assert (raised.value.name, raised.value.rule, raised.value.got) == ("n_vertices", "be at least 2", "1")
    with pytest.raises(ConfigError) as raised:
        check(Model, {"k": "x"})
    assert (raised.value.name, raised.value.rule, raised.value.got) == ("k", "be a whole number", "x")
