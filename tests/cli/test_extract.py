"""`windrow extract`: the main content of a file, of standard input, or of one address."""

from __future__ import annotations

import gzip
import io
import sys
from types import SimpleNamespace

import pytest
from tools.command import MESSAGES

from tests.cli.test_begin import tree
from tests.content.test_article import PAGE
from tests.requests.workshop import Server
from windrow.formats.http import CUT_BODY

FIELDS = MESSAGES["extract"].shape


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    return path


def test_a_file_is_printed_as_text_or_markdown_and_nothing_is_written(page, windrow) -> None:
    before = tree(page.parent)
    output = windrow("extract", page.name)
    assert (output.code, output.err) == (0, "")
    assert "This is a sentence of the article" in output.out
    assert "Coffee" not in output.out
    output = windrow("extract", page.name, "--as", "markdown", "--url", "https://site.example/a/")
    assert "**Hot** [tea](https://site.example/more)" in output.out
    assert tree(page.parent) == before


@pytest.mark.parametrize("how", [("--json",), ("--as", "json")])
def test_json_has_all_of_it_as_documented(page, how, windrow) -> None:
    (extract,) = windrow("extract", page.name, "--url", "https://site.example/a/", *how).messages
    assert set(extract) == {"type", *FIELDS}
    assert (extract["type"], extract["title"], extract["authors"]) == ("extract", "Tea is hot", ["Ann Lee", "Bo Ek"])
    assert {"text", "path", "fate", "likelihood"} == set(extract["blocks"][0])
    assert extract["links"][0]["url"].startswith("https://site.example/")


def test_standard_input_is_read(monkeypatch, windrow) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(PAGE.encode())))
    assert "This is a sentence of the article" in windrow("extract", "-").out


def test_what_has_no_content_gives_1_and_says_where_to_look(tmp_path, windrow) -> None:
    (tmp_path / "empty.html").write_text("<title>Tea</title><body></body>")
    output = windrow("extract", tmp_path / "empty.html")
    assert (output.code, output.out.strip()) == (1, "")
    assert "--as json" in output.err


def test_controls_of_a_stranger_do_not_reach_the_terminal(tmp_path, windrow) -> None:
    (tmp_path / "odd.html").write_text(
        f"<main><h1>Tea</h1><p>{'red wine and more of it, a sentence. ' * 9}\x1b[31m</main>"
    )
    assert "\x1b" not in windrow("extract", tmp_path / "odd.html").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nowhere.html",), 2, "there is no file nowhere.html"),
        (("https://site.example/", "--url", "https://x.example/"), 2, "`url` can only be given with bytes or a file"),
        (("gopher://x/",), 2, "is not a web address"),
        (("https://site.example/",), 4, "must name a contact"),
    ],
)
def test_what_cannot_be_read_is_said_with_what_to_do(words, code, message, tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    output = windrow("extract", *words)
    assert output.code == code
    assert message in output.err


def test_a_page_too_large_is_refused(page, monkeypatch, windrow) -> None:
    monkeypatch.setattr("windrow.app.extract.MAX_PAGE_SIZE", 100)
    output = windrow("extract", page.name)
    assert output.code == 2
    assert "larger than 100 bytes" in output.err


def test_an_address_is_asked_for_once_as_the_contact_of_the_workspace(root, small, windrow) -> None:
    main_file = root / "windrow.toml"
    main_file.write_text(f'contact = "https://example.org/us"\n{main_file.read_text()}')
    before, mark = tree(root), small.mark()
    output = windrow("extract", f"{small.origin(0)}/a.html", "--as", "markdown")
    assert (output.code, output.out.splitlines()[0]) == (0, "# a"), output.err
    assert f"[b.html]({small.origin(0)}/b.html)" in output.out
    (asked,) = small.asked(mark)
    assert (asked.path, "https://example.org/us" in asked.agent) == ("/a.html", True)
    packed = windrow("extract", f"{small.origin(0)}/packed.html")
    assert packed.out.startswith("packed")
    assert CUT_BODY not in packed.err
    small.put(0, "packed.html", gzip.compress(PAGE.encode() * 20)[:-9])
    assert CUT_BODY in windrow("extract", f"{small.origin(0)}/packed.html").err
    assert tree(root) == before


def test_a_redirect_is_followed(root, small, windrow) -> None:
    main_file = root / "windrow.toml"
    main_file.write_text(f'contact = "https://example.org/us"\n{main_file.read_text()}')
    mark = small.mark()
    (page,) = windrow("extract", f"{small.origin(0)}/old.html", "--json").messages
    assert (page["title"], page["url"]) == ("new", f"{small.origin(0)}/new.html")
    assert [request.path for request in small.asked(mark)] == ["/old.html", "/new.html"]
    output = windrow("try", f"{small.origin(0)}/old.html", "--collection", "pages", "--json")
    assert output.of("fetched")[0]["key"] == f"{small.origin(0)}/new.html"
    assert [note["message"] for note in output.of("finding") if note["kind"] == "Redirected"] == [
        f"to {small.origin(0)}/new.html"
    ]


def test_what_an_address_answers_instead_is_said(root, small, windrow) -> None:
    output = windrow("extract", f"{small.origin(0)}/missing.html", "--json")
    assert output.code == 1
    assert "not_found" in output.err


def test_a_private_number_is_asked_only_where_a_source_lies(root, small, windrow) -> None:
    mark = small.mark()
    output = windrow("extract", "http://127.0.0.1:9/", "--json")
    assert output.code == 1
    assert "private_address" in output.err
    assert small.asked(mark) == []


def test_the_login_of_a_source_is_not_sent(tmp_path, monkeypatch, windrow) -> None:
    server = Server(lambda _: (200, PAGE.encode(), {"Content-Type": "text/html"}))
    url = f"{server.url.replace('://', '://me@')}out/"
    source = f'[source.h]\ncollection = "drops"\ncentre = "H"\nurl = "{url}"\nsecret = "env:DROP_PASSWORD"\n'
    (tmp_path / "windrow.toml").write_text(f'contact = "https://example.org/us"\n{source}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DROP_PASSWORD", "s3cr3t-word")
    try:
        for path in ("out/a.html", "b.html"):
            output = windrow("extract", f"{server.url}{path}")
            assert "This is a sentence of the article" in output.out, output.err
    finally:
        server.close()
    assert [request.path for request in server.asked] == ["/out/a.html", "/b.html"]
    assert [request.fields.get("authorization") for request in server.asked] == [None, None]
