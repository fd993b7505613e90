"""Write each construct as Markdown with one converter, and judge it by what a CommonMark renderer makes of that.

    python fidelity.py WHO <CONSTRUCTS >MARKDOWN

It stands alone, so that it runs in whatever Python has the converter; only our own needs windrow.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable

MODULES = {
    "windrow": "windrow.content.markdown",
    "markdownify": "markdownify",
    "html-to-markdown": "html_to_markdown",
}


def _windrow(html: str, base: str) -> str:
    text: str = importlib.import_module(MODULES["windrow"]).html_to_markdown(html, base)
    return text


def _markdownify(html: str, base: str) -> str:
    del base
    text: str = importlib.import_module("markdownify").markdownify(html, heading_style="ATX")
    return text


def _html_to_markdown(html: str, base: str) -> str:
    del base
    markdown = importlib.import_module("html_to_markdown").convert(html)
    return str(getattr(markdown, "content", markdown) or "")


CONVERTERS: dict[str, Callable[[str, str], str]] = {
    "windrow": _windrow, "markdownify": _markdownify, "html-to-markdown": _html_to_markdown,
}  # fmt: skip


def normalise(html: str) -> str:
    """Return HTML in one spelling: tags, addresses and texts, with spaces outside of code collapsed."""
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415 the peers' Python need not have it

    body = LexborHTMLParser(html).body
    written = (body.html or "") if body else ""
    written = written.removeprefix("<body>").removesuffix("</body>").replace("\u00a0", " ").replace("&nbsp;", " ")
    parts = re.split(r"(<pre>.*?</pre>)", written, flags=re.DOTALL)
    return "".join(part if part.startswith("<pre>") else _collapsed(part) for part in parts).strip()


def _collapsed(part: str) -> str:
    part = re.sub(r"\s+", " ", part)
    block = r"(</?(?:p|h\d|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|hr|br|pre)\b[^>]*>)"
    return re.sub(rf" ?{block} ?", r"\1", part)


def main() -> None:
    """Convert a JSON list of [HTML, base] on stdin; write a list of Markdown to stdout."""
    convert = CONVERTERS[sys.argv[1]]
    print(json.dumps([convert(html, base) for html, base in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
