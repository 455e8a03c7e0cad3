"""What may stand on a terminal: texts as they are, without markup, their control characters made visible.

Names of items, columns and accounts come from settings. In square brackets they would be read as markup and
vanish, or raise; an escape byte would move the cursor, hide what was printed or retitle the window.
"""

import re
from typing import Any

from rich.console import Console
from rich.text import Text

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 and C1 but for line feed and tab, other ends of lines, changes of direction, and halves of characters."""


def visible(text: str) -> str:
    r"""The text with each control character as its escape, such as ``\x1b``."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class Terminal(Console):
    """A console that takes texts as they are: markup only where it is asked for.

    Args:
        stderr: write to standard error.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, control characters of texts made visible."""
        super().print(*(visible(each) if isinstance(each, str) else each for each in objects), **options)


def cell(text: str) -> Text:
    """A text as it is, for a table."""
    return Text(visible(text))
