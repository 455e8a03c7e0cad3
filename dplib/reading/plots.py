"""Plots of answers with their 95 % intervals: counts by period, histograms by bin."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from dplib.page.axis_scale import linear_to, powers
from dplib.trees.calendar import cut_ends
from dplib.validate import require

if TYPE_CHECKING:
    import pandas as pd

    from dplib.reading.release import Release

MAX_LINES = 8
"""Items or groups that one plot shows."""
ENOUGH = 12
"""Periods that are enough to show a course."""
FEW = 5
"""Periods below which each has its first day at the axis, which would name hours."""
MANY_BINS = 60
"""Bins from which a histogram is a line."""
PERIODS = {"year": 366, "quarter": 92, "month": 31, "week": 7, "day": 1}
"""Days that a whole period has at most."""


def plot_release(release: "Release", items: str | Any, ax: Axes | None, asked: dict[str, Any]) -> Axes:
    """Draw a release (`dplib.reading.release.Release.plot`)."""
    jobs = ("consistent-histograms", "range-histograms")
    require(release.job in jobs, "plot", f"be of a release of {' or '.join(jobs)}", release.job)
    cut = False
    axes = ax if ax is not None else pyplot.subplots(figsize=(9, 4.5), layout="constrained")[1]
    if release.job == "range-histograms":
        by = asked.get("by") or "bin"
        shown = release.query(items, **(asked | {"by": by}))
        sizes = shown.groupby("group", sort=False, observed=True)["estimate"].sum()
        largest = sizes.nlargest(MAX_LINES).index.tolist()
        edges = release.settings["histogram"].get("edges") is not None
        scale = _bins(axes, shown[shown["group"].isin(largest)], largest, edges)
    else:
        whole = release.query(items, **{key: each for key, each in asked.items() if key != "by"})
        days = int((whole["last_day"].iloc[0] - whole["first_day"].iloc[0]).days) + 1
        by = asked.get("by") or next((name for name, width in PERIODS.items() if days >= ENOUGH * width), "day")
        sizes, scale = whole.set_index("item")["estimate"], ""
        largest = sizes.nlargest(MAX_LINES).index.tolist()
        shown = release.query(items, **(asked | {"by": by}))
        cut = _days(axes, shown, largest, by)
    if len(sizes) > len(largest):
        axes.set_title(f"the {len(largest)} largest of {len(sizes)}", loc="left", fontsize="small")
    axes.set_ylabel(f"count of a {by}{scale}")
    axes.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    budget = release.guarantee.split(":")[0]
    bars = "; bars: 95 % of the noise" if shown["low"].notna().any() else ""
    axes.annotate(
        f"{budget} for one {release.privacy_unit}{bars}{'; hollow: cut by the range' * cut}",
        (1, 1),
        (0, 3),
        "axes fraction",
        "offset points",
        ha="right",
        va="bottom",
        fontsize="x-small",
        color="0.4",
    )
    return axes


def _days(axes: Axes, shown: "pd.DataFrame", names: Sequence[str], by: str) -> bool:
    """A line an item, the largest first; a period that the range cuts is hollow. Returns whether there is one."""
    first, last = shown["first_day"].min(), shown["last_day"].max()
    starts, ends = cut_ends(first.date(), last.date(), by)
    for name in names:
        rows = shown[shown["item"] == name]
        at, value = rows["first_day"].to_numpy(), rows["estimate"].to_numpy()
        cut = (starts & (rows["first_day"] == first) | (ends & (rows["last_day"] == last))).to_numpy()
        (line,) = axes.plot(at[~cut], value[~cut], "-o", markersize=3, linewidth=1, label=str(name))
        colour = line.get_color()
        axes.plot(at[cut], value[cut], "o", markersize=4, color=colour, markerfacecolor="none")
        low, high = rows["low"].to_numpy(float), rows["high"].to_numpy(float)
        axes.vlines(at, low, high, color=colour, alpha=0.4, linewidth=2)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    begins = np.unique(shown["first_day"].to_numpy())
    if len(begins) < FEW:
        axes.set_xticks(begins, np.datetime_as_string(begins, "D").tolist())
        return starts or ends
    locator = AutoDateLocator(minticks=3, maxticks=9)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    return starts or ends


def _bins(axes: Axes, shown: "pd.DataFrame", names: Sequence[str], edges: bool) -> str:
    """Points at the bins of each histogram, or a line with its band where they are many; returns what the axis is."""
    labels = list(dict.fromkeys(shown["range"]))
    at = np.arange(len(labels))
    for place, name in enumerate(names):
        rows = shown[shown["group"] == name]
        value, low, high = (rows[column].to_numpy(float) for column in ("estimate", "low", "high"))
        if len(labels) > MANY_BINS:
            (line,) = axes.plot(at, value, linewidth=1, label=str(name))
            axes.fill_between(at, low, high, color=line.get_color(), alpha=0.25, linewidth=0)
            continue
        beside = at + (place - (len(names) - 1) / 2) * 0.8 / max(len(names), 1)
        axes.errorbar(beside, value, (value - low, high - value), fmt="o", markersize=3, label=str(name), linewidth=1)
    step = -(-len(labels) // 10)
    axes.set_xticks(at[::step], labels[::step], rotation=30 if not edges or len(labels) > 4 else 0, ha="right")
    if len(names) > 1:
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    linear = linear_to(shown["estimate"], (shown["high"].astype(float) - shown["low"].astype(float)) / 2)
    if linear is None:
        return ""
    every = shown[["estimate", "low", "high"]].to_numpy(float)
    ends = 1.5 * min(float(np.nanmin(every)), 0.0), 1.5 * max(float(np.nanmax(every)), 0.0)
    ticks = powers(*ends, linear)
    axes.set_yscale("symlog", linthresh=linear)
    axes.set_yticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axes.set_ylim(*ends)
    return ", logarithmic"
