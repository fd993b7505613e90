"""Search the pages of a workspace: open its Summary Database, query it, and close it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from windrow.adapters.adapter import SearchAnswer, SearchResult, SnippetMark, snippet_marks
from windrow.clock import now
from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.search.rank import Result, ResultPage, ScorePart
from windrow.collections.pages.settings import Pages
from windrow.config import Workspace
from windrow.errors import WindrowError
from windrow.query.snippet import Piece
from windrow.reasons import Reason
from windrow.stores.sqlite import SqliteReader

if TYPE_CHECKING:
    import sqlalchemy as sa

_THERE = "SELECT count(*) FROM sqlite_master WHERE name IN ('entity_generation', 'full_text_entity_index')"


def _file(workspace: Workspace) -> Path | None:
    """Return the file of the Summary Database; None if it does not exist or is empty."""
    path = workspace.section(Pages).summary
    if not path.is_file():
        return None
    with closing(SqliteReader(path)) as reader, reader.reading() as link:
        return path if link.execute(_THERE).fetchone()[0] == 2 else None


def summary_file(workspace: Workspace) -> Path:
    """Return the file of the Summary Database; if there is none yet, a WindrowError names the command that makes it."""
    path = _file(workspace)
    if path is None:
        raise WindrowError(
            f"there are no pages to look into yet: {workspace.section(Pages).summary} is not there, or empty",
            hint="windrow run pages",
            reason=Reason.NOT_FOUND,
        )
    return path


@contextmanager
def summary_if_there(workspace: Workspace) -> Iterator[sa.Engine | None]:
    """Open the Summary Database; None if it does not exist or is empty."""
    from windrow.stores.databases import connect  # noqa: PLC0415 a search does without

    path = _file(workspace)
    if path is None:
        yield None
        return
    engine = connect(f"sqlite:///{path}")
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def summaries(workspace: Workspace) -> Iterator[sa.Engine]:
    """Open the Summary Database; if there is none yet, a WindrowError names the command that makes it."""
    summary_file(workspace)
    with summary_if_there(workspace) as engine:
        assert engine is not None
        yield engine


class PageHit(NamedTuple):
    """A page found.

    `more` counts other addresses with the same text, `near` those among them whose text is only nearly the same, and
    `standing` is the address that stands for all of them, where that is another one. `uncertain` is true where the
    time asked for lies after the page was seen last and before it was known to be gone or changed.
    """

    url: str
    title: str
    snippet: str
    marks: tuple[SnippetMark, ...]
    description: str | None
    language: str | None
    published: datetime | None
    updated: datetime | None
    first_seen: datetime
    last_seen: datetime
    end: datetime | None
    more: int
    near: int
    standing: str | None
    uncertain: bool
    score: float
    generation: str
    parts: tuple[ScorePart, ...] = ()
    collection: str = "pages"


def look(workspace: Workspace, text: str, *, offset: int = 0, limit: int = 10) -> ResultPage:
    """Search the pages of a workspace; any text is a query.

    Raises WindrowError where there are none yet.
    """
    with closing(Search(summary_file(workspace), workspace.section(Pages).index)) as search:
        return search(text, now=int(now().timestamp()), offset=offset, limit=limit)


def _hit(result: Result, *, explain: bool) -> PageHit:
    return PageHit(
        result.url,
        plain(result.title),
        plain(result.snippet),
        snippet_marks(result.snippet),
        result.description,
        result.language,
        when(result.published),
        when(result.updated),
        datetime.fromtimestamp(result.first_seen, UTC),
        datetime.fromtimestamp(result.last_seen, UTC),
        when(result.end),
        result.more,
        result.near,
        result.standing,
        result.uncertain,
        result.score,
        str(UUID(bytes=result.uuid)),
        result.parts if explain else (),
    )


def plain(pieces: Sequence[Piece]) -> str:
    """Return the text of pieces without the marks of hits."""
    return "".join(piece.text for piece in pieces)


def when(seconds: int | None) -> datetime | None:
    """Return a time of the Summary Database, None where there is none or no calendar has it.

    >>> when(0).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def search(workspace: Workspace, text: str, *, offset: int = 0, limit: int = 10, explain: bool = False) -> SearchAnswer:
    """Search the pages, and return the results in the form common to all collections."""
    answer = look(workspace, text, offset=offset, limit=limit)
    results = tuple(
        SearchResult(
            hit.title,
            hit.url,
            " ".join(filter(None, [_date(hit), hit.language or ""])),
            hit.snippet,
            _remarks(hit, explain=explain),
            "result",
            _hit(hit, explain=explain),
            when(
                hit.updated
                if hit.updated is not None
                else hit.published
                if hit.published is not None
                else hit.first_seen
            ),
        )
        for hit in answer.results
    )
    return SearchAnswer(
        text, answer.offset, results, answer.notes, answer.further, answer.relaxed, answer.frequency, answer.documents
    )


def _remarks(one: Result, *, explain: bool) -> tuple[str, ...]:
    dated_by = ["not sure: it was seen before that time, and found changed or gone after it"] if one.uncertain else []
    if one.more:
        near = " or nearly" if 0 < one.near < one.more else ", nearly" if one.near else ""
        foremost = f", foremost {one.standing}" if one.standing else ""
        dated_by.append(f"and {one.more:,} more with the same text{near}{foremost}")
    if explain:
        parts = "  ".join(f"{part.name} {part.value:.2f} x {part.weight:g}" for part in one.parts)
        dated_by.append(f"score {one.score:.3f} = {parts}")
    return tuple(dated_by)


def _date(result: Result) -> str:
    dated_by = next((name for name in ("updated", "published") if getattr(result, name) is not None), "")
    at = when(getattr(result, dated_by) if dated_by else result.first_seen)
    shown = f"{dated_by or 'seen'} {at:%Y-%m-%d}" if at else ""
    end = when(result.end)
    return f"{shown}, until {end:%Y-%m-%d}" if end else shown
