"""Fixtures of the tests of jobs without Spark."""

import pytest

from dplib.page import drawing


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages whose pictures are empty, for tests that read their words."""
    monkeypatch.setattr(drawing, "one_too_many", lambda _: True)
