"""Read articles with one reader: pages on stdin, one JSON object a line; what each says on stdout likewise.

    python extract.py WHO [markdown]
    stdin: {"raw": HTML in base64, "url": ADDRESS}
    stdout: {"title", "author", "date", "text", "spent": CPU SECONDS}

With `markdown` the text is Markdown with links and images, where the reader has that; else it is plain. It stands
alone, so that it runs in whatever Python has the reader; only our own needs windrow.

No reader reaches the network: newspaper4k and news-please ask for each picture of a page otherwise, and wait for sites
that are long gone. A page that takes a reader more than `LONGEST` seconds of CPU has an empty answer.
"""

from __future__ import annotations

import base64
import gc
import importlib
import json
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

Said = dict[str, str]
Reader = Callable[[bytes, str], Said]

LONGEST = 30.0

MODULES = {
    "windrow": "windrow.content.article", "trafilatura": "trafilatura", "newspaper4k": "newspaper",
    "news-please": "newsplease",
}  # fmt: skip


def _windrow(module: Any, *, marked: bool) -> Reader:
    from windrow.content.markdown import html_to_markdown  # noqa: PLC0415 only ours has it
    from windrow.formats.moment import read_page_time  # noqa: PLC0415

    lexbor = importlib.import_module("selectolax.lexbor")

    def read(raw: bytes, url: str) -> Said:
        article = module.read_article(raw, "", url)
        text = html_to_markdown(article.markup, url) if marked else _plain(lexbor, article.markup)
        day = read_page_time(article.published)  # as the collection writes it
        fields = {"title": article.title, "author": ", ".join(article.authors), "text": text}
        return {**fields, "date": day.isoformat() if day else ""}

    return read


def _plain(lexbor: Any, markup: str) -> str:
    body = lexbor.LexborHTMLParser(markup).body
    return body.text(separator="\n") if body else ""


def _trafilatura(module: Any, *, marked: bool) -> Reader:
    def read(raw: bytes, url: str) -> Said:
        if marked:
            text = module.extract(
                raw, url=url or None, output_format="markdown", include_links=True, include_images=True,
                include_formatting=True, with_metadata=True,
            )  # fmt: skip
            return {"title": "", "author": "", "date": "", "text": text or ""}
        document = module.bare_extraction(raw, url=url or None, with_metadata=True)
        fields = document.as_dict() if document else {}
        names = ("title", "author", "date", "text")
        return {name: fields.get(name) or "" for name in names}

    return read


def _newspaper(module: Any, *, marked: bool) -> Reader:
    del marked

    def read(raw: bytes, url: str) -> Said:
        article = module.Article(url or "https://example.org/")
        article.download(input_html=raw.decode("utf-8", "replace"))
        article.parse()
        date = article.publish_date.isoformat() if article.publish_date else ""
        return {
            "title": article.title or "",
            "author": ", ".join(article.authors),
            "date": date,
            "text": article.text or "",
        }

    return read


def _news_please(module: Any, *, marked: bool) -> Reader:
    del marked

    def read(raw: bytes, url: str) -> Said:
        article = module.NewsPlease.from_html(raw.decode("utf-8", "replace"), url=url or None)
        date = article.date_publish.isoformat() if article.date_publish else ""
        authors = ", ".join(article.authors or ())
        return {"title": article.title or "", "author": authors, "date": date, "text": article.maintext or ""}

    return read


READERS: dict[str, Callable[..., Reader]] = {
    "windrow": _windrow, "trafilatura": _trafilatura, "newspaper4k": _newspaper, "news-please": _news_please,
}  # fmt: skip


class TooLongError(BaseException):
    """A page took longer than `LONGEST`; no reader may catch this by catching `Exception`."""


def _no_network(*_: Any, **__: Any) -> NoReturn:
    raise OSError("pages are read without a network")


def _too_long(*_: Any) -> NoReturn:
    raise TooLongError


def main() -> None:
    """Read each page, and write its article and the CPU seconds."""
    who = sys.argv[1]
    socket.getaddrinfo = socket.create_connection = _no_network
    socket.socket.connect = _no_network  # type: ignore[method-assign]
    signal.signal(signal.SIGPROF, _too_long)
    read = READERS[who](importlib.import_module(MODULES[who]), marked="markdown" in sys.argv[2:])
    pages = [json.loads(line) for line in sys.stdin]
    gc.freeze()
    for page in pages:
        raw = base64.b64decode(page["raw"])
        begun = time.process_time()
        fields = {"title": "", "author": "", "date": "", "text": ""}
        try:
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            fields = read(raw, page["url"])
        except (Exception, TooLongError):  # noqa: BLE001 a reader's failure is an empty answer
            pass
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps({**fields, "spent": time.process_time() - begun}))


if __name__ == "__main__":
    main()
