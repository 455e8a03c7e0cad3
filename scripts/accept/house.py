"""Acceptance of the house: what earlier versions made stays readable, imports go down, little stands twice."""

import ast
import io
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from statistics import median

import grimp
import networkx as nx

from scripts.accept.claims import Check, Result
from scripts.accept.speed import suite
from tests.support.every_job import JOBS
from tests.support.golden import recorded
from tests.support.stored_releases import used

ROOT = Path(__file__).resolve().parents[2]
PLAN = 84_000
ADDED = {
    13: 14_146 + 1_713,
    15: 7_806 + 2_940,
    16: 1_097 + 259 + 1_719 + 1_026 + 1_196 + 311 + 565 + 681,
    17: 4_199 + 4_455,
    18: 2_311 + 4_921,
}
"""Net lines of Python that other issues of this batch added, by issue: ``git diff --numstat`` over their commits.

13: 91,984 lines in commit 9dc4fc7, 106,130 in 6c77765; then of the commits up to 2f4431d those whose subjects are the
trial of publications on thinned designs (684), drawn configurations (165), damage, long lines and aliases (321), the
ladder of stars (229), errors and their coverage (156), ledgers taken for a backup or forged (73), local rounds (9),
acceptance (76).
15 and 16: of their developers' landings from 0b4171d to fa02b2e, while 5,092 lines were taken out by those of issue 14.
15 to 18: of the commits of theirs from e6a7967 to 6aa0771, beside others of issue 14, which took 2,532 lines out (some
420 of them data of tests, which are YAML now).
16 to 18: of the commits of theirs from 55dcbef to 3fa6049; 16: of all from there to 1aaf8de, and from there
to the last change of this line.
"""
GOLDEN = ("golden", "kmeans_golden", "minimum_cuts_golden", "network_golden", "range_golden")
SAME = 10
"""Equal lines in a row that may not stand in two jobs."""
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
SEAM = """
[[tool.mypy.overrides]]
module = ["dplib.cli.*", "dplib.jobs.table", "dplib.workflow.job"]
disallow_any_expr = true
"""
NOT_OURS = re.compile(
    r"Callable\[\[CommandFunctionType\], CommandFunctionType\]|(dict|Mapping)\[str, Any\]|list\[Any\]"
)
"""Types with Any that Typer's decorators and JSON bring along."""


def golden() -> Iterator[Result]:
    """Noise, estimates and integers under a test key, as they were recorded."""
    for part in GOLDEN:
        module = import_module(f"tests.jobs.test_{part}")
        known = recorded(module.NAME)
        with tempfile.TemporaryDirectory() as folder:
            found = {case: module.release_of(Path(folder, case), case) for case in module.CASES}
        equal = sum(found[case] == known[case] for case in module.CASES)
        claim = f"{module.NAME}: recorded releases whose noise, estimates and integers are equal"
        yield Result(claim, f"{len(found)}", f"{equal}", equal == len(found) == len(known) - 1)


def stored() -> Iterator[Result]:
    """Releases and ledgers of the commit before the rooms were moved (``tests/data/releases``)."""
    for job in JOBS:
        with tempfile.TemporaryDirectory() as folder:
            seen = used(job, Path(folder) / "place")
        wrong = ", ".join(name for name, right in seen.items() if not right)
        words = ", ".join(seen)
        yield Result(f"{job}: a stored release and its ledger", words, f"not: {wrong}" if wrong else "all", not wrong)


def rooms() -> Iterator[Result]:
    """Import contracts, and the rooms and arrows between them."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    kept = re.search(r"Contracts: (\d+) kept, (\d+) broken", done.stdout)
    yield Result("import contracts", "0 broken", kept[0] if kept else done.stdout[-300:], done.returncode == 0)
    graph = grimp.build_graph("dplib", include_external_packages=False)
    arrows = nx.DiGraph()
    for module in sorted(graph.modules):
        for other in graph.find_modules_directly_imported_by(module):
            if room_of(module) != room_of(other):
                arrows.add_edge(room_of(module), room_of(other))
    circles = [" -> ".join(sorted(part)) for part in nx.strongly_connected_components(arrows) if len(part) > 1]
    seen = f"{len(arrows)} rooms, {arrows.number_of_edges()} arrows; circles: {'; '.join(circles) or 'none'}"
    yield Result("rooms of dplib (jobs one by one, single modules left out)", "no circle", seen, not circles)


def room_of(module: str) -> str:
    """``dplib.ROOM`` or ``dplib.jobs.JOB``; what is in no folder is the ground floor, the package the roof."""
    parts = module.split(".")
    if len(parts) == 1:
        return "roof"
    if len(parts) > 2 and (ROOT / "dplib" / "jobs" / parts[2]).is_dir() and parts[1] == "jobs":
        return ".".join(parts[:3])
    return ".".join(parts[:2]) if (ROOT / "dplib" / parts[1]).is_dir() else "dplib"


def no_any_at_the_seam() -> Iterator[Result]:
    """Expressions of the command line whose type is Any, or holds a value of ours that is."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "pyproject.toml"
        config.write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8") + SEAM, encoding="utf-8")
        words = ["-m", "mypy", "--config-file", str(config), "--cache-dir", f"{folder}/cache", "dplib"]
        done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    checked = re.search(r"checked (\d+) source files|in (\d+) source files", done.stdout)
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    found = [line for line in lines if re.search(r"\bAny\b", NOT_OURS.sub("", line.partition("has type")[2]))]
    other = [line for line in lines if "error: Expression" not in line]
    first = "".join(f"; {line.partition(' error: ')[0]}" for line in [*other, *found][:6])
    claim = "mypy strict: expressions of cli, jobs.table, workflow.job with Any, but for JSON and Typer's decorators"
    yield Result(claim, "0", f"{len(found) + len(other)}{first}", checked is not None and not found and not other)


