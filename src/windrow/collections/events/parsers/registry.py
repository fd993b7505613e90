"""The ready parsers by name, as a source's `parser` has it: the federal government of the United States in 2026."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.collections.events.parser import EventParser
from windrow.collections.events.parsers.government import GOVERNMENT
from windrow.collections.events.parsers.house import HOUSE
from windrow.collections.events.parsers.senate import SENATE

PARSERS: Mapping[str, EventParser] = {one.name: one for one in (*SENATE, *HOUSE, *GOVERNMENT)}
