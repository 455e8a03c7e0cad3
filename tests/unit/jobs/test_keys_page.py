"""The page of a selection shows weights with what they mean once a key was chosen by its weight."""

from dplib.config.load import check
from dplib.jobs.key_selection.config import KeySelectionConfig
from dplib.jobs.key_selection.design import Design
from dplib.jobs.key_selection.page import build_page
from dplib.jobs.key_selection.tables import Selected
from dplib.page.number_text import number_text
from tests.support.every_job import WORDS
from tests.support.histograms_page import FRAME


def test_weights_say_that_they_were_chosen() -> None:
    pages = []
    for mechanism in ("gaussian", "auto"):
        design = Design.resolve(check(KeySelectionConfig, WORDS | {"selection": {"mechanism": mechanism}}))
        least = 0 if design.noisy is None else design.noisy.threshold
        pages.append(build_page(design, Selected.of([(b"tea", 1, None if design.noisy is None else 2 * least)]), FRAME))
        if design.noisy is not None:
            assert f"weight reaches {number_text(least / design.scale)}. Where the true weight is below" in pages[0]
    assert "always too high" not in pages[1]
