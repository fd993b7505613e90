"""Extract main content with one extractor: pages on stdin, one JSON object a line, their texts on stdout likewise.

    python extract.py WHO
    stdin: {"text": HTML, "raw": HTML in base64, "url": ADDRESS}, stdout: {"found": TEXT, "spent": CPU SECONDS}

It stands alone, so that it runs in whatever Python has the extractor; only our own need windrow. What is there before
the first page is frozen for the garbage collector, as in windrow's own worker processes.
"""

from __future__ import annotations

import base64
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

Extract = Callable[[bytes, str, str], str]

MODULES = {
    "windrow": "windrow.content.page",
    "windrow reading": "windrow.collections.pages.reading",
    "trafilatura": "trafilatura",
    "trafilatura fast": "trafilatura",
    "rs-trafilatura": "rs_trafilatura",
    "resiliparse": "resiliparse.extract.html2text",
    "readability-lxml": "readability",
}


def _windrow(module: Any) -> Extract:
    def extract(raw: bytes, _text: str, url: str) -> str:
        page = module.read_page(raw, url)
        chosen = module.main_content(page.outline, page.traits)
        return "\n".join(text for text, keep in zip(page.outline.blocks.text, chosen, strict=True) if keep)

    return extract


def _reading(module: Any) -> Extract:
    """Read all that the Summary Database stores of a page: texts, description, links."""

    def extract(raw: bytes, _text: str, url: str) -> str:
        document = module.read_html_page(raw, url)
        document.pile.digest()
        return str(document.pile.text)

    return extract


def _rust(module: Any) -> Extract:
    def extract(_raw: bytes, text: str, url: str) -> str:
        extracted = module.extract(text, url=url or None)
        return extracted.main_content or ""

    return extract


def _readability(module: Any) -> Extract:
    lxml = importlib.import_module("lxml.html")

    def extract(_raw: bytes, text: str, _url: str) -> str:
        try:
            return " ".join(lxml.fromstring(module.Document(text).summary()).itertext())
        except Exception:  # noqa: BLE001 - an extractor that fails on a page found nothing there
            return ""

    return extract


MAKERS: dict[str, Callable[[Any], Extract]] = {
    "windrow": _windrow,
    "windrow reading": _reading,
    "trafilatura": lambda module: lambda _raw, text, url: module.extract(text, url=url or None) or "",
    "trafilatura fast": lambda module: lambda _raw, text, url: module.extract(text, url=url or None, fast=True) or "",
    "rs-trafilatura": _rust,
    "resiliparse": lambda module: (
        lambda _raw, text, _url: module.extract_plain_text(text, main_content=True, alt_texts=False) or ""
    ),
    "readability-lxml": _readability,
}


def main(who: str) -> None:
    """Extract the pages on stdin."""
    extract = MAKERS[who](importlib.import_module(MODULES[who]))
    pages = [json.loads(line) for line in sys.stdin]
    for page in pages[:5]:
        extract(base64.b64decode(page["raw"]), page["text"], page["url"])  # to warm up, as a long-lived process
    gc.collect()
    gc.freeze()
    for page in pages:
        raw = base64.b64decode(page["raw"])
        began = time.process_time()
        extracted = extract(raw, page["text"], page["url"])
        spent = time.process_time() - began
        print(json.dumps({"found": extracted, "spent": spent}))


if __name__ == "__main__":
    main(sys.argv[1])
