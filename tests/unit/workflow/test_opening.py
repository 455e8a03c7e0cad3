"""What a run does while Java starts."""

from threading import Event
from unittest.mock import MagicMock

import pytest

from dplib.workflow import run
from dplib.workflow.dry_publication import unseen

PATIENCE = 20
"""Seconds that are waited only where Java is not started."""


def test_java_does_not_wait_for_the_publication_that_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    started, tried = Event(), list[bool]()
    resources = MagicMock()
    resources.spark.side_effect = started.set
    monkeypatch.setattr(run, "require_publishable", lambda *_: tried.append(started.wait(PATIENCE)))
    monkeypatch.setattr(run, "deploy_mode", lambda _: "local")
    opened = run._opened(resources, MagicMock(), MagicMock(), unseen)
    assert tried == [True]
    assert opened is resources.prepared.job.stages().open_input(resources)
