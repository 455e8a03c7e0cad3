"""The key that a reservation names: kept, found again, and the only one that may measure it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dplib.errors import ConfigError, IntegrityError
from dplib.ledger.runs import Run, RunState
from dplib.secret.secret import KeyRing, Secret
from dplib.workflow.run_keys import MeasurementKeys, RunKeys, secret_of
from tests.support.ledgers import KEY, TERMS, key_number, measurement, open_with

COST = Fraction(1, 10)
OLD, NEW = Secret(bytes(range(32))), Secret(bytes(range(32, 64)))


def test_a_reservation_keeps_its_key_and_a_new_one_takes_the_new_key(tmp_path: Path) -> None:
    ledger = open_with(tmp_path)
    run = ledger.reserve(KEY, TERMS, COST, "", key_id=OLD.key_id)
    assert run.key_id == OLD.key_id
    assert ledger.reserve(KEY, TERMS, COST, "", key_id=NEW.key_id) == run
    assert ledger.reserve(KEY, TERMS, COST, "", again=True, key_id=NEW.key_id) == run
    ledger.record_measurement(run, replace(measurement(), key_id=OLD.key_id))
    assert ledger.reserve(KEY, TERMS, COST, "", again=True, key_id=NEW.key_id).key_id == NEW.key_id
    assert ledger.reserve(key_number(1), TERMS, COST, "", key_id=NEW.key_id).key_id == NEW.key_id
    assert ledger.audit() == []


def test_a_measurement_under_another_key_is_refused(tmp_path: Path) -> None:
    ledger = open_with(tmp_path)
    run = ledger.reserve(KEY, TERMS, COST, "", key_id=OLD.key_id)
    with pytest.raises(IntegrityError, match=f"must be measured with the key {OLD.key_id}"):
        ledger.record_measurement(run, replace(measurement(), key_id=NEW.key_id))
    assert ledger.run(run.release_id).state is RunState.RESERVED
    assert ledger.audit() == []


def test_a_reservation_without_a_key_takes_any(tmp_path: Path) -> None:
    """As in ledgers from before keys could change."""
    ledger = open_with(tmp_path)
    run = ledger.reserve(KEY, TERMS, COST, "")
    assert run.key_id is None
    assert ledger.record_measurement(run, measurement()).state is RunState.MEASURED


def test_the_key_of_a_run() -> None:
    ring = KeyRing((NEW, OLD))
    run = Run(2, KEY, COST, RunState.RESERVED)
    assert secret_of(ring, None) is secret_of(ring, run) is NEW
    assert secret_of(ring, replace(run, key_id=OLD.key_id)) is OLD
    with pytest.raises(ConfigError, match=rf"^secret must hold the key {OLD.key_id}, .* got {NEW.key_id}: put it back"):
        secret_of(KeyRing((NEW,)), replace(run, key_id=OLD.key_id))


def test_keys_of_a_run_do_not_show_themselves() -> None:
    keys = RunKeys.derive(OLD, Run(2, KEY, COST, RunState.RESERVED))
    recorded = keys.recorded(bytes(range(64, 96)))
    assert isinstance(recorded, MeasurementKeys)
    shown = f"{keys} {keys!r} {recorded} {recorded!r} {[keys.bounding]}"
    assert OLD.key_id in shown
    for key in (keys.bounding, keys.digest, keys.parent, recorded.measurement_key, recorded.data_digest):
        plain = bytes.fromhex(key.hex())
        assert repr(plain)[2:20] not in shown
        assert plain.hex() not in shown
