"""Releases about minimum cuts that are not private as printed, refused by name with the reason.

The algorithms stand in chapter 5 of the thesis that `dplib.graphs.cactus.cactus_standard_form` follows; each reason
states the counterexample that the tests compute (`tests/support/cut_rejected_releases.py`).
"""

from collections.abc import Mapping
from types import MappingProxyType

from dplib.errors import ConfigError

REJECTED_RELEASES: Mapping[str, str] = MappingProxyType(
    {
        "count_scale_one": (
            "log2(M + 3 n) has sensitivity 1 only between graphs with the same minimum cut value; a unit ring of n - 1"
            " vertices with a pendant edge of weight 1 or 2 moves it by 1.112 at n = 10 and by 14 at n = 100,000."
            " Use minimum_cut_count with its unconditional sensitivity, or soft_cut_count"
        ),
        "top_k_over_found_cuts": (
            "top-k selection is private over a fixed set of candidates; the near-minimum cuts of the private graph are"
            " none: which cuts are candidates changes from one graph to its neighbour, so a single edge makes an"
            " output impossible. Use synthetic_graph, top_cuts over all cuts (at most 24 vertices) or sampled_cuts"
        ),
        "padded_top_k": (
            "top-k selection over the cuts that contractions find on the padded graph (section 5.3) publishes nearly"
            " every candidate, and one edge moves a cut out of them with probability above 0.97 at epsilon 0.5, so"
            " delta is at least 0.97. Use sampled_cuts, which draws from all cuts and charges what it leaves out"
        ),
        "count_as_k": (
            "the number of cuts to publish may not be the exact number of minimum cuts, which changes from 1 to"
            " (n - 1)(n - 2) / 2 + 1 between neighbours. Declare k"
        ),
    }
)
"""Name of a release that is not offered, and why."""


def refuse(release: str) -> None:
    """Raise `ConfigError` with the reason if ``release`` is one that is not private as printed."""
    if release in REJECTED_RELEASES:
        raise ConfigError("release", "be private", f"{release}: {REJECTED_RELEASES[release]}")
