"""Rows that do something, and rows that are made of several columns each; all others are written into `typed`."""

from __future__ import annotations

import json
from typing import NamedTuple

from windrow.model import Attachment, HttpRequest


class RequestRow(NamedTuple):
    """What is asked at an address, as its table has it: headers and attachments are JSON."""

    digest: int
    method: str
    headers: str
    body: bytes
    context: str
    attachments: str
    seconds: float

    def request(self) -> HttpRequest:
        """Return the request."""
        headers = tuple(map(tuple, json.loads(self.headers)))
        attachments = tuple(Attachment(*part) for part in json.loads(self.attachments))
        return HttpRequest(self.method, headers, self.body, self.context, attachments, self.seconds)
