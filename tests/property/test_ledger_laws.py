"""Laws of the ledger under any sequence of calls, against a model that is a dictionary of states."""

import tempfile
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dplib.errors import BudgetError, ConfigError, DplibError, IntegrityError
from dplib.ledger.ledger import Ledger
from dplib.ledger.runs import Balance, Publication, Run, RunState
from tests.support.ledgers import TERMS, Place, Postgres, exported, key_number, measurement, open_with, url_of

MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp makes a private directory in it
COSTS = st.fractions(min_value=Fraction(1, 60), max_value=Fraction(3, 2), max_denominator=60)


class LedgerMachine(RuleBasedStateMachine):
    """Two ledger objects on one database stand for two jobs; the model knows what each run must be."""

    new_place: Callable[[], Place]

    def __init__(self) -> None:
        super().__init__()
        self.place = self.new_place()
        self.states: dict[int, RunState] = {}
        self.runs: dict[int, Run] = {}
        self.holder: dict[int, int] = {}
        self.book: list[dict[str, Any]] = []

    @initialize(budget=st.fractions(min_value=Fraction(1, 2), max_value=3, max_denominator=60))
    def open(self, budget: Fraction) -> None:
        self.budget = budget
        self.jobs = [open_with(self.place, budget), Ledger.open(url_of(self.place))]

    def sum_of(self, *states: RunState) -> Fraction:
        held = (self.runs[number].cost for number, state in self.states.items() if state in states)
        return sum(held, Fraction(0))

    def left(self) -> Fraction:
        return self.budget - self.sum_of(RunState.RESERVED, RunState.MEASURED, RunState.PUBLISHED)

    def newest(self, key: int) -> int | None:
        same = [n for n, run in self.runs.items() if run.key == key_number(key)]
        return max((n for n in same if self.states[n] is not RunState.VOIDED), default=None)

    @rule(job=st.integers(0, 1), key=st.integers(0, 3), cost=COSTS, again=st.booleans())
    def reserve(self, job: int, key: int, cost: Fraction, again: bool) -> None:
        present = self.newest(key)
        fresh = present is None or (again and self.states[present] is not RunState.RESERVED)

        def call() -> Run:
            return self.jobs[job].reserve(key_number(key), TERMS, cost, "law", again)

        if fresh and cost > self.left():
            with pytest.raises(BudgetError):
                call()
        elif not fresh and present is not None and self.states[present] is RunState.RESERVED:
            if self.holder.get(present, job) != job:
                with pytest.raises(DplibError, match="is being measured"):
                    call()
            else:
                assert call().sequence == present
                self.holder[present] = job
        elif not fresh:
            assert call().sequence == present
        else:
            run = call()
            assert run.sequence not in self.runs
            self.runs[run.sequence], self.states[run.sequence] = run, RunState.RESERVED
            self.holder[run.sequence] = job

    @precondition(lambda self: self.runs)
    @rule(job=st.integers(0, 1), data=st.data())
    def measure(self, job: int, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.runs)))
        mine = measurement(f"{job}-{len(self.book)}")
        if self.states[number] is RunState.VOIDED:
            with pytest.raises(IntegrityError):
                self.jobs[job].record_measurement(self.runs[number], mine)
            return
        recorded = self.jobs[job].record_measurement(self.runs[number], mine)
        if self.states[number] is RunState.RESERVED:
            assert recorded.measurement == mine
            self.states[number] = RunState.MEASURED
            self.runs[number] = recorded
        else:
            assert recorded.measurement == self.runs[number].measurement != mine

    @precondition(lambda self: self.runs)
    @rule(job=st.integers(0, 1), data=st.data(), publish_hash=st.sampled_from(["p" * 64, "q" * 64]))
    def publish(self, job: int, data: st.DataObject, publish_hash: str) -> None:
        number = data.draw(st.sampled_from(sorted(self.runs)))
        publication = Publication("/x", publish_hash, "m" * 64)
        if self.states[number] in (RunState.RESERVED, RunState.VOIDED):
            with pytest.raises(IntegrityError):
                self.jobs[job].record_published(self.runs[number], publication)
            return
        assert self.jobs[job].record_published(self.runs[number], publication).publication == publication
        self.states[number] = RunState.PUBLISHED

    @precondition(lambda self: self.runs)
    @rule(job=st.integers(0, 1), data=st.data())
    def void(self, job: int, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.runs)))
        if self.states[number] is not RunState.RESERVED:
            with pytest.raises(ConfigError):
                self.jobs[job].void(self.runs[number], "law")
            return
        self.jobs[job].void(self.runs[number], "law")
        self.states[number] = RunState.VOIDED

    @precondition(lambda self: RunState.RESERVED in self.states.values())
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([n for n, s in self.states.items() if s is RunState.RESERVED]))
        with self.jobs[self.holder.get(number, 0)].holding(self.runs[number]):
            pass
        self.holder.pop(number, None)

    @invariant()
    def book_only_grows_and_says_what_the_model_says(self) -> None:
        if not hasattr(self, "jobs"):
            return
        book = exported(self.jobs[0])
        assert book[: len(self.book)] == self.book
        self.book = book
        assert {run.sequence: run.state for run in self.jobs[1].runs("takeaway")} == self.states
        balance = self.jobs[0].balance("takeaway")
        spent = self.sum_of(RunState.MEASURED, RunState.PUBLISHED)
        assert balance == Balance(self.budget, spent, self.sum_of(RunState.RESERVED))
        assert balance.spent + balance.reserved + balance.left == balance.total
        assert min(balance.spent, balance.reserved, balance.left) >= 0

    def teardown(self) -> None:
        """The book only grew, so a fault anywhere in its chain is there at the end."""
        assert not self.book or self.jobs[1].audit([(entry["sequence"], entry["digest"]) for entry in self.book]) == []


def check_laws(new_place: Callable[[], Place], max_examples: int, steps: int = 15) -> None:
    machine = type("Machine", (LedgerMachine,), {"new_place": staticmethod(new_place)})
    quick = settings(
        max_examples=max_examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=quick)


@pytest.mark.parametrize(("examples", "steps"), [(8, 15), pytest.param(40, 25, marks=pytest.mark.slow)])
def test_ledger_laws_on_sqlite(examples: int, steps: int) -> None:
    # In memory where the system offers that: thousands of commits need not survive a power cut.
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        numbers = count()
        check_laws(lambda: Place(url_of(Path(folder) / str(next(numbers)))), examples, steps)


@pytest.mark.postgres
def test_ledger_laws_on_postgresql(postgres_server: Postgres) -> None:
    check_laws(postgres_server.new_place, 4)
