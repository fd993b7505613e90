"""The collection `glossary`: terms from an API, newest first, in lines of JSON; a service defines each term."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from windrow.adapters.records import RecordAdapter
from windrow.contract import (
    Answer,
    Ask,
    Collection,
    FollowResult,
    Observation,
    Offering,
    Request,
    Requests,
    Settle,
    Skip,
    Task,
)
from windrow.model import Source
from windrow.reasons import Reason
from windrow.settings.configuration import Configuration, Service
from windrow.settings.kinds import DURATION, TEXT, URL
from windrow.settings.setting import ASKED, Setting, store_of

NEXT = re.compile(r'<([^>]+)>;\s*rel="?next"?')


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Request the first page, each time it is due."""
    return (Request("terms?page=1", "page", every=int(source.options["every"])),)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer each line of a page, and request the next page.

    Until the oldest term was seen every page is requested; after that, only while a page has new terms.
    """
    if answer.status != 200:
        return FollowResult(skip=Reason.PROTOCOL_ERROR)
    offers = tuple(Offering(json.loads(line)["id"], (start, len(line))) for start, line in lines(answer.view.read()))
    next_page = NEXT.search(answer.fields.get("link", ""))
    if next_page is None:
        return FollowResult((), offers, {"complete": True}, end="the last page")
    request = Request(next_page[1], "page", priority=1, only_if_new=learned.get("complete", False))
    return FollowResult((request,), offers, {"pages": learned.get("pages", 0) + 1})


def lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the offset of each line, and the line without its end."""
    start = 0
    for line in content.splitlines(keepends=True):
        if line.strip():
            yield start, line.rstrip(b"\r\n")
        start += len(line)


def define(task: Task) -> Iterator[Observation | Skip | Ask]:
    """Yield a record of each term, whose definition a service returns."""
    for offer in task.offers:
        term = json.loads(task.part(offer))
        if not term.get("term"):
            yield Skip(Reason.NOT_VALID, offer.key, "it has no term")
            continue
        answer = task.answers.get(offer.key)
        if answer is None:
            question = {"term": term["term"], "language": task.options["language"]}
            yield Ask(offer.key, "definer", "define", body=json.dumps(question).encode())
            continue
        if answer.status != 200:
            yield Skip(Reason.NOT_FOUND, offer.key, "the service does not know it")
            continue
        entry = {"term": term["term"], "definition": json.load(answer.view)["definition"]}
        at = datetime.fromisoformat(term["updated"])
        yield Observation(offer.key, entry, f"{entry['term']} {entry['definition']}", at)


def list_definitions(task: Task) -> list[Observation | Skip | Ask]:
    """Return what `define` yields as a list, which can be sent to another process."""
    return list(define(task))


COLLECTION = Collection(
    name="glossary",
    phases=("ask", "define"),
    discovery=Requests(begin, follow),
    steps=(Settle("define", "1", list_definitions),),
    adapter="windrow_glossary.collection:ADAPTER",
    configuration=Configuration(
        settings=(
            store_of("glossary"),
            Setting("glossary.language", TEXT, "en", "the language of definitions"),
            Setting("glossary.definer", URL, "", "where the service that defines terms is"),
        ),
        source=(*ASKED, Setting("every", DURATION, 3600.0, "how often the first page is asked")),
        services=(Service("definer", "glossary.definer", busy=0.5),),
    ),
)

ADAPTER = RecordAdapter(COLLECTION)
