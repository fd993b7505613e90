"""What processes of tests' collections load, loaded once in the server that they are forked from.

The model of languages takes half a second. Functions of a test's collection are found by importing its module, which
imports pytest.
"""

import pytest  # noqa: F401

import windrow.adapters.records  # noqa: F401
from tests import clock, sessions  # noqa: F401
from windrow.formats.sniff import detect_language

detect_language("A text that is long enough for its language to be looked for.")
