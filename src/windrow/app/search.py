"""One search over every collection that can be searched."""

from __future__ import annotations

from itertools import chain, zip_longest

from windrow.adapter import SearchAnswer
from windrow.config import Workspace
from windrow.errors import UsageError, WindrowError
from windrow.registry import capable


def search(workspace: Workspace, text: str, *, offset: int = 0, limit: int = 10, explain: bool = False) -> SearchAnswer:
    """Search; any text is a query. Results of several collections take turns, each collection's best first.

    Raises the error of the first collection that cannot be searched yet where none can.
    """
    answers: list[SearchAnswer] = []
    wrong: list[WindrowError] = []
    makers = capable("search")
    for one in makers.values():
        try:
            answers.append(one.search(workspace, text, offset=0 if len(makers) > 1 else offset,
                                      limit=offset + limit if len(makers) > 1 else limit, explain=explain))  # fmt: skip
        except WindrowError as error:
            wrong.append(error)
    if not answers:
        raise wrong[0] if wrong else UsageError("no collection that is installed can be searched")
    if len(makers) == 1:
        return answers[0]
    mixed = [one for one in chain(*zip_longest(*(each.results for each in answers))) if one is not None]
    shown = tuple(mixed[offset : offset + limit])
    further = len(mixed) > offset + limit or any(one.further for one in answers)
    first = answers[0].message
    value = first.value._replace(offset=offset, results=len(shown), further=further)
    notes = tuple(dict.fromkeys(note for one in answers for note in one.notes))
    return SearchAnswer(shown, notes, further, all(one.relaxed for one in answers), first._replace(value=value))
