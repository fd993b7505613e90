"""What a request sends: its own bytes, with kept documents between them that are read as they are sent."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from windrow.engine.requests.answers import body_of
from windrow.errors import StepError
from windrow.model import HttpRequest, Limits
from windrow.reasons import Reason
from windrow.stores.archive import open_response

BLOCK = 1 << 18
"""Bytes that are read at a time."""


class _Stretch(NamedTuple):
    view: BinaryIO
    offset: int
    length: int


class Upload:
    """The body of a request that sends kept documents; `size` in bytes. To be closed."""

    def __init__(self, folder: Path, request: HttpRequest, limits: Limits) -> None:
        """Open what is sent; StepError where it is not kept any more, or has not as many bytes."""
        self._stretches: list[_Stretch] = []
        at = 0
        for one in sorted(request.attachments, key=lambda one: one.at):
            if one.place is None:
                raise StepError("the document that is to be sent is not kept any more", Reason.NOT_FOUND)
            self._own(request.body[at : one.at])
            at = one.at
            answer = open_response(folder, one.place)
            view = body_of(answer.view, answer.fields, limits)
            whole = view.seek(0, io.SEEK_END)
            length = whole - one.offset if one.length < 0 else one.length
            if not 0 <= one.offset <= one.offset + length <= whole:
                told = f"bytes {one.offset} to {one.offset + length} are to be sent of a document of {whole}"
                raise StepError(told, Reason.STEP_FAILED)
            self._stretches.append(_Stretch(view, one.offset, length))
        self._own(request.body[at:])
        self.size = sum(one.length for one in self._stretches)

    def _own(self, content: bytes) -> None:
        if content:
            self._stretches.append(_Stretch(io.BytesIO(content), 0, len(content)))

    def blocks(self) -> Iterator[bytes]:
        """Yield the body, some bytes at a time."""
        for view, offset, length in self._stretches:
            view.seek(offset)
            left = length
            while left:
                block = view.read(min(BLOCK, left))
                if not block:
                    raise StepError("the document that is to be sent ends early", Reason.NOT_FOUND)
                left -= len(block)
                yield block

    def close(self) -> None:
        """Close what was opened."""
        for one in self._stretches:
            one.view.close()
