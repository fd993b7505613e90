"""The collection `quotes`: quotations in pages that other collections fetched; it requests nothing itself."""

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

NOT_HTML = Skip(Reason.NOT_WANTED, message="it is no HTML")
ELSEWHERE = Skip(Reason.OUT_OF_SCOPE, message="its address does not match `pages`")


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:
    """Select HTML pages whose address matches the setting `pages` of a source."""
    matches = re.compile(source.options["pages"]).search

    def refuse(line: CdxLine) -> Skip | None:
        if line.mime != "text/html":
            return NOT_HTML
        return None if matches(line.url) else ELSEWHERE

    return refuse


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer each quotation of a page."""
    body = answer.view.read()
    offers = tuple(
        Offering(f"{answer.request.url}#{number}", (match.start(1), match.end(1) - match.start(1)))
        for number, match in enumerate(QUOTE.finditer(body), 1)
    )
    return FollowResult((), offers, {"pages": learned.get("pages", 0) + 1}, end="" if offers else "nobody is quoted")


def read_quotes(task: Task) -> list[Observation | Skip]:
    """Return a record of each quotation of a page."""
    if not task.offers:
        return [Skip(Reason.NOT_WANTED, message="nobody is quoted")]
    observations: list[Observation | Skip] = []
    for offer in task.offers:
        text = task.part(offer).decode()
        observations.append(Observation(offer.key, {"quote": text}, text))
    return observations


COLLECTION = Collection(
    name="quotes",
    phases=("look", "quote"),
    discovery=Captures(select, "1", follow),
    steps=(Settle("quote", "1", read_quotes),),
    adapter="windrow_quotes.collection:ADAPTER",
    configuration=Configuration(
        settings=(store_of("quotes"),),
        source=(*CAPTURED, Setting("pages", PATTERN, "", "regular expression of the addresses to look at")),
    ),
)

ADAPTER = RecordAdapter(COLLECTION)
