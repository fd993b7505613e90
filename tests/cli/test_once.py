"""Addresses in place of sources: requested once, alone, and from a list on standard input."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.servers.village import Village


def paths_asked(village: Village, since: int) -> list[str]:
    return sorted({request.path for request in village.asked(since)} - {"/robots.txt"})


def test_an_address_is_requested_once_and_no_page_that_it_links_to(root: Path, small: Village, windrow) -> None:
    began = small.mark()
    address = f"{small.origin(0)}/a.html"
    planned = windrow("run", address, "--dry-run", "--json")
    assert planned.code == 0, planned.err
    assert paths_asked(small, began) == []
    output = windrow("run", address, "--quiet")
    assert output.code == 0, output.err
    assert paths_asked(small, began) == ["/a.html"]
    assert "/a.html" in windrow("search", "about").out
    small.put(0, "a.html", "<title>a</title><main><p>Quite another text</p></main>")
    assert windrow("run", address, "--quiet").code == 0, "at once, whatever is due"
    assert "/a.html" in windrow("search", "quite").out
    assert paths_asked(small, began) == ["/a.html"]


def test_a_list_on_standard_input(root: Path, small: Village, windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    began, origin = small.mark(), small.origin(0)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"# pages\n{origin}/a.html\n\n{origin}/b.html\n"))
    output = windrow("run", "-", "--json")
    assert output.code == 0, output.err
    assert paths_asked(small, began) == ["/a.html", "/b.html"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n# nothing\n"))
    assert windrow("run", "-").code == 2
    assert windrow("run", f"{origin}/a.html", "pages").code == 2
    assert json.loads(windrow("status", "--json").out.splitlines()[0])["type"]


@pytest.mark.parametrize("address", ["http://", "https://a b/", "http://[::1"])
def test_an_address_that_is_not_valid_is_a_usage_error(root: Path, windrow, address: str) -> None:
    for options in ([], ["--dry-run"]):
        output = windrow("run", address, *options)
        assert output.code == 2, output.err
        assert "is not a web address" in output.err
