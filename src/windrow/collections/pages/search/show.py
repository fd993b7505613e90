"""A ranked page as a result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from windrow.collections.pages.search.fold import Ranked
from windrow.collections.pages.search.result import Piece, Result
from windrow.collections.pages.search.snippet import marked, snippet


class Shown(NamedTuple):
    """What is shown: a page, how many URLs have each text, and the time that was asked for."""

    ranked: Ranked
    alike: Mapping[int, int]
    as_of: int | None


def shown(what: Shown, find: re.Pattern[str] | None) -> Result:
    """Return the result. A page without a title is called by its headline, or its address."""
    page = what.ranked.candidate.page
    more = what.alike.get(page.pile, 1) - 1 if page.pile is not None else 0
    return Result(
        generation=page.id,
        uuid=page.uuid,
        url=page.url,
        title=marked(page.title or page.headline or page.url, find),
        snippet=_stretch(page.text, page.description or "", find),
        description=page.description,
        language=page.language,
        published=page.created,
        updated=page.updated,
        first_seen=page.first,
        last_seen=page.last,
        end=page.end,
        more=max(0, more),
        uncertain=what.as_of is not None and page.last < what.as_of,
        score=round(what.ranked.score, 4),
        parts=what.ranked.parts,
    )


def _stretch(text: str, description: str, find: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the best stretch of the text; where nothing hits in it, of the description."""
    made = snippet(text, find)
    if description and not any(piece.hit for piece in made):
        other = snippet(description, find)
        return other if find is None or any(piece.hit for piece in other) or not made else made
    return made
