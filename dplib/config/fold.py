"""Names that differ only in capitals, spaces or the way a letter is stored: one function for settings and rows.

    case      canonical caseless matching (Unicode, definition D145): the full case folding of the decomposed text,
              so that STRASSE is straße, and U+00C9 is e with an acute accent of its own
    spaces    a run of white space (Unicode's property, and the byte-order mark) is one space, and none at the ends

Either ends in the composed form NFC. Rows are folded by this very function inside an Arrow function, not by one of
Java's, so names and rows cannot disagree; a text that is no UTF-8 stays as it is. Folding is idempotent.

Reference: The Unicode Standard, section 3.13, default caseless matching; tables of the running Python's `unicodedata`.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Literal

from pydantic import Field, field_validator

from dplib.config.item_table import KEY_SEPARATOR
from dplib.config.sections import Section
from dplib.errors import ConfigError

Fold = Literal["case", "spaces"]
_SPACES = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")


class FoldedNames(Section):
    """How names of rows are compared with declared ones."""

    fold: Annotated[list[Fold] | None, Field(min_length=1, exclude_if=lambda fold: fold is None)] = None
    """What makes no difference between names: case, spaces, or both; capitals and inner spaces count where absent."""

    @field_validator("fold")
    @classmethod
    def _each_once(cls, fold: list[Fold] | None) -> list[Fold] | None:
        if fold is not None and len(set(fold)) < len(fold):
            raise ValueError(f"must name each difference once, got {fold[0]} twice")
        return None if fold is None else sorted(fold)


def fold_text(text: str, fold: Sequence[Fold]) -> str:
    """A name without the differences that do not count; as it is where none is named."""
    if not fold:
        return text
    if "case" in fold:
        text = unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())
    if "spaces" in fold:
        text = _SPACES.sub(" ", text).strip(" ")
    return unicodedata.normalize("NFC", text)


def folding(fold: Sequence[Fold] | None) -> Callable[[str], str]:
    """The function that folds names so."""
    return partial(fold_text, fold=fold or ())


def fold_key(key: str, fold: Sequence[Fold]) -> str:
    """The same of each part of a key of several columns."""
    return KEY_SEPARATOR.join(fold_text(part, fold) for part in key.split(KEY_SEPARATOR))


def folded(keys: Iterable[str], fold: Sequence[Fold] | None, setting: str) -> list[str]:
    """Names or keys, folded.

    Raises:
        ConfigError: if two of them would be one.
    """
    known: dict[str, str] = {}
    for key in keys:
        made = fold_key(key, fold or ())
        same = known.setdefault(made, key)
        if same != key:
            shown = " and ".join(each.replace(KEY_SEPARATOR, " / ") for each in (same, key))
            raise ConfigError(
                setting, f"hold names that differ by more than {' and '.join(fold or ())} (input.fold)", shown
            )
        if not made.strip():
            raise ConfigError(setting, "hold names that are not blank (input.fold)", repr(key))
    return [fold_key(key, fold or ()) for key in keys]
