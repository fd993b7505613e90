"""Fill a Summary Database with made-up generations, by plain SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from windrow.collections.pages.database.writer import schema

_FLAGS = ", ".join("0" * 19)


class PageRow(NamedTuple):
    """A page; `links` are (URL, text). Times are UNIX seconds, `end` is None for a page as it is now."""

    url: str
    text: str
    title: str
    secondary: str = ""
    headline: str | None = None
    description: str | None = None
    language: str = "en"
    created: int | None = None
    first: int = 1_700_000_000
    end: int | None = None
    duplicate: bool = False
    indexiness: int = -1
    links: tuple[tuple[str, str], ...] = ()


class Filler:
    """Writes generations into a new database."""

    def __init__(self, path: Path) -> None:
        """Make the database."""
        self.link = sqlite3.connect(path)
        self.link.execute("PRAGMA journal_mode = WAL").close()
        self.link.execute("PRAGMA synchronous = OFF").close()
        self.link.executescript(schema("base", "summary"))
        self.link.execute("INSERT INTO mimetype VALUES (1, 'text', 'html', NULL)")
        self._origins: dict[str, int] = {}
        self._urls: dict[str, int] = {}
        self._piles: dict[bytes, int] = {}
        self._count = self._links = 0

    def add(self, pages: Iterable[PageRow]) -> None:
        """Add pages and commit."""
        for page in pages:
            self._add(page)
        self.link.commit()

    def close(self) -> None:
        """Close the database."""
        self.link.close()

    def _url(self, url: str) -> int:
        if url not in self._urls:
            parts = urlsplit(url)
            origin = f"{parts.scheme}://{parts.netloc}"
            if origin not in self._origins:
                self._origins[origin] = len(self._origins) + 1
                named = (self._origins[origin], parts.scheme, parts.hostname, origin)
                self.link.execute("INSERT INTO origin VALUES (?, ?, ?, NULL, ?)", named)
            self._urls[url] = len(self._urls) + 1
            row = (self._urls[url], self._origins[origin], parts.path, parts.query or None, url)
            self.link.execute("INSERT INTO url VALUES (?, ?, ?, ?, NULL, NULL, ?)", row)
        return self._urls[url]

    def _pile(self, page: PageRow) -> int:
        digest = blake2b(f"{page.text}\n\n\n{page.secondary}".encode()).digest()
        if digest not in self._piles:
            self._piles[digest] = len(self._piles) + 1
            row = (self._piles[digest], digest, page.text, page.secondary)
            self.link.execute("INSERT INTO text_pile VALUES (?, ?, ?, ?, '', '', '', '')", row)
        return self._piles[digest]

    def _add(self, page: PageRow) -> None:
        self._count += 1
        number, run = self._count, self.link.execute
        last = page.first + 86_400 if page.end is None else page.end - 1
        row = (number, number.to_bytes(16, "big"), self._url(page.url), page.first, last, page.end, page.duplicate)
        run("INSERT INTO entity_generation VALUES (?, ?, ?, NULL, ?, ?, ?, ?, ?)", (*row, self._pile(page)))
        description = (page.created, None, page.language, page.title, page.headline, page.description, page.indexiness)
        run("INSERT INTO document_description VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (number, *description))
        run("INSERT INTO file_summary VALUES (?, ?, 1, NULL)", (number, len(page.text)))
        for url, text in page.links:
            self._links += 1
            sql = f"INSERT INTO link_summary VALUES (?, ?, ?, NULL, {_FLAGS}, 0, 1, 'a', ?)"
            run(sql, (self._links, number, self._url(url), text))
