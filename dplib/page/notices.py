"""What must not be missed about a release, in the words that its page, the terminal and `dplib query` share.

Everything is said from noisy values and public settings: a total that does not stand out from its noise, and which
counts the intervals are of.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dplib.metrics.faint_totals import FaintTotals
from dplib.page.blocks import Callout
from dplib.page.guarantee import rows_text
from dplib.page.number_text import count_text

FAINT = "faint_totals"
"""Key of the comparison among the ``details`` of a manifest."""
MAX_NAMES = 8
"""Series that a sentence names; the manifest has all."""


def faint_sentence(judged: int, names: Sequence[str]) -> str:
    """The warning; empty where every total stands out."""
    if not names:
        return ""
    named = ", ".join(names[:MAX_NAMES]) + (
        f" and {count_text(len(names) - MAX_NAMES)} more" * (len(names) > MAX_NAMES)
    )
    if len(names) == judged:
        many = "The only total is" if judged == 1 else f"All {count_text(judged)} totals are"
        return (
            f"NOTHING MAY HAVE BEEN COUNTED. {many} no larger than noise alone would be ({named}), as if no row had "
            "passed the input's rules (a wrong date pattern, names or columns?). Let the data's owner run dplib "
            "inspect before these numbers are used; their budget is spent."
        )
    one = len(names) == 1
    return (
        f"{count_text(len(names))} of {count_text(judged)} totals {'is' if one else 'are'} no larger than noise alone "
        f"would be: {named}. Either little was there to be counted, or its rows did not pass the input's rules (a "
        "misspelt name?): dplib inspect tells the data's owner."
    )


def faint_callouts(faint: FaintTotals) -> tuple[Callout, ...]:
    """The warning as a box of the page."""
    sentence = faint_sentence(faint.n_judged, faint.names)
    if not sentence:
        return ()
    title = "Nothing may have been counted" if faint.everything else "Totals that do not stand out from their noise"
    return (Callout(title, sentence, "warning"),)


def faint_warning(details: Mapping[str, Any]) -> str:
    """The warning of a release from its manifest's ``details``; empty where there is none to give."""
    found = details.get(FAINT)
    return faint_sentence(found["judged"], found["names"]) if found else ""


def caps_caveat(public: Mapping[str, Any]) -> str:
    """Which counts the intervals of a release are of, from its public settings; empty where nothing is capped."""
    privacy, graph = public.get("privacy", {}), public.get("graph", {})
    unit, caps = privacy.get("unit", "unit"), []
    if privacy.get("max_rows_per_unit"):
        caps.append(rows_text(privacy["max_rows_per_unit"], unit))
    if privacy.get("max_rows_per_day"):
        caps.append(f"at most {count_text(privacy['max_rows_per_day'])} of them a day")
    if privacy.get("max_quantity", 1) != 1:
        caps.append(f"each row as {count_text(privacy['max_quantity'])} at most")
    bound = graph.get("degree_bound")
    if isinstance(bound, Mapping) and bound.get("bounding") == "projected":
        caps.append(f"at most {count_text(bound['largest'])} edges of one vertex")
    if isinstance(graph.get("weights"), Mapping):
        caps.append(f"each row with a weight of {count_text(graph['weights']['largest'])} at most")
    if not caps:
        return ""
    return (
        f"Estimates and intervals are of what was counted after the public caps ({'; '.join(caps)}), not of the raw "
        "rows: what caps cut off is in no interval. dplib inspect shows the data's owner how much that is."
    )


def release_notices(faint: FaintTotals, public: Mapping[str, Any], quality: Sequence[str] = ()) -> tuple[Callout, ...]:
    """What stands above all sections of a page: faint totals, quality of the input, what intervals are of."""
    caveat = caps_caveat(public)
    found = faint_callouts(faint)
    found += (Callout("How much of the input was counted", " ".join(quality)),) if quality else ()
    return found + ((Callout("What the intervals are of", caveat),) if caveat else ())
