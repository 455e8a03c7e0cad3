"""The guide: pages of Markdown about running, trusting and extending the jobs, which travel with the package.

A page is ``<name>.md`` beside this file; its first line is its title. `dplib guide` prints them.
"""

from pathlib import Path

from dplib.validate import one_of

_FOLDER = Path(__file__).parent


def titles() -> dict[str, str]:
    """The title of each page by name, in the order of their names."""
    return {page.stem: _title(page) for page in sorted(_FOLDER.glob("*.md"))}


def read_page(name: str) -> str:
    """The Markdown text of a page.

    Raises:
        ConfigError: if there is no such page.
    """
    one_of("PAGE", name, list(titles()))
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()
