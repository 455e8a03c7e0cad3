"""One self-contained HTML page from sections of blocks.

The page needs no other file and no network: style sheet and drawings are inside, and its content security policy
forbids everything else. Where series can be chosen, one script draws them from numbers in the page; the policy names
its hash, so that no other runs, and the page is whole without it. It follows the reader's light or dark scheme, prints
well, and the same input gives the same bytes: no clock, no random identifiers.

Every text is escaped by the template engine; only drawings, which `dplib.page.figures` made, and the script with its
numbers (`dplib.page.chooser`) go in as they are.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import count

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from dplib.page.blocks import (
    Callout,
    Chooser,
    Faint,
    Figure,
    Mono,
    Section,
    Strong,
    Text,
)
from dplib.page.drawing import embedded


def render_page(title: str, subtitle: str, sections: Sequence[Section], notices: Sequence[Callout] = ()) -> str:
    """Return the page as HTML text, to be written as UTF-8; each section gets an entry in the contents."""
    anchors = _anchors([section.title for section in sections])
    page = _environment().get_template("page.html.j2")
    chosen = any(isinstance(block, Chooser) for section in sections for block in section.blocks)
    script = _resource("chooser.js") if chosen else ""
    return page.render(
        title=title,
        subtitle=subtitle,
        sections=list(zip(anchors, sections, strict=True)),
        notices=notices,
        draw=_numbered_drawings(),
        script=script,
        script_policy=Markup(f"; script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'")  # noqa: S704
        if script
        else "",
    )


def _resource(name: str) -> str:
    """A file beside this one, read through importlib so that it is found in a zip file sent with spark-submit too."""
    return files("dplib.page").joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["inline"] = _inline
    environment.filters["trusted"] = Markup
    return environment


def _inline(text: Text) -> Markup:
    """Escape a text and set its literal and stressed parts."""
    parts = (text,) if isinstance(text, str) else text
    return Markup("").join(_part(part) for part in parts)


def _part(part: str | Mono | Strong | Faint) -> Markup:
    match part:
        case Mono(text):
            return Markup("<code>{}</code>").format(text)
        case Strong(text):
            return Markup("<strong>{}</strong>").format(text)
        case Faint(text):
            return Markup('<span class="faint">{}</span>').format(text)
        case text:
            return escape(text)


def _anchors(titles: Sequence[str]) -> list[str]:
    """A readable identifier for each section, with its place in front so that no two are equal."""
    slugs = (re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title in titles)
    return [f"s{place}-{slug}" for place, slug in enumerate(slugs, start=1)]


def _numbered_drawings() -> Callable[[Figure], Markup]:
    """A function that sets one figure after the other, each with identifiers of its own."""
    numbers = count(1)

    def draw(figure: Figure) -> Markup:
        return Markup(embedded(figure.svg, prefix=f"f{next(numbers)}-", label=figure.alt))  # noqa: S704 - our drawing

    return draw
