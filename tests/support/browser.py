"""Pages in headless Chromium: narrow and wide, light and dark, as their readers have them."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (390, 1440)
# A window of headless Chromium is at least 500 wide: the page stands in a frame, as it is, under its own policy.
_FRAME = """<iframe style="border:0;width:{width}px;height:880px" srcdoc="{page}"></iframe>"""
_LOOK = Path(__file__).with_suffix(".js")


@dataclass(frozen=True)
class Seen:
    """A page as it was seen.

    Attributes:
        wide: what it takes, in pixels.
        window: what there is.
        said: numbers of the last point of every series that can be chosen, by ``series by level``.
        faults: drawings without anything, texts in them that are cut or lie on each other.
        background: its colour.
        text: all that can be read.
    """

    wide: int
    window: int
    said: dict[str, str]
    faults: list[str]
    background: str
    text: str


def open_pages(pages: Sequence[str], folder: Path, dark: bool) -> list[Seen]:
    """Look at pages at each of the `WIDTHS`, page by page, and at what the browser complained of."""
    frames = [_FRAME.format(width=width, page=escape(page)) for page in pages for width in WIDTHS]
    (folder / "pages.html").write_text(f"{''.join(frames)}<script>{_LOOK.read_text()}</script>", encoding="utf-8")
    made = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={folder / 'profile'}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--window-size=1480,900",
            "--enable-logging=stderr",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-background-networking",
            "--dump-dom",
            (folder / "pages.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    # Errors are said there, and what the policy of the page blocks: every request.
    complaints = [line for line in made.stderr.splitlines() if ":CONSOLE" in line]
    assert not complaints, complaints
    found: list[dict[str, Any]] = json.loads(unescape(made.stdout.rpartition("<pre>")[2].partition("</pre>")[0]))
    return [Seen(**each) for each in found]
