from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Windrow, page
from tests.servers.village import Village
from windrow.engine.crawl.request_time import LATE_RULE


def test_a_site_that_takes_too_long_does_not_keep_pages_unread(
    root: Path, small: Village, windrow: Windrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.put(0, "index.html", page("marigold", *(f"a.html?{number}" for number in range(3)), "a.html", "b.html"))
    monkeypatch.setenv("WINDROW_RUN_REQUEST_DEADLINE", "6 s")
    monkeypatch.setenv("WINDROW_SOURCE_ONE_DELAY", "4 s")
    output = windrow("run", "one")
    assert LATE_RULE in output.err
    assert small.origin(0) in windrow("search", "marigold").out, "what was fetched is read"
    monkeypatch.setenv("WINDROW_RUN_REQUEST_DEADLINE", "0")
    monkeypatch.setenv("WINDROW_SOURCE_ONE_DELAY", "0")
    output = windrow("run", "one")
    assert LATE_RULE not in output.err
    assert "a.html" in windrow("search", "inurl:a.html").out
