"""Plots of answers with their 95 % intervals: counts by period, histograms by bin."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

from dplib.validate import require

if TYPE_CHECKING:
    import pandas as pd

    from dplib.reading.release import Release

MAX_LINES = 8
"""Items or groups that one plot shows."""
ENOUGH = 12
"""Periods that are enough to show a course."""
PERIODS = {"year": 366, "quarter": 92, "month": 31, "week": 7, "day": 1}
"""Days that a whole period has at most."""


def plot_release(release: "Release", items: str | Any, ax: Axes | None, asked: dict[str, Any]) -> Axes:
    """Draw a release (`dplib.reading.release.Release.plot`)."""
    jobs = ("consistent-histograms", "range-histograms")
    require(release.job in jobs, "plot", f"be of a release of {' or '.join(jobs)}", release.job)
    axes = ax if ax is not None else pyplot.subplots(figsize=(9, 4.5), layout="constrained")[1]
    if release.job == "range-histograms":
        shown = release.query(items, **({"by": "bin"} | asked))
        _bins(axes, shown, release.settings["histogram"].get("edges") is not None)
    else:
        whole = release.query(items, **{key: each for key, each in asked.items() if key != "by"})
        days = int((whole["last_day"].iloc[0] - whole["first_day"].iloc[0]).days) + 1
        by = asked.get("by") or next((name for name, width in PERIODS.items() if days >= ENOUGH * width), "day")
        largest = whole.nlargest(MAX_LINES, "estimate")["item"].tolist()
        shown = release.query(items, **(asked | {"by": by}))
        _days(axes, shown[shown["item"].isin(largest)], by)
        if len(whole) > len(largest):
            axes.set_title(f"the {len(largest)} largest of {len(whole)}", loc="left", fontsize="small")
        axes.set_ylabel(f"count of a {by}")
    axes.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    budget = release.guarantee.split(":")[0]
    axes.annotate(
        f"{budget} for one {release.privacy_unit}; bars: 95 % of the noise",
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


def _days(axes: Axes, shown: "pd.DataFrame", by: str) -> None:
    """A line an item; a period that the range cuts is hollow, its neighbours are not joined to it."""
    least = {"year": 365, "quarter": 90, "month": 28, "week": 7, "day": 1}[by]
    for name, rows in shown.groupby("item", sort=False, observed=True):
        at, value = rows["first_day"].to_numpy(), rows["estimate"].to_numpy()
        whole = (rows["last_day"] - rows["first_day"]).dt.days.to_numpy() + 1 >= least
        (line,) = axes.plot(at[whole], value[whole], "-o", markersize=3, linewidth=1, label=str(name))
        colour = line.get_color()
        axes.plot(at[~whole], value[~whole], "o", markersize=4, color=colour, markerfacecolor="none")
        low, high = rows["low"].to_numpy(float), rows["high"].to_numpy(float)
        axes.vlines(at, low, high, color=colour, alpha=0.4, linewidth=2)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))


def _bins(axes: Axes, shown: "pd.DataFrame", edges: bool) -> None:
    """Points at the bins of each histogram; the axis is logarithmic far from 0 where counts are skewed."""
    names = list(dict.fromkeys(shown["group"]))[:MAX_LINES]
    labels = list(dict.fromkeys(shown["range"]))
    at = np.arange(len(labels))
    for place, name in enumerate(names):
        rows = shown[shown["group"] == name]
        beside = at + (place - (len(names) - 1) / 2) * 0.8 / max(len(names), 1)
        value, low, high = (rows[column].to_numpy(float) for column in ("estimate", "low", "high"))
        axes.errorbar(beside, value, (value - low, high - value), fmt="o", markersize=3, label=str(name), linewidth=1)
    step = max(len(labels) // 10, 1)
    axes.set_xticks(at[::step], labels[::step], rotation=30 if not edges or len(labels) > 4 else 0, ha="right")
    axes.set_ylabel("count of a bin")
    if len(names) > 1:
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    top, middle = float(shown["estimate"].max()), float(np.median(np.abs(shown["estimate"])))
    if top > 50 * max(middle, 1.0):
        axes.set_yscale("symlog", linthresh=max(middle, 1.0))
