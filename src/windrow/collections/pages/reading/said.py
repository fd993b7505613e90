"""What a server says of a document: what its readers are told beside the bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContentHeaders:
    """The headers Content-Type, Last-Modified and Content-Language; empty where there are none."""

    content_type: str = ""
    last_modified: str = ""
    language: str = ""