def sources() -> list[Path]:
    """Every Python file of the repository."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in map(ROOT.joinpath, listed.stdout.splitlines()) if path.is_file()]


def sizes() -> Iterator[Result]:
    """Lines of functions, of files, and of all."""
    files = {path: path.read_text(encoding="utf-8") for path in sources()}
    lengths: list[tuple[int, str]] = []
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                name = f"{path.relative_to(ROOT)}:{node.name}"
                lengths.append((node.end_lineno - node.lineno + 1, name))
    over = sorted((each for each in lengths if each[0] > 61), reverse=True)
    longest = f"{max(lengths)[0]} lines at most, {median(n for n, _ in lengths):g} in the median"
    named = "".join(f"; {name} {n}" for n, name in over[:5])
    yield Result(f"{len(lengths):,} functions over 61 lines", "0", f"{len(over)} ({longest}){named}", not over)
    counts = sorted(((text.count("\n"), str(path.relative_to(ROOT))) for path, text in files.items()), reverse=True)
    long = [each for each in counts if each[0] > 350]
    named = "".join(f"; {name} {n}" for n, name in long[:5])
    yield Result(f"{len(counts):,} files over 350 lines", "0", f"{len(long)} ({counts[0][0]} at most){named}", not long)
    total = sum(n for n, _ in counts)
    parts: dict[str, int] = defaultdict(int)
    for n, name in counts:
        parts[name.partition("/")[0]] += n
    words = ", ".join(f"{name} {n:,}" for name, n in sorted(parts.items()))
    added = "".join(f", and {n:,} of issue {issue}" for issue, n in ADDED.items())
    allowed = PLAN + sum(ADDED.values())
    claim = f"lines of Python: {words}; {PLAN:,}{added}"
    yield Result(claim, f"<= {allowed:,}", f"{total:,}", total <= allowed)


def twice() -> Iterator[Result]:
    """Runs of equal lines in two jobs, comments, docstrings and imports left out."""
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for path in sources():
        if path.is_relative_to(ROOT / "dplib" / "jobs") and path.parent != ROOT / "dplib" / "jobs":
            lines = code_lines(path.read_text(encoding="utf-8"))
            for start in range(len(lines) - SAME + 1):
                key = tuple(text for _, text in lines[start : start + SAME])
                places[key].append((str(path.relative_to(ROOT / "dplib" / "jobs")), lines[start][0]))
    shared = sorted({tuple(found) for found in places.values() if len({name.split("/")[0] for name, _ in found}) > 1})
    runs = merged(shared)
    named = "".join("; " + " = ".join(f"{name}:{line}" for name, line in run) for run in runs[:6])
    yield Result(f"runs of {SAME} equal lines or more in two jobs", "0", f"{len(runs)}{named}", not runs)


def merged(shared: list[tuple[tuple[str, int], ...]]) -> list[tuple[tuple[str, int], ...]]:
    """The first windows of runs: those that overlap the window before them in the same files go."""
    kept = shared[:1]
    for before, here in pairwise(shared):
        same = [name for name, _ in before] == [name for name, _ in here]
        if not same or here[0][1] - before[0][1] > SAME:
            kept.append(here)
    return kept


def code_lines(text: str) -> list[tuple[int, str]]:
    """The lines of code of a module with their numbers, without comments, docstrings, imports and indentation."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    words: dict[int, list[str]] = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE and token.string and token.start[0] not in left_out:
            words[token.start[0]].append(token.string)
    return [(number, " ".join(found)) for number, found in sorted(words.items())]


def sixth_job() -> Iterator[Result]:
    """A job that the tests register: a package that counts rows by day."""
    files = [path for path in sources() if path.is_relative_to(ROOT / "tests" / "support" / "rows_by_day")]
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
    claim = f"lines of the sixth job, which the tests plan, run, ask, verify and rehearse ({len(files)} files)"
    yield Result(claim, "1 to 400", f"{lines}", 0 < lines <= 400)


CHECKS: tuple[Check, ...] = (golden, stored, rooms, no_any_at_the_seam, sizes, twice, sixth_job, suite)
