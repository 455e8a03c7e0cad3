"""What the thesis says of figures 3.10 to 3.19, held against their numbers."""

from collections.abc import Sequence

import numpy as np

from dplib.trees.budgets import unit_variance
from dplib.trees.coverage import raw_mean_error

Table = dict[str, list[float]]
"""Columns by name, the horizontal axis first."""


def claims(tables: dict[str, Table]) -> list[str]:
    """What the thesis says of its figures, and whether it holds of these."""
    example, trees, sums = (tables[f"figure_3_{number}"] for number in (13, 14, 15))
    coverage = np.array(example["coverage"])
    equal, uneven = (
        raw_mean_error(coverage, unit_variance(example[name], "laplace"))
        for name in ("equal share", "share by coverage")
    )
    text = [
        f"Figure 3.13. The thesis: shares by coverage lower the error of three bins from 10.67 to 8.25. Found: "
        f"{equal:.4g} to {uneven:.4g}. **Holds**; the exact shares are {example['share by coverage'][0]:.4f} and "
        f"{example['share by coverage'][1]:.4f}, not 0.33 and 0.67.",
        f"Figure 3.14. The thesis: 23.4 for the binary tree, 17.1 for the mixed one. Found: "
        f"{trees['equal shares'][0]:.4g} for the binary tree at equal shares and {trees['shares by coverage'][0]:.4g} "
        f"at the best ones; {trees['shares by coverage'][1]:.4g} for the mixed one at its best shares. **Holds in its "
        "order**, the second number is smaller yet.",
        f"Figure 3.15. Noisy bins sum to {sum(sums['noisy'][1:]):.2f} under a root of {sums['noisy'][0]:.2f}; least "
        f"squares make both {sums['least squares'][0]:.2f}. **Holds.**",
    ]
    found = _best("SC", tables["figure_3_10"], ["regular 2-range tree"])
    text.append(f"Figure 3.10. The thesis: SC's error over all ranges is far below the binary tree's. {found}")
    for number, size in ((11, "AOL"), (12, "Amazon")):
        table = tables[f"figure_3_{number}"]
        found = _best("SC", table, ["regular 2-range tree"])
        short = [at for at, dwork, sc in zip(table["length"], table["Dwork"], table["SC"], strict=True) if dwork < sc]
        text.append(
            f"Figure 3.{number} ({size}'s size). The thesis: SC lies below the binary tree at every length, Dwork "
            f"below SC where ranges are short. {found} Dwork is below SC up to length {max(short, default=0):g}."
        )
    for number in (16, 17):
        table = tables[f"figure_3_{number}"]
        rivals = ["Boost-UN", "Boost", "Privelet"]
        found = _best("LUE-DPTree", table, rivals)
        text.append(f"Figure 3.{number}. The thesis: LUE-DPTree is the best of four. {found} {_ours(table)}")
    for number in (18, 19):
        table = tables[f"figure_3_{number}"]
        found = _best("LUE-DPTree", table, ["Boost-UN", "Boost", "Privelet"])
        text.append(f"Figure 3.{number}. The thesis: LUE-DPTree is best at every length. {found} {_ours(table)}")
    return text


def _best(name: str, table: Table, rivals: Sequence[str]) -> str:
    """Where a method has the least error, and where it has not."""
    horizontal = next(iter(table))
    lost = []
    for place, at in enumerate(table[horizontal]):
        rival = min(rivals, key=lambda each: table[each][place])
        if table[rival][place] < table[name][place] * (1 - 1e-9):
            lost.append((at, rival, table[name][place] / table[rival][place]))
    n_points = len(table[horizontal])
    if not lost:
        return f"Found: {name} has the least error at all {n_points} points. **Holds.**"
    at, rival, times = max(lost, key=lambda each: each[2])
    shown = ", ".join(f"{each:g}" for each, _, _ in lost)
    return (
        f"Found: {name} is beaten at {len(lost)} of {n_points} points ({horizontal} {shown}), by up to {times:.2f} "
        f"times ({rival} at {at:g}). **Does not hold everywhere.**"
    )


def _ours(table: Table) -> str:
    ratio = [lue / ours for lue, ours in zip(table["LUE-DPTree"], table["blue (default)"], strict=True)]
    shown = [f"{each:.2f}" for each in (min(ratio), max(ratio))]
    return f"The project's own tree (`blue`) has {' to '.join(dict.fromkeys(shown))} times less error than LUE-DPTree."
