"""Fixtures of the tests of jobs without Spark."""

import pytest

from dplib.estimates.stream_errors import StreamErrors
from dplib.page import drawing


@pytest.fixture
def without_half_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of streams without their intervals, which take longer than all else of them."""
    monkeypatch.setattr(StreamErrors, "half_width_of", lambda *_: 1.0)


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages whose pictures are empty, for tests that read their words."""
    monkeypatch.setattr(drawing, "one_too_many", lambda _: True)
