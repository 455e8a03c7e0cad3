"""What was measured: a list of measurements in ``build/bench/peers.json``, stored after each, so a run can go on."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from statistics import median

from scripts.accept.runs import ROOT

RECORD = ROOT / "build" / "bench" / "peers.json"


@dataclass(frozen=True)
class Measurement:
    """One process.

    Attributes:
        part: of the comparison: counts, graphs, clusters or projections.
        task: what was asked, the same for all libraries.
        library: who did it.
        round: of paired rounds, from 0.
        numbers: what it printed: seconds and what tells whether the answers agree.
        failed: why there are none; empty where there are.
    """

    part: str
    task: str
    library: str
    round: int
    numbers: dict[str, float] = field(default_factory=dict)
    failed: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What is measured once."""
        return self.part, self.task, self.library, self.round


def stored() -> list[Measurement]:
    """All measurements of the file."""
    if not RECORD.is_file():
        return []
    return [Measurement(**each) for each in json.loads(RECORD.read_text(encoding="utf-8"))]


def store(found: Measurement) -> None:
    """Write one more; a run that is stopped leaves a whole file."""
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    part = RECORD.with_suffix(".part")
    known = [asdict(each) for each in stored() if each.key != found.key]
    part.write_text(json.dumps([*known, asdict(found)], indent=1) + "\n", encoding="utf-8")
    part.replace(RECORD)


def of_task(known: list[Measurement], part: str, task: str) -> Iterator[tuple[str, list[Measurement]]]:
    """The measurements of a task, library by library."""
    chosen = [each for each in known if (each.part, each.task) == (part, task)]
    for library in dict.fromkeys(each.library for each in chosen):
        yield library, [each for each in chosen if each.library == library]


def typical(found: list[Measurement], name: str) -> float | None:
    """The median over rounds of a number; None where no round has it."""
    numbers = [each.numbers[name] for each in found if name in each.numbers]
    return median(numbers) if numbers else None


def paired_ratio(known: list[Measurement], task: str, name: str, one: str, other: str) -> float | None:
    """The median over rounds of one library's time by another's in the same round, of counts."""
    found = {
        (each.library, each.round): each.numbers[name]
        for each in known
        if (each.part, each.task) == ("counts", task) and name in each.numbers
    }
    ratios = [
        seconds / found[other, turn] for (library, turn), seconds in found.items()
        if library == one and (other, turn) in found
    ]  # fmt: skip
    return median(ratios) if ratios else None
