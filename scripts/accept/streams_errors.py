"""The levels that ``auto`` chooses for a stream, against days only and against every calendar of up to four levels."""

import datetime as dt
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from dplib.arrays import FloatArray
from dplib.consistency.best_shares import Objective
from dplib.consistency.known_errors import KnownErrors
from dplib.consistency.stream_levels import calendar_tree, calendars, growing_objective
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from scripts.accept.claims import Check, Result, at_most
from scripts.accept.streams_flights import FIRST, N_DAYS, QUESTIONS, new_flights, settings

RHO = 0.5


def designed(queries: Sequence[str], levels: object = "auto") -> Design:
    """The design of the flights' stream for some queries."""
    stream = {"horizon": settings()["stream"]["horizon"], "levels": levels}
    with tempfile.TemporaryDirectory() as name:
        return (
            new_flights(Path(name), np.zeros((0, 0), dtype=np.int64), stream=stream, queries=queries).prepared().design
        )


def mean_error(design: Design, question: str) -> float:
    """Mean standard error of an item over all ranges of a question, each as it is known on its last day."""
    days = design.config.domain
    whole = Errors(design).range_std_error(0, days.n_days)
    known = KnownErrors(design.tree, design.level_variance, whole, days.first_day, days.last_day)
    return float(known.of(question)[0][: design.constraints.n_items].mean())


def prefixes() -> Iterator[Result]:
    """The year to date at rho 1/2."""
    chosen, alone = designed(QUESTIONS[:1]), designed(QUESTIONS[:1], ["day"])
    error = mean_error(chosen, "year to date")
    yield at_most(f"mean standard error of prefixes, levels {', '.join(chosen.days.names[1:])}", error, 5.2)
    days_only = mean_error(alone, "year to date")
    expected = float(np.sqrt(np.arange(1, N_DAYS + 1)).mean())  # at rho 1/2 a day has a variance of 1 - 2e-7
    claim = "the same of days only, the mean of the roots of 1 to 365"
    yield Result(claim, f"{expected:.3f}", f"{days_only:.3f}", abs(days_only / expected - 1) < 1e-6)


def four_questions() -> Iterator[Result]:
    """Today, the last 7 and 28 days and the year to date, as geometric mean of the errors of all days."""
    chosen, last = designed(QUESTIONS), FIRST + dt.timedelta(days=N_DAYS - 1)
    asked = [(question, 1.0) for question in QUESTIONS]
    own = float(growing_objective(chosen.tree, FIRST, last, asked)(chosen.level_variance))
    found = {
        levels: best_shares_value(
            growing_objective(calendar_tree(FIRST, last, levels), FIRST, last, asked), len(levels)
        )
        for levels in calendars(FIRST, last, 4)
    }
    best = min(found, key=found.__getitem__)
    claim = f"geometric mean of errors over the best of {len(found)} calendars of up to four levels ({', '.join(best)})"
    yield at_most(claim, float(np.exp((own - found[best]) / 2)), 1.02)


def best_shares_value(objective: Objective, n_levels: int) -> float:
    """Least objective over the shares of the levels below an unmeasured root, by a simplex search of its own."""

    def value(logits: FloatArray) -> float:
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        return float(objective(np.append(np.inf, 1 / (2 * RHO * shares))))

    if n_levels == 1:
        return value(np.zeros(1))
    starts = (np.zeros(n_levels), np.append(np.zeros(n_levels - 1), 1.0))
    options = {"maxiter": 200, "fatol": 1e-5, "xatol": 1e-3}
    found = [minimize(value, start, method="Nelder-Mead", options=options) for start in starts]  # type: ignore[call-overload]
    return min(float(each.fun) for each in found)


CHECKS: tuple[Check, ...] = (prefixes, four_questions)
