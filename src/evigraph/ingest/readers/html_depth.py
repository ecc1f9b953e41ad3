"""How deeply a page's elements are nested, told from its tags alone, so that no tree need be built to refuse it."""

from __future__ import annotations

import re
from collections import Counter

MAX_DEPTH = 1_000
"""Elements open at once. The time to build a tree grows with the square of its depth."""

# fmt: off
# Void elements, and those that another of their kind or the end of what holds them closes: pages leave them open.
_NEVER_DEEPER = frozenset((
    "a", "area", "base", "basefont", "bgsound", "body", "br", "button", "caption", "col", "colgroup", "dd", "dt",
    "embed", "form", "frame", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "html", "image", "img", "input",
    "keygen", "li", "link", "meta", "nobr", "optgroup", "option", "p", "param", "rb", "rp", "rt", "rtc", "select",
    "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
))
# HTML ignores the slash of "<div/>"; on the shapes of a drawing, and other names it does not know, it may count.
_SLASH_IGNORED = frozenset((
    "address", "applet", "article", "aside", "b", "big", "blockquote", "center", "code", "details", "dialog", "dir",
    "div", "dl", "em", "fieldset", "figcaption", "figure", "font", "footer", "header", "hgroup", "i", "listing",
    "main", "marquee", "menu", "nav", "object", "ol", "pre", "s", "search", "section", "small", "strike", "strong",
    "summary", "table", "template", "tt", "u", "ul",
))
_RAW_TEXT = frozenset(("iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"))
# fmt: on

# Possessive, and every branch ends at the end of the text at the latest: no input makes it go back.
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<(?:[!?]|/(?![a-z]))[^>]*+(?:>|\Z)"
    r"|<(/?)([a-z][^\s/>]*+)"
    r"""((?:[^>"'=]++|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?+|["'])*+)(?:>|\Z)""",
    re.DOTALL | re.IGNORECASE,
)


def too_deep(text: str, limit: int = MAX_DEPTH) -> bool:
    """Whether more than `limit` elements are open at once. An end tag closes what was left open inside its element,
    one without an open element is passed over. Linear in the length of the text."""
    if text.count("<") <= limit:
        return False
    path: list[str] = []
    counts = Counter[str]()
    at = 0
    while token := _TOKEN.search(text, at):
        at = token.end()
        tag = (token[2] or "").lower()
        if not tag or tag in _NEVER_DEEPER:
            continue
        if token[1]:
            while counts[tag]:
                closed = path.pop()
                counts[closed] -= 1
                if closed == tag:
                    break
        elif tag in _RAW_TEXT and not (counts["svg"] or counts["math"]):
            at = _end_of_raw(text, at, tag)
        elif not token[3].endswith("/") or tag in _SLASH_IGNORED:
            path.append(tag)
            counts[tag] += 1
            if len(path) > limit:
                return True
    return False


def _end_of_raw(text: str, at: int, tag: str) -> int:
    found = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(text, at)
    return found.start() if found else len(text)
