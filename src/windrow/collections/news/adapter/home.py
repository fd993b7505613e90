"""How articles are shown at the home of news: in a reading list, and to read, with picture and revisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windrow.adapters.adapter import ListedRecord
from windrow.adapters.home import Fact, Facts, HomeEntry, HomeLink, HomeText, HomeView, Part
from windrow.adapters.record_home import field_facts, find_picture, record_notes, show_record
from windrow.adapters.record_search import RecordFaces
from windrow.ledger import Ledger

_EXCERPT_CHARACTERS = 300
_SHOWN = ("title", "article_text", "excerpt", "url", "image_url", "metadata")  # otherwise than as facts of that name


def _text(article: Mapping[str, Any], name: str) -> str:
    value = article.get(name)
    return value if isinstance(value, str) else ""


def list_article(record: ListedRecord) -> HomeEntry:
    """Return an article as an entry of the reading list: who published it when, and its beginning."""
    article = record.value if isinstance(record.value, dict) else {}
    text = " ".join((_text(article, "excerpt") or _text(article, "article_text")).split())
    beginning = text if len(text) <= _EXCERPT_CHARACTERS else f"{text[:_EXCERPT_CHARACTERS]}…"
    published = _text(article, "publication_date")
    texts = (_text(article, "source_domain"), published and f"published {published}", _text(article, "author"))
    notes = tuple(HomeLink(text) for text in texts if text)
    return HomeEntry(HomeLink(record.title, view=HomeView(name=record.key)), (*notes, *record_notes(record)), beginning)


def show_article(ledger: Ledger, key: str, value: Any) -> tuple[Part, ...]:
    """Return an article to read. Its picture is shown if its bytes are kept; it is not requested for that."""
    if not isinstance(value, dict) or not _text(value, "article_text"):
        return show_record(ledger, key, value)
    facts = [fact for fact in field_facts(value) if fact.name not in _SHOWN]
    image = _text(value, "image_url")
    facts += [Fact("address", HomeLink(_text(value, "url"), story=key))]
    facts += [Fact("picture", HomeLink(image))] if image else []
    facts += field_facts(value["metadata"]) if isinstance(value.get("metadata"), dict) else []
    excerpt = _text(value, "excerpt")
    parts: tuple[Part, ...] = (Facts("", tuple(facts)), *find_picture(ledger, image, f"the picture of {key}"))
    if excerpt and not _text(value, "article_text").startswith(excerpt[:100]):
        parts += (HomeText("Excerpt", excerpt),)
    return (*parts, HomeText("Text", _text(value, "article_text")))


ARTICLES = RecordFaces(list_article, show_article)
"""How articles are shown."""
