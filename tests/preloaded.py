"""What processes of tests' collections load, loaded once in the server that they are forked from.

The model of languages takes half a second, the models of main content and the library of calendars a tenth of one each,
the registry of languages a hundredth.
Functions of a test's collection are found by importing its module, which imports pytest and windrow's other rooms: each
process would spend most of its time on that.
"""

import errno
import socket
from multiprocessing import reduction
from typing import Any

import icalendar  # noqa: F401
import pytest  # noqa: F401

import windrow.adapters.records
import windrow.app.run
import windrow.app.workspace
import windrow.contract.json_list  # noqa: F401
from tests import clock, sessions  # noqa: F401
from tests.captures import titles  # noqa: F401
from tests.collections.events import place  # noqa: F401
from tests.engine import folder_crawl, recorded_attempts, site_crawl, summary_crawl, toy_steps  # noqa: F401
from tests.requests import workshop  # noqa: F401
from windrow.content import extract
from windrow.formats.sniff import detect_language, normalise_tag

detect_language("A text that is long enough for its language to be looked for.")
normalise_tag("en")
extract(
    b"<!DOCTYPE html><title>Quay</title><article><p>A paragraph of an article, for which the models are loaded.</article>"
)


def _receive_request(client: socket.socket, size: int, receive: Any = reduction.recvfds) -> list[int]:
    """Return the descriptors of a request, or drop the request: a client was killed before it sent them.

    multiprocessing's server ends at this: the tests kill programs at any time, and all share one server.
    """
    try:
        return list(receive(client, size))
    except (EOFError, ConnectionResetError):
        raise OSError(errno.ECONNABORTED, "the client was killed") from None


reduction.recvfds = _receive_request  # type: ignore[assignment]
