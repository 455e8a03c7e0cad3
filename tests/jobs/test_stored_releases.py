"""Releases and ledgers of the version before the rooms were moved: open, verified, asked and published anew."""

from pathlib import Path

import pytest

from tests.support.every_job import JOBS
from tests.support.jobs import refuse_spark
from tests.support.stored_releases import used


@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize("job", JOBS)
def test_a_stored_release_and_its_ledger_are_as_good_as_new_ones(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_spark(monkeypatch)
    seen = used(job, tmp_path / "place")
    assert [name for name, right in seen.items() if not right] == []
