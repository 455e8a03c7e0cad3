"""Parts of Markdown pages that scripts write: the text between ``<!-- NAME: ... -->`` and ``<!-- end of NAME -->``."""

import re


def marked(page: str, name: str) -> str:
    """The part of this name, without blank lines around it."""
    return _find(page, name)[2].strip()


def with_marked(page: str, name: str, made: str) -> str:
    """The page with another part of this name."""
    found = _find(page, name)
    return f"{page[: found.start()]}{found[1]}\n\n{made.strip()}\n\n{found[3]}{page[found.end() :]}"


def _find(page: str, name: str) -> re.Match[str]:
    found = re.search(rf"(<!-- {name}: [^>]*-->)\n(.*?)(<!-- end of {name} -->)", page, re.DOTALL)
    if found is None:
        raise ValueError(f"page must mark the part {name}")
    return found
