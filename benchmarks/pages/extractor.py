"""Extractors of main content, ours and the peers', behind one signature: bytes, decoded text and address to text."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from benchmarks.daemon import Missing
from windrow.formats.html import main_content, read

Extract = Callable[[bytes, str, str], str]


def ours() -> Extract:
    """Return windrow's reader."""

    def extract(raw: bytes, _text: str, url: str) -> str:
        page = read(raw, url)
        chosen = main_content(page.outline, page.hint)
        return "\n".join(text for text, keep in zip(page.outline.blocks.text, chosen, strict=True) if keep)

    return extract


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as cause:
        raise Missing(f"{package} is not installed: pip install {package}") from cause


def trafilatura(*, fast: bool) -> Extract:
    """Return trafilatura, as it comes or in its fast mode."""
    module = _module("trafilatura", "trafilatura")
    return lambda _raw, text, url: module.extract(text, url=url or None, fast=fast) or ""


def resiliparse() -> Extract:
    """Return resiliparse's main content, without the alternative texts of pictures."""
    module = _module("resiliparse.extract.html2text", "resiliparse")
    return lambda _raw, text, _url: module.extract_plain_text(text, main_content=True, alt_texts=False) or ""


def readability() -> Extract:
    """Return the text of what readability-lxml keeps."""
    module = _module("readability", "readability-lxml")
    lxml = _module("lxml.html", "lxml")

    def extract(_raw: bytes, text: str, _url: str) -> str:
        try:
            kept = module.Document(text).summary()
            return " ".join(lxml.fromstring(kept).itertext())
        except Exception:  # noqa: BLE001 - a peer that fails on a page found nothing there
            return ""

    return extract


EXTRACTORS: dict[str, Callable[[], Extract]] = {
    "windrow": ours,
    "trafilatura": lambda: trafilatura(fast=False),
    "trafilatura fast": lambda: trafilatura(fast=True),
    "resiliparse": resiliparse,
    "readability-lxml": readability,
}
