"""The words a collection is written in.

A collection is a `Collection` value: its phases, its discovery, and an ordered row of steps. Steps are functions from
values to values; the engine does everything that reads, waits or writes.
"""

from __future__ import annotations

from windrow.contract.answers import (
    Answer,
    Ask,
    DocumentPart,
    FormField,
    Observation,
    Offering,
    Request,
    Skip,
    Turn,
    Waits,
)
from windrow.contract.collection import Collection
from windrow.contract.discoveries import Crawl, CrawlRules, Discovery, Listing, Members, Planner, Requests, no_origins
from windrow.contract.steps import (
    ASK,
    NOT_MODIFIED,
    OK,
    REQUEST,
    ROBOTS,
    Check,
    Derive,
    Entity,
    ItemStep,
    Judge,
    Load,
    Observed,
    Read,
    Rows,
    Settle,
    State,
    Step,
    Summarise,
    Task,
    has_document,
    observed,
)

__all__ = [
    "ASK",
    "NOT_MODIFIED",
    "OK",
    "REQUEST",
    "ROBOTS",
    "Answer",
    "Ask",
    "Check",
    "Collection",
    "Crawl",
    "CrawlRules",
    "Derive",
    "Discovery",
    "DocumentPart",
    "Entity",
    "FormField",
    "ItemStep",
    "Judge",
    "Listing",
    "Load",
    "Members",
    "Observation",
    "Observed",
    "Offering",
    "Planner",
    "Read",
    "Request",
    "Requests",
    "Rows",
    "Settle",
    "Skip",
    "State",
    "Step",
    "Summarise",
    "Task",
    "Turn",
    "Waits",
    "has_document",
    "no_origins",
    "observed",
]
