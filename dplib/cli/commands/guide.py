"""The command ``dplib guide``: the pages of `dplib.guide`, rendered on a terminal, as they stand elsewhere."""

from typing import Annotated

import typer
from rich.markdown import Markdown

from dplib.guide import read_page, titles
from dplib.terminal.output import exit_codes, out, table


def guide(page: Annotated[str | None, typer.Argument(help="Page; none lists them.", metavar="[PAGE]")] = None) -> None:
    """Read the guide: how to run, trust and extend the jobs."""
    with exit_codes():
        if page is None:
            out.print(table("Pages of the guide", ["dplib guide ...", "about"], [[*row] for row in titles().items()]))
        elif out.is_terminal:
            out.print(Markdown(read_page(page)))
        else:
            print(read_page(page), end="")
