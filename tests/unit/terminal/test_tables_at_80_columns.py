"""Tables on a terminal of 80 columns: of every job's commands, and of any texts and numbers."""

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from dplib.terminal import output, plan
from dplib.terminal.tables import fitted_table
from tests.support.every_job import JOBS, new_place_of
from tests.support.jobs import dplib
from tests.support.stored_releases import STORED

LONGEST = 24
"""Characters of a word that is never folded here: numbers, dates, names of statistics and mechanisms."""
IN_TABLE = re.compile(r"\S {2,}\S")
QUESTIONS: dict[str, list[list[str]]] = {
    "consistent-histograms": [["--by", "week"], ["--by", "day", "--item", "tea"], ["--item", "tea", "--sum"]],
    "range-histograms": [["--quantile", "0.5"], ["--sum"]],
}


def drawn(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str], width: int, title: str = ""
) -> list[str]:
    console = Console(width=width, soft_wrap=True, highlight=False, markup=False, emoji=False)
    with console.capture() as seen:
        console.print(fitted_table(title, columns, rows, right, width))
    return seen.get().splitlines()


def commands_of(job: str, folder: Path) -> list[list[str]]:
    """Commands that need no Spark, of a stored release and of a place without one."""
    shutil.unpack_archive(STORED / f"{job}.zip", folder / "stored")
    (release,) = (folder / "stored" / "releases").iterdir()
    ledger = ["--ledger", f"sqlite:///{folder}/stored/ledger.db"]
    config = ["--config", str(new_place_of(job, folder / "new").config)]
    asked = [["query", str(release), *more] for more in [[], *QUESTIONS.get(job, [])]]
    told = [["ledger", "show", *ledger], ["plan", job, *config], ["verify", str(release)]]
    wanted = [] if job == "key-selection" else [["plan", job, *config, "--error", "5"]]
    return [*asked, *told, *(wanted if job != "consistent-histograms" else [[*wanted[0], "--answer", "day"]])]


@pytest.mark.parametrize("job", JOBS)
def test_tables_of_every_command_fit_80_columns_and_fold_no_word(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide: list[str] = []

    def at_both(
        title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str], width: int
    ) -> Table:
        wide.extend(drawn(columns, rows, right, 300, title))
        return fitted_table(title, columns, rows, right, width)

    monkeypatch.setattr(output, "fitted_table", at_both)
    monkeypatch.setattr(plan, "require_publishable", lambda *_, **__: None)  # what it makes it prints to nobody
    monkeypatch.setattr(output.out, "width", 80)
    for words in commands_of(job, tmp_path):
        wide.clear()
        done = dplib(*words)
        assert done.code == 0, done.err
        too_wide = [line for line in done.out.splitlines() if IN_TABLE.search(line) and len(line.rstrip()) > 80]
        assert too_wide == [], words
        whole, kept = (
            Counter(word for word in text.split() if len(word) <= LONGEST) for text in (" ".join(wide), done.out)
        )
        assert bool(whole) == (words[0] != "ledger"), words  # whose lines are texts, the same at any width
        assert not whole - kept, words


def test_long_names_are_folded_between_words_and_dates_never() -> None:
    name = "Peshwari Naan with a long and telling name of the menu"
    columns = ["item", "from", "to", "estimate", "std error", "95 % interval", "published"]
    row = [name, "2024-01-01", "2024-01-07", "1,117.38", "79.37", "-47.5 to 1,282.2", "1,117"]
    lines = drawn(columns, [row], frozenset(columns[3:]), 80)
    assert max(map(len, lines)) <= 80
    assert all(any(text in line for line in lines) for text in row[1:])
    assert {word for word in name.split() if any(word in line for line in lines)} == set(name.split())


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.text("ab cd_", max_size=30), min_size=7, max_size=7), max_size=4),
    st.integers(0, 10**12),
    st.integers(40, 100),
)
def test_any_table_fits_and_keeps_its_numbers(texts: list[list[str]], number: int, width: int) -> None:
    columns = [*(f"column {place}" for place in range(7)), "number"]
    lines = drawn(columns, [[*row, str(number)] for row in texts], frozenset(["number"]), width)
    assert all(cell_len(line.rstrip()) <= width for line in lines)
    assert sum(str(number) in line for line in lines) >= len(texts)
