"""The guide's page on peers, written from what was measured, and its picture."""

import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from dplib import guide
from scripts.marked import with_marked
from scripts.peers.environments import NOT_INSTALLED, PACKAGES
from scripts.peers.record import Measurement, of_task, stored, typical

PAGE = Path(guide.__file__).with_name("peers.md")
PICTURE = PAGE.with_name("peers.svg")
Row = tuple[str, str, str, str, str]
COUNTED = {"event": "a row the unit", "customer": "customers, at most 10 rows each"}
COLUMNS = {
    "counts": ("counts", "library", "cold, s", "second, s", "to plain Spark, cold"),
    "graphs": ("graph", "library", "first, CPU s", "second, CPU s", "answer"),
    "clusters": ("points", "library", "CPU s", "loss, to scikit-learn", ""),
    "projections": ("problem", "library", "first, CPU s", "second, CPU s", "distance beyond the least"),
}

COMPARED = (
    ("counts", "first", ", cold"),
    ("counts", "second", ", second time"),
    ("graphs", "first", ", first time"),
    ("graphs", "second", ", second time"),
    ("projections", "first", ", first time"),
    ("projections", "second", ", second time"),
    ("clusters", "seconds", ""),
)
"""Parts, the numbers of theirs that are compared, and words for these."""


def write_page() -> None:
    """Write the tables and the picture anew."""
    known = stored()
    text = PAGE.read_text(encoding="utf-8")
    for part in COLUMNS:
        made = table(COLUMNS[part], rows(known, part))
        text = with_marked(text, part, f"{made}\n\n{circumstances(known)}" if part == "counts" else made)
    text = with_marked(text, "better", better(known))
    text = with_marked(text, "versions", versions())
    PAGE.write_text(text, encoding="utf-8")
    draw(known, PICTURE)


def tasks(known: Sequence[Measurement], part: str) -> list[str]:
    """The tasks of a part, in the order in which they were measured."""
    return list(dict.fromkeys(each.task for each in known if each.part == part))


def rows(known: list[Measurement], part: str) -> Iterator[Row]:
    """The lines of a part's table."""
    for task in tasks(known, part):
        for library, found in of_task(known, part, task):
            failed = next((each.failed for each in found if each.failed), "")
            if failed:
                yield COUNTED.get(task, task), library, "-", "-", failed
            else:
                yield (COUNTED.get(task, task), library, *cells(known, part, task, found))


def cells(known: list[Measurement], part: str, task: str, found: list[Measurement]) -> tuple[str, str, str]:
    """The numbers of a library at a task."""
    if part == "clusters":
        ratio = _number(found, "loss") / _number(_library(known, part, task, "scikit-learn"), "loss")
        return shown(_number(found, "seconds")), f"{ratio:.2f}", ""
    first, second = shown(_number(found, "first")), shown(_number(found, "second"))
    if part == "counts":
        plain = _number(_library(known, part, "event", "plain Spark"), "first")
        return first, second, f"{_number(found, 'first') / plain:.2f}"
    if part == "graphs":
        return first, second, f"{_number(found, 'value'):.0f}"
    least = min(_number(each, "distance") for _, each in of_task(known, part, task) if typical(each, "distance"))
    return first, second, f"{_number(found, 'distance') / least - 1:.0e}"


def circumstances(known: Sequence[Measurement]) -> str:
    """How often, and beside what, the counts were measured."""
    turns = 1 + max(each.round for each in known if each.part == "counts")
    loads = [each.numbers["load"] for each in known if "load" in each.numbers]
    taken = f"Medians of {turns} rounds" if turns > 1 else "One round"
    busy = f"from {min(loads):.1f} to {max(loads):.1f}" if loads else "not written down, but it had much other work"
    return (
        f"{taken} in which plain Spark, dplib and Tumult Analytics take turns; the others ran once. Load of the "
        f"machine at the processes' ends: {busy}."
    )


def better(known: list[Measurement]) -> str:
    """Where a peer needs less time than dplib, a line each."""
    lines = []
    for part, name, when in COMPARED:
        for task in tasks(known, part):
            own = typical(_library(known, part, task, "dplib"), name)
            for library, found in of_task(known, part, task):
                other = typical(found, name)
                if own and other and other < 0.95 * own:
                    lines.append(
                        f"- {part}, {COUNTED.get(task, task)}{when}: {library} takes {shown(other)} s, "
                        f"dplib {shown(own)} s."
                    )
    return "\n".join(lines) or "Nowhere in this run."


def versions() -> str:
    """What was installed, and what was not."""
    lines = [f"- `{name}`: {', '.join(packages)}" for name, packages in PACKAGES.items()]
    lines += [f"- {name}: not installed, {reason}" for name, reason in NOT_INSTALLED.items()]
    return "\n".join([*lines, f"- Python {platform.python_version()} on {platform.system()}, two cores"])


def draw(known: list[Measurement], path: Path) -> None:
    """Seconds of each library on the counts: cold, and a second time in the session."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    for axes, (task, title) in zip(panels, COUNTED.items(), strict=True):
        found = dict(of_task(known, "counts", task))
        found |= {"plain Spark": _library(known, "counts", "event", "plain Spark")}
        libraries = [name for name, each in found.items() if typical(each, "first") is not None]
        libraries.sort(key=lambda name: -_number(found[name], "first"))
        for shift, name, label in ((0.2, "first", "cold"), (-0.2, "second", "second in the session")):
            seconds = [_number(found[library], name) for library in libraries]
            bars = axes.barh([at + shift for at in range(len(libraries))], seconds, 0.38, label=label)
            axes.bar_label(bars, [shown(each) for each in seconds], padding=3, fontsize=8)
        axes.set_yticks(range(len(libraries)), libraries)
        axes.set(title=title, xlabel="seconds, a million rows")
        axes.margins(x=0.15)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    # The same numbers give the same file.
    with rc_context({"svg.hashsalt": "peers"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def table(columns: Sequence[str], lines: Iterator[Row]) -> str:
    """A table in Markdown."""
    all_lines = [tuple(columns), ("---", "---", "---:", "---:", "---"), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in all_lines)


def shown(number: float) -> str:
    """Two digits that count."""
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}" if number >= 0.001 else f"{number:.0e}"


def _library(known: list[Measurement], part: str, task: str, library: str) -> list[Measurement]:
    return dict(of_task(known, part, task)).get(library, [])


def _number(found: list[Measurement], name: str) -> float:
    number = typical(found, name)
    if number is None:
        raise ValueError(f"{found[0].library if found else name} must be measured first (python -m scripts.peers)")
    return number
