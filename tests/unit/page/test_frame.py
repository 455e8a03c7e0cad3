"""What all pages share is said once."""

from dplib.page.blocks import Bullets
from dplib.page.frame import notes_from_plan


def test_a_note_that_the_page_has_elsewhere_is_not_repeated() -> None:
    _, shown = notes_from_plan(("public", "fragile", "own"), {"public", "fragile"})
    assert shown == Bullets(("own",))
    assert notes_from_plan(("public",), ("public",)) == ()
    assert notes_from_plan(()) == ()
