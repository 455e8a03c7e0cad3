"""A page in headless Chromium, narrow and wide, light and dark: no error, no request, nothing wider than the window."""

import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

import pytest

from dplib.jobs.consistent_histograms.page import build_page
from tests.unit.jobs.consistent_histograms.test_histograms_page import FRAME, lean

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# A window of headless Chromium is at least 500 wide: the page stands in a frame, as it is, under its own policy.
FRAME_OF_PAGE = """<iframe style="border:0;width:{width}px;height:880px" srcdoc="{page}"></iframe>
<script>addEventListener('load', () => {{
  const page = document.querySelector('iframe').contentWindow, body = page.document.body
  const colour = page.getComputedStyle(body).backgroundColor
  const said = [page.document.documentElement.scrollWidth, page.innerWidth, colour]
  const text = [...said, body.innerText].join('|')
  document.body.append(Object.assign(document.createElement('pre'), {{textContent: text}}))
}})</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [390, 1440])
def test_a_page_is_whole_in_a_browser(width: int, tmp_path: Path) -> None:
    html = build_page(lean(), FRAME)
    backgrounds = set()
    for dark in (True, False):
        (tmp_path / "page.html").write_text(FRAME_OF_PAGE.format(width=width, page=escape(html)), encoding="utf-8")
        wide, window, background, text = _opened(tmp_path, width, dark).split("|", 3)
        assert int(wide) <= int(window) == width
        backgrounds.add(background)
        published = lean().totals.published
        assert published is not None
        assert all(f"{count:,}" in text for count in published.tolist())
    assert len(backgrounds) == 2


def _opened(folder: Path, width: int, dark: bool) -> str:
    """Widths, background and text of the page in the browser, after a look at what it complained of."""
    made = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={folder / 'profile'}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--window-size={width},900",
            "--enable-logging=stderr",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-background-networking",
            f"--screenshot={folder / f'{width}-{dark}.png'}",
            "--dump-dom",
            (folder / "page.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    # Errors are said there, and what the policy of the page blocks: every request.
    assert ":CONSOLE" not in made.stderr
    return unescape(made.stdout.rpartition("<pre>")[2].partition("</pre>")[0])
