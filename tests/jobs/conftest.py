"""Fixtures of the tests of whole jobs."""

from collections.abc import Iterator

import pytest

from dplib.page import drawing
from dplib.page.few_pictures import one_too_many


@pytest.fixture(scope="module", autouse=True)
def without_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pages whose pictures are empty: drawing them takes longer than all else that a small run does.

    Modules marked `pictures`, and tests that take `pictures`, draw them; what they show is tested in `tests.unit.page`.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not request.node.get_closest_marker("pictures"):
            patch.setattr(drawing, "one_too_many", lambda _: True)
        yield


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with all their pictures."""
    monkeypatch.setattr(drawing, "one_too_many", one_too_many)
