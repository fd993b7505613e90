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
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{origin}/a.html\n# none\npages\nhttps://a b/\n{origin}/b.html\n"))
    output = windrow("run", "-")
    assert (output.code, "web addresses: line 3 ('pages'), line 4 ('https://a b/')" in output.err) == (2, True)
    monkeypatch.setattr("sys.stdin", io.StringIO("onne\ntwo\nnowhere\n"))
    assert "there is no source or collection 'onne' or 'nowhere'; did you mean one?" in windrow("run", "-").err
    assert windrow("run", f"{origin}/a.html", "pages").code == 2
    assert json.loads(windrow("status", "--json").out.splitlines()[0])["type"]


@pytest.mark.parametrize("address", ["http://", "https://a b/", "http://[::1"])
def test_an_address_that_is_not_valid_is_a_usage_error(root: Path, windrow, address: str) -> None:
    for options in ([], ["--dry-run"]):
        output = windrow("run", address, *options)
        assert output.code == 2, output.err
        assert "is not a web address" in output.err


def test_a_host_is_requested_for_each_source_that_has_it(root: Path, small: Village, windrow) -> None:
    config, origin = root / "windrow.toml", small.origin(0)
    head, _, sources = config.read_text().partition("[source.one]")
    parts_of_host = "".join(
        f'[source.{name}]\ncollection = "pages"\nseeds = ["{origin}/{name}.html"]\npaths = ["/{name}.html$"]\n'
        for name in ("a", "b")
    )
    config.write_text(f"{head}{parts_of_host}")
    began = small.mark()
    summary = windrow("run", "--json").of("summary")[0]
    assert paths_asked(small, began) == ["/a.html", "/b.html"], "two sources with other paths, in one run"
    assert {source["source"]: source["new"] for source in summary["sources"]} == {"a": 1, "b": 1}
    for path in ("/new.html", "/hidden.html"):
        began = small.mark()
        assert windrow("run", f"{origin}{path}", "--quiet").code == 0
        assert paths_asked(small, began) == [path], "an address of a host that has sources"
    for name in ("one", "renamed"):
        config.write_text(f"{head}{parts_of_host}[source.{name}]{sources}")
        began = small.mark()
        assert windrow("run", name, "--dry-run", "--json").of("would_fetch")
        assert windrow("run", name, "--limit", "1", "--quiet").code == 0
        assert f"{name}: " in (text := windrow("status").out) and "due now" in text
        assert windrow("run", name, "--quiet").code == 0
        assert "due now" not in windrow("status").out
        assert {"/", "/a.html", "/b.html"} <= {*paths_asked(small, began)}, name
    status = {source["source"]: source["items"] for source in windrow("status", "--json").of("status")[0]["sources"]}
    assert (status["a"], status["b"]) == (1, 1)
    assert status["renamed"] >= 5
    why = windrow("why", f"{origin}/a.html", "--json")
    assert len({message["session"] for message in why.messages if message.get("event") == "attempt"}) == 3, why.out
    assert windrow("check").code == 0


def test_what_was_taken_down_is_not_requested_for_another_source(root: Path, small: Village, windrow) -> None:
    origin = small.origin(0)
    assert windrow("run", f"{origin}/a.html", f"{origin}/b.html", "--quiet").code == 0
    assert windrow("forget", "--yes", f"{origin}/a.html").code == 0
    began = small.mark()
    assert windrow("run", "one", "--quiet").code == 0
    assert "/b.html" in paths_asked(small, began)
    assert "/a.html" not in paths_asked(small, began)


def test_a_page_that_the_server_does_not_send_has_failed(root: Path, small: Village, windrow) -> None:
    origin = small.origin(0)
    output = windrow("run", f"{origin}/empty.html", f"{origin}/unasked.html", "--json")
    summary = output.of("summary")[0]
    assert output.code == summary["exit_code"] == 3
    assert {reason["reason"]: reason["items"] for reason in summary["reasons"]} == {"no_text": 1, "protocol_error": 1}
    assert summary["sources"][0]["failed"] == 2
    assert "the server answers 204" in summary["sources"][0]["error"]
    assert "304 (not modified), but the document was requested as new" in summary["sources"][0]["error"]
