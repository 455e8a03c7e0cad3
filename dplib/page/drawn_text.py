"""Texts that stand in drawings."""

import re

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean_text(text: str) -> str:
    """Replace the characters that XML cannot hold by the replacement character."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def short_text(text: str, letters: int) -> str:
    """A text of at most this many letters; a longer one is cut, and marked so."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
