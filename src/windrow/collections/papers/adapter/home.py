"""How papers are shown at their home: in a list, and with first page, metadata, text, and match with its reasons."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from windrow.adapters.adapter import ListedRecord
from windrow.adapters.home import (
    Fact,
    Facts,
    HomeEntry,
    HomeLink,
    HomeText,
    HomeView,
    Part,
    Picture,
    PictureBytes,
    unknown_name,
)
from windrow.adapters.record_home import field_facts, record_notes
from windrow.adapters.record_search import RecordFaces
from windrow.collections.papers.adapter.rows import PaperSettings, open_rows
from windrow.collections.papers.collection import COLLECTION
from windrow.collections.papers.columns import decode_row
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.row_keys import parse_digest, row_key
from windrow.errors import StoreError
from windrow.formats.text import spell_value
from windrow.ledger import Ledger
from windrow.reasons import Reason

_SHOWN_AUTHORS = 6  # of a paper in a list; the others are counted
_JPEG = "image/jpeg"


def faces_of(settings: PaperSettings, store: PaperStore | None) -> RecordFaces:
    """Return how papers are shown; `store` is None before the first run."""

    def show(ledger: Ledger, key: str, value: Any) -> tuple[Part, ...]:
        del ledger
        return tuple(_show_paper(settings, store, key, value))

    return RecordFaces(_list_paper, show)


def _list_paper(record: ListedRecord) -> HomeEntry:
    paper = record.value if isinstance(record.value, dict) else {}
    authors = [str(author) for author in paper.get("authors") or ()]
    more = f" and {len(authors) - _SHOWN_AUTHORS} more" if len(authors) > _SHOWN_AUTHORS else ""
    texts = (", ".join(authors[:_SHOWN_AUTHORS]) + more, str(paper.get("year") or ""), str(paper.get("doi") or ""))
    notes = tuple(HomeLink(text) for text in texts if text)
    return HomeEntry(HomeLink(record.title, view=HomeView(name=record.key)), (*notes, *record_notes(record)))


def _show_paper(settings: PaperSettings, store: PaperStore | None, key: str, value: Any) -> Iterator[Part]:
    paper = value if isinstance(value, dict) else {}
    names = ("authors", "year", "journal", "doi", "declined")
    facts = [*field_facts({name: paper.get(name) for name in names}), *field_facts(paper.get("file") or {})]
    yield Facts("", (Fact("key", HomeLink(key, story=key)), *facts))
    record = store.paper(key) if store else None
    aside = record.aside if record else {}
    if aside.get("thumbnail"):
        yield Picture("", f"The first page of {paper.get('title') or key}", name=key)
    if aside.get("thumbnail_problem"):
        yield Facts("First page", (Fact("not drawn", HomeLink(str(aside["thumbnail_problem"]))),))
    yield from _show_match(settings, key)
    for title, outcome in (("GROBID", paper.get("grobid")), ("Embedded extractor", paper.get("text"))):
        if isinstance(outcome, Mapping):
            yield Facts(title, tuple(field_facts({**outcome, "info": None})))
    tei = aside.get("tei_json") or {}
    for title, text in (("Abstract", tei.get("abstract")), ("Text", tei.get("body") or aside.get("pages"))):
        if text:
            yield HomeText(title, text if isinstance(text, str) else spell_value(text))


def _show_match(settings: PaperSettings, key: str) -> Iterator[Part]:
    """Yield the match with the catalogue: its status, the DOI, and what was compared; nothing if the row has none.

    If the server of the table does not answer, yield why it is not known.
    """
    cells: Mapping[str, Any] = {}
    try:
        with open_rows(settings) as table:
            cells = decode_row(table.get(row_key(parse_digest(key), settings.key_form), ["match0"]))
    except StoreError as error:
        if error.reason != Reason.NOT_FOUND:  # nothing is written yet
            yield Facts("Match with the catalogue", (Fact("not known", HomeLink(str(error))),))
    if cells:
        reasons = cells.get("match0:minfo")
        facts = [Fact("status", HomeLink(str(cells.get("match0:mstatus") or "")))]
        facts += [Fact("DOI", HomeLink(str(cells.get("match0:doi") or "")))]
        yield Facts("Match with the catalogue", (*facts, *field_facts(reasons if isinstance(reasons, dict) else {})))


def picture_of(store: PaperStore | None, key: str) -> PictureBytes:
    """Return the kept picture of a paper's first page; raise WindrowError (NOT_FOUND) if there is none."""
    record = store.paper(key) if store else None
    if record is None or not record.aside.get("thumbnail"):
        raise unknown_name(f"{COLLECTION.name} (pictures of first pages)", key)
    return PictureBytes(_JPEG, b64decode(record.aside["thumbnail"]))
