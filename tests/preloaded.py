"""What processes of tests' collections load, loaded once in the server that they are forked from.

The model of languages takes half a second, the models of main content and the library of calendars a tenth of one each.
Functions of a test's collection are found by importing its module, which imports pytest and windrow's other rooms.
"""

import icalendar  # noqa: F401
import pytest  # noqa: F401

import windrow.adapters.records
import windrow.app.workspace  # noqa: F401
from tests import clock, sessions  # noqa: F401
from windrow.content import extract
from windrow.formats.sniff import detect_language

detect_language("A text that is long enough for its language to be looked for.")
extract(
    b"<!DOCTYPE html><title>Quay</title><article><p>A paragraph of an article, for which the models are loaded.</article>"
)
