"""The collection `glossary`: pages of terms, newest first, a line of JSON for each; a service defines each term."""

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
from windrow.settings.kinds import DURATION, OPEN, TEXT
from windrow.settings.setting import ASKED, Setting, store_of

NEXT = re.compile(r'<([^>]+)>;\s*rel="?next"?')


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Ask for the first page, each time it is due."""
    return (Request("terms?page=1", "page", every=int(source.options["every"])),)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer each line of a page, and ask for the next page.

    Until the oldest term was seen every page is asked for; from then on only while a page has terms that are new.
    """
    if answer.status != 200:
        return FollowResult(skip=Reason.PROTOCOL_ERROR)
    offers = tuple(Offering(json.loads(line)["id"], (start, len(line))) for start, line in lines(answer.view.read()))
    following = NEXT.search(answer.fields.get("link", ""))
    if following is None:
        return FollowResult((), offers, {"complete": True}, end="the last page")
    request = Request(following[1], "page", priority=1, only_if_new=learned.get("complete", False))
    return FollowResult((request,), offers, {"pages": learned.get("pages", 0) + 1})


def lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield where each line begins, and the line."""
    start = 0
    for line in content.splitlines(keepends=True):
        if line.strip():
            yield start, line.rstrip(b"\r\n")
        start += len(line)


def define(task: Task) -> Iterator[Observation | Skip | Ask]:
    """Make a record of each term; its definition is asked of a service."""
    for offer in task.offers:
        term = json.loads(task.part(offer))
        if not term.get("term"):
            yield Skip(Reason.NOT_VALID, offer.key, "it has no term")
            continue
        answer = task.answers.get(offer.key)
        if answer is None:
            asked = {"term": term["term"], "language": task.options["language"]}
            yield Ask(offer.key, "definer", "define", body=json.dumps(asked).encode())
            continue
        if answer.status != 200:
            yield Skip(Reason.NOT_FOUND, offer.key, "the service does not know it")
            continue
        value = {"term": term["term"], "definition": json.load(answer.view)["definition"]}
        at = datetime.fromisoformat(term["updated"])
        yield Observation(offer.key, value, f"{value['term']} {value['definition']}", at)


def settled(task: Task) -> list[Observation | Skip | Ask]:
    """Return what `define` makes: results go to another process."""
    return list(define(task))


COLLECTION = Collection(
    name="glossary",
    phases=("ask", "define"),
    discovery=Requests(begin, follow),
    steps=(Settle("define", "1", settled),),
    adapter="windrow_glossary.collection:ADAPTER",
    configuration=Configuration(
        settings=(
            store_of("glossary"),
            Setting("glossary.language", TEXT, "en", "the language of definitions"),
            Setting("glossary.definer", OPEN, "", "where the service that defines terms is"),
        ),
        source=(*ASKED, Setting("every", DURATION, 3600.0, "how often the first page is asked")),
        services=(Service("definer", "glossary.definer", busy=0.5),),
    ),
)

ADAPTER = RecordAdapter(COLLECTION)
