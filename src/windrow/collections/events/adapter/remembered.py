"""The parsers of all sources on the ledger, so that one that is taken out of the configuration is read by its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from typing import Any

from windrow.collections.events.parser import EventParser, ParserRules
from windrow.collections.events.settings import ADDRESS, PARSER
from windrow.engine.ledger import Ledger
from windrow.model import Site, Source

_LEARNED = "parser"
_CONFIGURED = -1
"""In place of the visit that something was learned from: no takedown of an answer makes it forgotten."""


def remember_parsers(ledger: Ledger, collection: str, sources: Iterable[Source]) -> None:
    """Put the parser and address of each source on the ledger, where they are not there already."""
    known = ledger.requests.learned_as(collection, _LEARNED)
    for one in sources:
        told = {"address": one.options[ADDRESS], **_spelled(one.options[PARSER])}
        if known.get(one.name) != told:
            with ledger.writing() as writer:
                writer.requests.learn(collection, one.name, {_LEARNED: told}, _CONFIGURED)


def removed_sources(ledger: Ledger, collection: str, sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return the sources that were configured once and are not any more: nobody asks them, their documents are read."""
    configured = {one.name for one in sources}
    return tuple(
        Source(name, collection, Site(""), active=False, options={ADDRESS: told["address"], PARSER: _read_back(told)})
        for name, told in sorted(ledger.requests.learned_as(collection, _LEARNED).items())
        if name not in configured
    )


def _spelled(parser: EventParser) -> dict[str, Any]:
    versions = [_listed(asdict(rules)) | {"since": rules.since.isoformat()} for rules in parser.versions]
    return _listed(asdict(parser)) | {"versions": versions}


def _listed(words: dict[str, Any]) -> dict[str, Any]:
    """Return words as JSON gives them back: so they are equal to what is on the ledger."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in words.items()}


def _read_back(told: dict[str, Any]) -> EventParser:
    """Make a parser of what `_spelled` wrote; a later windrow may know fewer words, or more."""
    rules = tuple(map(_rules, told["versions"]))
    return EventParser(**(_known(told, EventParser) | {"versions": rules}))


def _rules(told: dict[str, Any]) -> ParserRules:
    return ParserRules(**(_known(told, ParserRules) | {"since": date.fromisoformat(told["since"])}))


def _known(told: dict[str, Any], made: type[EventParser | ParserRules]) -> dict[str, Any]:
    names = set(made.__dataclass_fields__)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in told.items() if name in names}
