"""What `windrow try` yields: the bytes, documents, records and findings of one address or file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from windrow.model import Level
from windrow.reasons import Reason


class FetchedBytes(NamedTuple):
    """The bytes that `windrow try` read; with a `reason` if a run would refuse them by their name."""

    address: str
    key: str
    size: int
    digest: str
    seconds: float
    reason: Reason | None = None


class DocumentReport(NamedTuple):
    """One document that `windrow try` read: the last phase it reached, and the reason if it was refused there."""

    name: str
    kind: str
    size: int | None
    digest: str
    phase: str
    reason: Reason | None = None
    records: int = 0


class RecordPreview(NamedTuple):
    """One record that `windrow try` read, as a run would load it: the columns of its first row by name."""

    document: str
    kind: str
    identifier: str
    table: str
    fields: Mapping[str, Any]


class DocumentFinding(NamedTuple):
    """A finding in a document that `windrow try` read."""

    document: str
    phase: str
    level: Level
    kind: str
    message: str
    line: int | None = None
    column: int | None = None


TrialPart = FetchedBytes | DocumentReport | RecordPreview | DocumentFinding
"""The parts that `windrow try` yields."""


TRIAL_TYPES: Mapping[type[TrialPart], str] = {
    FetchedBytes: "fetched", DocumentReport: "document", RecordPreview: "record", DocumentFinding: "finding",
}  # fmt: skip
"""The `type` of each part in JSON."""
