"""What `windrow try` yields: the bytes, documents, records and findings of one address or file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from windrow.model import Level
from windrow.reasons import Reason


class FetchedBytes(NamedTuple):
    """The bytes that `windrow try` fetched. `reason` is set only if a run would refuse a file of this name."""

    address: str
    key: str
    size: int
    digest: str
    seconds: float
    reason: Reason | None = None


class DocumentReport(NamedTuple):
    """A document that `windrow try` read: its last phase, the reason if it failed there, and its number of records."""

    name: str
    kind: str
    size: int | None
    digest: str
    phase: str
    reason: Reason | None = None
    records: int = 0


class RecordPreview(NamedTuple):
    """One record that `windrow try` read. `fields` are its JSON value, or the columns of its first row by name."""

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
"""One thing that `windrow try` yields."""


TRIAL_TYPES: Mapping[type[TrialPart], str] = {
    FetchedBytes: "fetched", DocumentReport: "document", RecordPreview: "record", DocumentFinding: "finding",
}  # fmt: skip
"""The value of `type` in JSON for each class of `TrialPart`."""
