"""The collection `quotes`: what stands between quotation marks in pages that others keep; it asks nobody itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from windrow.adapters.records import RecordAdapter
from windrow.contract import Answer, Captures, Collection, FollowResult, Observation, Offering, Settle, Skip, Task
from windrow.model import CdxLine, Source
from windrow.reasons import Reason
from windrow.settings.configuration import Configuration
from windrow.settings.kinds import PATTERN
from windrow.settings.setting import CAPTURED, Setting, store_of

QUOTE = re.compile(rb"<q>(.*?)</q>", re.DOTALL)

NO_PAGE = Skip(Reason.NOT_WANTED, message="it is no HTML")
ELSEWHERE = Skip(Reason.OUT_OF_SCOPE, message="its address does not match `pages`")


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:
    """Want HTML at the addresses that a source names."""
    wanted = re.compile(source.options["pages"]).search

    def rules(line: CdxLine) -> Skip | None:
        if line.mime != "text/html":
            return NO_PAGE
        return None if wanted(line.url) else ELSEWHERE

    return rules


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer each quotation of a page."""
    body = answer.view.read()
    offers = tuple(
        Offering(f"{answer.request.url}#{number}", (match.start(1), match.end(1) - match.start(1)))
        for number, match in enumerate(QUOTE.finditer(body), 1)
    )
    return FollowResult((), offers, {"pages": learned.get("pages", 0) + 1}, end="" if offers else "nobody is quoted")


def quoted(task: Task) -> list[Observation | Skip]:
    """Make a record of each quotation."""
    if not task.offers:
        return [Skip(Reason.NOT_WANTED, message="nobody is quoted")]
    found: list[Observation | Skip] = []
    for offer in task.offers:
        text = task.part(offer).decode()
        found.append(Observation(offer.key, {"quote": text}, text))
    return found


COLLECTION = Collection(
    name="quotes",
    phases=("look", "quote"),
    discovery=Captures(select, "1", follow),
    steps=(Settle("quote", "1", quoted),),
    adapter="windrow_quotes.collection:ADAPTER",
    configuration=Configuration(
        settings=(store_of("quotes"),),
        source=(*CAPTURED, Setting("pages", PATTERN, "", "regular expression of the addresses to look at")),
    ),
)

ADAPTER = RecordAdapter(COLLECTION)
