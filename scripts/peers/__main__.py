"""``make bench-peers``: ``python -m scripts.peers [environments|counts|graphs|clusters|projections|page ...]``.

Measures all, or the parts named, what ``build/bench/peers.json`` lacks, so a run that was
stopped goes on; remove that file to measure anew. Then writes the guide's page on peers and its picture.
"""

import sys

from scripts.peers.environments import PACKAGES, make
from scripts.peers.inputs import make_inputs
from scripts.peers.page import write_page
from scripts.peers.parts import PARTS, measure


def main() -> int:
    """Do the parts named on the command line, or all."""
    chosen = sys.argv[1:] or ["environments", *PARTS, "page"]
    if unknown := set(chosen) - {"environments", *PARTS, "page"}:
        known = ", ".join(["environments", *PARTS, "page"])
        print(f"parts must be some of {known}, got {', '.join(unknown)}", file=sys.stderr)
        return 2
    if "environments" in chosen:
        for name in PACKAGES:
            print(f"{name}: {make(name) or 'ready'}", flush=True)
    if set(chosen) & set(PARTS):
        make_inputs()
    for part in PARTS:
        if part in chosen:
            measure(part)
    if "page" in chosen:
        write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
