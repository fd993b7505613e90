"""The ready parsers by name, as a source's `parser` has it."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.collections.events.parser import EventParser

PARSERS: Mapping[str, EventParser] = {}
