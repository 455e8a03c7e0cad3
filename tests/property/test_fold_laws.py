"""Folding of names: its laws."""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dplib.config.fold import Fold, fold_key, fold_text, folded
from dplib.errors import ConfigError
from tests.support.folding import FOLDS, ODD

TEXTS = st.text(st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"])))


@given(TEXTS, st.sampled_from(FOLDS))
@example("\u0345\u0323", ["case"])  # a mark that becomes a letter, before one that is sorted before it
def test_folding_again_changes_nothing_and_stored_forms_are_one(text: str, fold: list[Fold]) -> None:
    made = fold_text(text, fold)
    assert fold_text(made, fold) == made
    assert {fold_text(unicodedata.normalize(form, text), fold) for form in ("NFC", "NFD")} == {made}
    assert fold_key(text, fold).count("\x1f") == text.count("\x1f")
    if "case" in fold:
        assert fold_text(unicodedata.normalize("NFD", text).casefold(), fold) == made
    if "spaces" in fold:
        words = f"\xa0{text}\u3000\t" if text else ""
        assert fold_text(words, fold) == made
        assert "  " not in made


def _may_fold(letter: str) -> bool:
    category = unicodedata.category(letter)
    return category not in ("Cn", "Co", "Lo") or (category == "Lo" and unicodedata.decomposition(letter) != "")


def test_every_character_folds_once() -> None:
    """Of codes that are none, and of letters with neither case nor parts (Chinese, Korean), one in a hundred."""
    # From 0x34000 on there are selectors and tags in one place, and else nothing.
    codes = [*range(0xD800), *range(0xE000, 0x34000), *range(0xE0000, 0xE1000), *range(0x34000, sys.maxunicode, 100)]
    letters = [chr(code) for code in codes if code % 100 == 0 or _may_fold(chr(code))]
    made = [fold_text(letter, FOLDS[2]) for letter in letters]
    changed = [each for letter, each in zip(letters, made, strict=True) if each != letter]
    assert [fold_text(each, FOLDS[2]) for each in changed] == changed
    white = {letter for letter, each in zip(letters, made, strict=True) if not each}
    assert white == {letter for letter in letters if letter.isspace()} - set("\x1c\x1d\x1e\x1f") | {"\ufeff"}


def test_names_that_fold_to_one_are_refused_and_others_keep_their_place() -> None:
    assert folded(["Tea", "Öl", "a\x1fB"], ["case"], "domain.items") == ["tea", "öl", "a\x1fb"]
    assert folded(["Tea", "tea"], None, "domain.items") == ["Tea", "tea"]
    with pytest.raises(ConfigError, match=r"domain.items must .* more than case \(input.fold\), got Tea and tea"):
        folded(["Tea", "cola", "tea"], ["case"], "domain.items")
    with pytest.raises(ConfigError, match="names that are not blank"):
        folded(["\xa0"], ["spaces"], "domain.items")
