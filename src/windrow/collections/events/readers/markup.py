"""Take the markup from a text, with what a page says beside its own text: navigation, scripts, forms."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

_BESIDE = "script, style, nav, svg, form, button, noscript, iframe, template, head"


def without_markup(text: str) -> str:
    """Return what a piece of HTML says.

    >>> without_markup("<nav>Menu</nav><p>Tea &amp; <b>milk</b></p>")
    'Tea & milk'
    """
    if "<" not in text and "&" not in text:
        return text
    page = LexborHTMLParser(text)
    for node in page.css(_BESIDE):
        if node.tag != "head":
            node.decompose()
    return " ".join(page.text(separator=" ").split())
