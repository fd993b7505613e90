"""The classes and functions with which a collection is declared.

A collection is a `Collection` value: its phases, its discovery, and a sequence of steps. Steps are functions from
values to values; the engine does everything that reads, waits or writes.
"""

from __future__ import annotations

from windrow.contract.answers import (
    DRIFT,
    KEYS_CHANGED,
    LONGEST_PAUSE,
    REPLACED_RULE,
    Answer,
    Ask,
    DocumentPart,
    FollowResult,
    FormField,
    LeftOutCount,
    MissingOffer,
    Observation,
    Offering,
    PendingAsk,
    Request,
    Skip,
    WholeListing,
    count_excess,
    skip_excess,
)
from windrow.contract.collection import Collection, later
from windrow.contract.columns import ColumnType, TypedColumn
from windrow.contract.discoveries import (
    Captures,
    ContentCheck,
    Crawl,
    CrawlRules,
    Discovery,
    Inputs,
    Listing,
    Members,
    Planner,
    RemoteFolder,
    Requests,
    inputs,
    no_origins,
)
from windrow.contract.steps import (
    ASK,
    CAPTURED,
    NOT_MODIFIED,
    OK,
    REQUEST,
    ROBOTS,
    AttemptObservations,
    Check,
    Derive,
    Entity,
    ItemStep,
    Judge,
    Load,
    Read,
    Rows,
    Settle,
    Step,
    Summarise,
    Task,
    Undecided,
    has_document,
    observed,
    results_of,
)

__all__ = [
    "ASK", "CAPTURED", "DRIFT", "KEYS_CHANGED", "LONGEST_PAUSE", "NOT_MODIFIED", "OK", "REPLACED_RULE", "REQUEST",
    "ROBOTS", "Answer", "Ask",
    "AttemptObservations", "Captures", "Check", "Collection", "ColumnType", "ContentCheck", "Crawl", "CrawlRules",
    "Derive", "Discovery", "DocumentPart", "Entity", "FollowResult", "FormField", "Inputs", "ItemStep", "Judge",
    "LeftOutCount", "Listing", "Load", "Members", "MissingOffer", "Observation", "Offering", "PendingAsk",
    "Planner", "Read", "RemoteFolder", "Request", "Requests", "Rows", "Settle", "Skip", "Step", "Summarise", "Task",
    "TypedColumn", "Undecided", "WholeListing", "count_excess", "has_document", "inputs", "later", "no_origins",
    "observed", "results_of", "skip_excess",
]  # fmt: skip
