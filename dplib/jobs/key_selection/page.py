"""The report page of a selection."""

from dplib.jobs.key_selection.design import Design
from dplib.jobs.key_selection.plan import sizes_of
from dplib.jobs.key_selection.tables import Selected
from dplib.page.blocks import Column, DataTable, Paragraphs, Section, heads, set_back
from dplib.page.frame import SWALLOWED, PageFrame, tables_of_release
from dplib.page.guarantee import NoiseRow, NoiseTable
from dplib.page.number_text import count_text, counted, number_text, with_margin
from dplib.privacy.noise_quantile import DrawLaw, half_width, one_draw

MAX_SHOWN = 5_000
"""Keys on the page; the tables hold all."""
REFERENCES = (
    "Desfontaines, Voss, Gipson, Mandayam, Differentially private partition selection, PoPETs 2022.",
    "Swanberg, Desfontaines, Haney, DP-SIPS, PoPETs 2023 (rounds).",
)


def build_page(design: Design, found: Selected, frame: PageFrame) -> str:
    """The page as HTML text."""
    unit, number = frame.guarantee.unit, counted(len(found.keys), "key")
    weights = "" if design.noisy is None else " with noisy weights"
    released = frame.released(
        f"{number}{weights} that enough units share",
        "Keys that few share are missing, and some that many share: that a key is missing says little about it.",
        ("Keys", count_text(len(found.keys))),
        tables_of_release("Not made by this job.", f"The keys{weights}.", "The keys and their rounds as drawn."),
    )
    shown = frame.use(f"keys, {number}", ("--item NAME", "Whether a key was released"), REFERENCES)
    middle = (Section("The keys", (*_chosen(design), _keys(design, found))), _sizes(design, unit))
    return frame.page("Keys", "Keys", released, _noise(design, len(found.keys)), middle, shown)


def _chosen(design: Design) -> tuple[Paragraphs, ...]:
    """What being released says of a weight; nothing where there is none."""
    if design.noisy is None:
        return ()
    text = (
        f"A key is released where its noisy weight reaches {number_text(design.noisy.threshold / design.scale)}. Where "
        "the true weight is below that, the one shown is always too high, and its 95 % interval, which is of the noise "
        "before this choice, holds the true weight in fewer cases."
    )
    return (Paragraphs((text,)),)


def _keys(design: Design, found: Selected) -> DataTable:
    order = sorted(range(len(found.keys)), key=lambda at: (-found.noisy[at], found.keys[at]))[:MAX_SHOWN]
    more = (
        f", the first {count_text(MAX_SHOWN)} of {count_text(len(found.keys))}" if len(found.keys) > MAX_SHOWN else ""
    )
    if design.noisy is None:
        rows = tuple((found.names[at], str(found.rounds[at])) for at in order)
        return DataTable(f"Released keys{more}", (Column("Key"), Column("Round", numeric=True)), rows, tall=True)
    half = half_width(one_draw(DrawLaw.of(design.noisy.noise))) / design.scale
    weights = [found.noisy[at] / design.scale for at in order]
    weighed = tuple(
        set_back((found.names[at], " ± ".join(with_margin(weight, half))), abs(weight) <= half)
        for at, weight in zip(order, weights, strict=True)
    )
    return DataTable(
        f"Released keys{more}; ± is the 95 % interval; {SWALLOWED}",
        heads("Key", numbers=["Noisy weight"]),
        weighed,
        tall=True,
    )


def _sizes(design: Design, unit: str) -> Section:
    rows = tuple((f"{s.keys_per_unit}", count_text(s.half), count_text(s.sure)) for s in sizes_of(design))
    text = f"A key is released by chance; the more keys a {unit} has, the less it adds to each."
    columns = heads(f"Keys of each {unit}", numbers=["Released in 1 of 2 cases", "In 99 of 100"])
    return Section("How many must share a key", (Paragraphs((text,)), DataTable("Units that share it", columns, rows)))


def _noise(design: Design, n_keys: int) -> NoiseTable:
    rule = design.noisy
    if rule is None:
        return NoiseTable("No number is released, only keys; each decision is a draw of its own", "Keys", "Number", ())
    noise, variance = rule.noise, rule.noise.variance
    row = NoiseRow("weights", n_keys, noise.law, noise.parameter, variance, noise.sensitivity, 1)  # type: ignore[arg-type]
    return NoiseTable(f"The noise of weights, in units of 1/{design.scale}", "Weights", "Keys", (row,))
