"""Read articles with one reader: pages on stdin, one JSON object a line; what each says on stdout likewise.

    python extract.py WHO
    stdin: {"raw": HTML in base64, "url": ADDRESS}
    stdout: {"title", "author", "date", "text", "spent": CPU SECONDS}

It stands alone, so that it runs in whatever Python has the reader; only our own needs windrow.
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

Said = dict[str, str]

MODULES = {"windrow": "windrow.formats.html", "trafilatura": "trafilatura", "newspaper4k": "newspaper"}


def _windrow(module: Any) -> Callable[[bytes, str], Said]:
    from windrow.formats.html.markdown import markdown  # noqa: PLC0415 only ours has it

    def read(raw: bytes, url: str) -> Said:
        found = module.article(raw, "", url)
        text = markdown(found.markup, url)
        return {"title": found.title, "author": ", ".join(found.authors), "date": found.published, "text": text}

    return read


def _trafilatura(module: Any) -> Callable[[bytes, str], Said]:
    def read(raw: bytes, url: str) -> Said:
        text = module.extract(
            raw, url=url, output_format="markdown", include_links=True, include_images=True, include_formatting=True,
            with_metadata=True,
        )  # fmt: skip
        return {"title": "", "author": "", "date": "", "text": text or ""}

    return read


def _newspaper(module: Any) -> Callable[[bytes, str], Said]:
    def read(raw: bytes, url: str) -> Said:
        found = module.Article(url or "https://example.org/")
        found.download(input_html=raw.decode("utf-8", "replace"))
        found.parse()
        date = found.publish_date.isoformat() if found.publish_date else ""
        return {"title": found.title or "", "author": ", ".join(found.authors), "date": date, "text": found.text or ""}

    return read


READERS = {"windrow": _windrow, "trafilatura": _trafilatura, "newspaper4k": _newspaper}


def main() -> None:
    """Read each page, and tell what it says and how long that took."""
    who = sys.argv[1]
    read = READERS[who](importlib.import_module(MODULES[who]))
    pages = [json.loads(line) for line in sys.stdin]
    gc.freeze()
    for one in pages:
        raw = base64.b64decode(one["raw"])
        begun = time.process_time()
        try:
            said = read(raw, one["url"])
        except Exception:  # noqa: BLE001 a reader's failure is an empty answer
            said = {"title": "", "author": "", "date": "", "text": ""}
        print(json.dumps({**said, "spent": time.process_time() - begun}))


if __name__ == "__main__":
    main()
