"""Whole runs of the command line with a server that sends prepared bytes."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from lxml import html as lxml_html

from tests.cli.conftest import OPERATOR
from tests.servers.hostile import BAD, GOOD, answer, serve_answers
from windrow.app.begin import prepare
from windrow.reasons import Reason

Answers = dict[tuple[str, str], bytes]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make a workspace that crawls a page; it is the current folder."""

    def make(seed: str, *lines: str, name: str = "workspace") -> Path:
        folder = tmp_path / name
        prepare(folder)
        private = OPERATOR.replace('"127.0.0.1"', f'"{GOOD}", "{BAD}"')
        source = "\n".join((f'[source.site]\ncollection = "pages"\nseeds = ["{seed}"]', *lines))
        (folder / "windrow.toml").write_text(f'{private}delay = "1 ms"\n{source}\n')
        monkeypatch.chdir(folder)
        return folder

    return make


def ask(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as link:
        return link.execute(sql).fetchall()


def test_a_page_that_is_called_an_image_is_ingested_in_every_book(workspace, windrow) -> None:
    answers = {
        (GOOD, "/"): answer(b"<a href=/page.php>x</a><a href=/real.php>y</a> The front page."),
        (GOOD, "/page.php"): answer(b"<html><p>All about harbours. <a href=/further>on</a>", kind="image/png"),
        (GOOD, "/real.php"): answer(b"\x89PNG\r\n\x1a\n" + bytes(40), kind="image/png"),
        (GOOD, "/further"): answer(b"<p>Further on."),
    }
    with serve_answers(answers) as server:
        root = workspace(f"{server.origin(GOOD)}/")
        assert windrow("run").code == 0
    codes = {"/": 20, "/page.php": 20, "/real.php": 29, "/further": 20}
    summary = "SELECT path, exit_code, mimetype_id IS NULL FROM crawl_summary JOIN entity_generation USING"
    summary += " (entity_generation_id) JOIN file_summary USING (entity_generation_id) JOIN url USING (url_id)"
    rows = ask(root / "summary.sqlite", summary)
    assert {row[0]: row[1] for row in rows} == codes
    assert {row[0] for row in rows if row[2]} == {"/page.php"}, "its server and its bytes do not agree"
    for table in ("crawl_log", "request"):
        sql = f"SELECT path, exit_code FROM {table} JOIN url USING (url_id) WHERE path <> '/robots.txt'"
        assert dict(ask(root / "crawler.sqlite", sql)) == codes
    sql = "SELECT path, last_crawl_exit_code, last_contentful_crawl_time_unix_utc IS NULL FROM crawl_candidate"
    rows = ask(root / "crawler.sqlite", f"{sql} JOIN url USING (url_id)")
    assert {row[0]: row[1] for row in rows} == codes
    assert {row[0] for row in rows if row[2]} == {"/real.php"}
    assert windrow("check").code == 0


def test_dates_are_dates_and_codes_words_wherever_people_or_programs_read_them(workspace, windrow, tmp_path) -> None:
    dated = (
        b'<html lang=en><title>Harbour</title><meta property="article:modified_time" content="2026-01-02T03:04:05Z">'
    )
    dated += (
        b"<main><h1>Harbour</h1><p>All about the harbour. <a href=/further>on</a> <a href=mailto:a@b.example>me</a>"
    )
    with serve_answers({(GOOD, "/"): answer(dated), (GOOD, "/further"): answer(b"<p>Further on.")}) as server:
        url = f"{server.origin(GOOD)}/"
        workspace(url)
        assert windrow("run").code == 0
        tried = [windrow("try", url, "--collection", "pages", *form) for form in ((), ("--json",))]
    exported = windrow("export", "pages", "--as", "jsonl")
    others = [
        windrow(*words, *form)
        for words in (("why", url), ("search", "harbour"), ("status",), ("changes",), ("check",))
        for form in ((), ("--json",))
    ]
    for output in (*tried, exported, *others):
        assert output.code == 0, output.err
        # Seconds since 1970 are ten digits of their own, with commas or without.
        assert not re.search(r"(?<![\w.:-])1,?[67]\d\d?,?\d{3},?\d{3}(?![\w.])", output.out), output.out
    assert "updated=2026-01-02 03:04:05" in tried[0].out
    assert "locality=in" in tried[0].out
    fields = {record["identifier"]: record["fields"] for record in tried[1].of("record")}
    assert fields["Harbour"]["updated"] == "2026-01-02T03:04:05Z"
    assert fields["mailto:a@b.example"]["destination"] == "communication"
    (front,) = [json.loads(line) for line in exported.out.splitlines() if '"Harbour"' in line]
    assert front["updated"] == "2026-01-02T03:04:05Z"
    assert front["first_seen"].startswith("20")
    (hit,) = windrow("search", "title:harbour", "--json").of("page_result")
    assert hit["updated"] == "2026-01-02T03:04:05Z"


PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
SHOWN = b"""<!doctype html><title>Harbour</title><link rel=stylesheet href=/look.css?v=2><link rel=icon href=/icon.png>
<style>h1 { background: url("drawn.png") }</style><script src=/code.js></script><main><h1>Harbour</h1>
<p style="list-style: url(dot.png)">All about the harbour. <img src=ship.png srcset="ship2.png 2x, shut/ship3.png 3x">
<video src=/film.mp4 poster=/poster.png></video><img src=data:image/png;base64,AA><img src="http://[bad"><a href=/next>on</a>
<img src="%b/cdn.png"><img src="http://10.1.2.3/inside.png"><img src="http://127.0.0.1:1/gone.png"><img src=/moved.png>"""
STYLE = b"@import 'more.css'; @font-face { font-family: f; src: url(fonts/f.woff2) } /* url(/never.png) */ h1 { color: red }"
ASSETS = {"/look.css?v=2", "/more.css", "/fonts/f.woff2", "/icon.png", "/drawn.png", "/code.js", "/dot.png", "/ship.png",
          "/ship2.png", "/poster.png", "/moved.png", "/moved-to.png"}  # fmt: skip


def harbour(cdn: str) -> Answers:
    css, font = {"kind": "text/css"}, {"kind": "font/woff2"}
    pictures = {(GOOD, path): answer(PNG, kind="image/png") for path in ASSETS if path.endswith(".png")}
    return pictures | {
        (GOOD, "/robots.txt"): answer(b"User-agent: *\nDisallow: /shut/\n", kind="text/plain"),
        (GOOD, "/"): answer(SHOWN % cdn.encode()),
        (GOOD, "/next"): answer(b"<p>Next.<img src=ship.png>"),
        (GOOD, "/look.css?v=2"): answer(STYLE, **css),
        (GOOD, "/more.css"): answer(b"@import url(look.css?v=2); h1 { font-family: f }", **css),
        (GOOD, "/fonts/f.woff2"): answer(b"wOF2" + bytes(20), **font),
        (GOOD, "/code.js"): answer(b"document.title = 'run'", kind="text/javascript"),
        (GOOD, "/moved.png"): answer(status="302 Found", more="Location: /moved-to.png\r\n"),
        (BAD, "/robots.txt"): answer(b"User-agent: *\nDisallow: /secret\n", kind="text/plain"),
        (BAD, "/cdn.png"): answer(PNG, kind="image/png"),
    }


def test_what_a_page_needs_to_be_shown_is_kept_on_request_and_is_no_page(workspace, windrow) -> None:
    answers: Answers = {}
    with serve_answers(answers) as server:
        answers |= harbour(server.origin(BAD))
        root = workspace(f"{server.origin(GOOD)}/")
        assert windrow("run").code == 0
        assert {path for _, path in server.asked} == {"/robots.txt", "/", "/next"}, "not asked for unless said so"
        root = workspace(f"{server.origin(GOOD)}/", "assets = true", name="whole")
        server.asked.clear()
        output = windrow("run", "--json")
        assert output.code == 0, output.err
        asked = list(server.asked)
        assert {path for host, path in asked if host == GOOD} == ASSETS | {"/robots.txt", "/", "/next"}
        assert {path for host, path in asked if host == BAD} == {"/robots.txt", "/cdn.png"}
        assert len(asked) == len(set(asked)), "each once"
        server.asked.clear()
        assert windrow("run").code == 0
        assert server.asked == []
    pages = ask(root / "summary.sqlite", "SELECT path FROM entity_generation JOIN url USING (url_id) ORDER BY 1")
    assert pages == [("/",), ("/next",)]
    (source,) = output.of("summary")[0]["sources"]
    assert source["new"] == 2
    kept = windrow("export", "captures", "--as", "cdxj").out
    for path in (*ASSETS - {"/moved.png"}, "/cdn.png"):
        assert path in kept, path
    inside = windrow("why", "http://10.1.2.3/inside.png").out
    assert "state: refused" in inside
    assert f"not requested: {Reason.PRIVATE_ADDRESS.meaning}" in inside
    style = windrow("why", f"{server.origin(GOOD)}/look.css?v=2").out
    assert "state: had" in style
    assert "not requested" not in style
    assert windrow("check").code == 0


@pytest.mark.parametrize("runs", [1, 2])
def test_what_was_kept_beside_a_page_becomes_a_page_when_one_links_to_it(runs, workspace, windrow) -> None:
    answers: Answers = {
        ("", "/robots.txt"): answer(b"", kind="text/plain"),
        (GOOD, "/"): answer(b"<h1>Harbour</h1><script src=/leaflet></script><a href=/next>on</a>"),
        (GOOD, "/next"): answer(b"<p>Next.</p>" + (b"<a href=/leaflet>the leaflet</a>" if runs == 1 else b"")),
        (GOOD, "/leaflet"): answer(b"<title>Leaflet</title><p>Ships and tides."),
    }
    with serve_answers(answers) as server:
        root = workspace(f"{server.origin(GOOD)}/", "assets = true")
        output = windrow("run")
        assert output.code == 0, output.err
        if runs == 2:
            assert windrow("search", "tides", "--json").of("page_result") == []
            answers[GOOD, "/next"] = answer(b"<p>Next.</p><a href=/leaflet>the leaflet</a>")
            assert windrow("run", "--again").code == 0
        assert [path for _, path in server.asked].count("/leaflet") <= runs + 1
    assert ("/leaflet",) in ask(root / "summary.sqlite", "SELECT path FROM entity_generation JOIN url USING (url_id)")
    assert [hit["title"] for hit in windrow("search", "tides", "--json").of("page_result")] == ["Leaflet"]
    assert "state: open" in windrow("why", f"{server.origin(GOOD)}/leaflet").out
    assert windrow("check").code == 0


TITLES = [
    "&lt;script>alert(1)&lt;/script>", "&lt;/title>&lt;img src=x onerror=alert(1)>", '" onmouseover="alert(1)', "]]>&amp;lt;b>",
    "\x1b[31mred\x1b]0;owned\x07", "\x9b31mC1", "\u202egnp.exe", "\u2066iso\u2069", "tag\U000e0041\U000e0042", "a\u2028b\u2029c",
    "&#0;&#27;[2J", "&#x9b;2J", "nul\x00nul", "\ufffe\uffff\ufdd0", "&#xd800;half", "line\r\nFrom: me", "back\x08\x08space",
    "%s %n {0} ${x}", "=cmd|' /C calc'!A0", "long " * 20_000, "\u200b\u200e\u061c", "a\u0301" * 5_000, "\U0001f600" * 300,
]  # fmt: skip
LEADS = [
    "http://127.0.0.9:1/", "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://0/", "http://[::1]/",
    "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://localhost/",
    "file:///etc/passwd", "gopher://127.0.0.1/", "javascript:alert(1)", "data:text/html,x", "//", "///", "http://", "http:///x",
    "http://a.example:99999/", "http://user:secret@127.0.0.3/", "http://\u2100.example/", "http://xn--/", "http://a..b/", "%",
    "\x00", "?", "#", "/r/self", "/r/two", "/r/chain0", "http://" + "a." * 2_000 + "example/", "/" + "x" * 9_000,
]  # fmt: skip
LINKS = [
    "http://127.0.0.2%2f@evil.example/", "\\\\evil.example\\x", "http:\\\\evil.example", "/%00", "/%2e%2e/%2e%2e/etc", "/..%2f..%2f",
    "/a%ff%fe", "/\u00e9\u0301", "/\u202etxt", "ht\ntp://evil.example/", "/t\tab", "http://127.0.0.2:0/", "http://127.0.0.2./",
    "http://\uff11\uff12\uff17.0.0.9/", "http://\u2024/", "//[", "http://[::1%25eth0]/", "/;x=y", "/%", "/%zz", "/a//b///c", "/./.",
    "http://xn--80ak6aa92e.example/", "http://b\u00fccher.example/", "/\ud800".encode("utf-8", "replace").decode(),
]  # fmt: skip


def test_where_a_redirect_leads_in_raw_utf_8_and_where_a_refresh_header_leads_is_asked_next(workspace, windrow) -> None:
    moved = answer(status="302 Found", more="Location: WHERE\r\n").replace(b"WHERE", "/z\u00fcrich/\u6771".encode())
    sent_on = answer(b"<p>Wait.", more="Refresh: 3; url=WHERE\r\n").replace(b"WHERE", "/b\u00e2le".encode())
    answers = {
        (GOOD, "/"): answer(b"<a href=/moved>x</a><a href=/sent-on>y</a> The front page."),
        (GOOD, "/moved"): moved,
        (GOOD, "/sent-on"): sent_on,
        (GOOD, "/z%C3%BCrich/%E6%9D%B1"): answer(b"<p>All about lakes."),
        (GOOD, "/b%C3%A2le"): answer(b"<p>All about rivers."),
    }
    with serve_answers(answers) as server:
        workspace(f"{server.origin(GOOD)}/")
        assert windrow("run").code == 0
        asked = {path for _, path in server.asked} - {"/robots.txt", "/sitemap.xml"}
        assert asked == {path for _, path in answers}
        assert ", to /z\u00fcrich/\u6771;" in windrow("why", f"{server.origin(GOOD)}/moved").out
    assert "lakes" in windrow("search", "lakes").out
    assert "rivers" in windrow("search", "rivers").out


def hostile() -> Answers:
    html = {"kind": "text/html; charset=utf-8"}
    pages = {f"/t{at}": title for at, title in enumerate(TITLES)}
    pages |= {"/links": "links"}
    answers = {
        (GOOD, path): answer(f"<title>{title}</title><h1>{title}</h1><p>Harbour {path}</p>".encode(), **html)
        for path, title in pages.items()
    }
    anchors = "".join(f'<a href="{link}">x</a>' for link in LINKS)
    answers[GOOD, "/links"] = answer(f"<p>Harbour links</p>{anchors}".encode(), **html)
    for at, to in enumerate(LEADS):
        answers[GOOD, f"/l{at}"] = answer(status="302 Found", more="Location: ").replace(
            b"Location: ", b"Location: " + to.encode() + b"\r\n"
        )
    answers[GOOD, "/r/self"] = answer(status="301 Moved", more="Location: /r/self\r\n")
    answers[GOOD, "/r/two"] = answer(status="301 Moved", more="Location: /r/three\r\n")
    answers[GOOD, "/r/three"] = answer(status="301 Moved", more="Location: /r/two\r\n")
    for at in range(60):
        answers[GOOD, f"/r/chain{at}"] = answer(status="302 Found", more=f"Location: /r/chain{at + 1}\r\n")
    heads = {
        "/h0": "A: b\r\n" * 20_000, "/h1": "X: " + "y" * 2_000_000 + "\r\n", "/h2": "Set-Cookie: a=b\r\n" * 500,
        "/h3": "Content-Type: \x1b[31m\r\n", "/h4": "Refresh: 0; url=http://127.0.0.9:1/\r\n", "/h5": "Content-Length: -1\r\n",
        "/h6": "Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\n", "/h7": "ETag: \x1b]0;x\x07\r\n",
        "/h8": 'Link: <http://127.0.0.9:1/>; rel="canonical"\r\n', "/h9": "Transfer-Encoding: chunked\r\n",
    }  # fmt: skip
    answers |= {(GOOD, path): answer(b"<p>Harbour of heads", more=more) for path, more in heads.items()}
    front = "".join(f'<a href="{path}">{path}</a>' for host, path in answers if not path.startswith("/r/"))
    return answers | {
        (GOOD, "/"): answer(front.encode(), **html),
        (GOOD, "/robots.txt"): answer(
            b"\xef\xbb\xbfUser-agent: *\r\x00Disallow: /\x1b[31m\r\nCrawl-delay: -1\nCrawl-delay: nan"
        ),
    }


SHOWN_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""What a terminal obeys, or what turns or hides the letters around it."""


def test_a_hundred_hostile_answers_in_a_whole_run_reach_no_terminal_no_page_and_no_other_host(
    workspace, windrow
) -> None:
    with serve_answers(hostile()) as server:
        root = workspace(f"{server.origin(GOOD)}/", "assets = true")
        ran = windrow("run")
        assert ran.code in {0, 3}, ran.err
        assert {host for host, _ in server.asked} == {GOOD}
        assert len(server.asked) < 400
    outputs = [windrow(*words) for words in (
        ("changes",), ("changes", "--json"), ("search", "harbour", "--limit", "100"), ("status",), ("status", "--json"),
        ("search", "harbour", "--limit", "100", "--json"), ("export", "pages", "--as", "jsonl"), ("why", "site"),
        *(("why", f"{server.origin(GOOD)}/{path}") for path in ("t4", "t5", "t6", "h3", "h7", "l8", "r/two")),
    )]  # fmt: skip
    for output in (ran, *outputs):
        assert output.code in {0, 3}, output.err
        match = SHOWN_RAW.search(output.out + output.err)
        assert match is None, (match, output.out[max(0, match.start() - 80) : match.end() + 40])
    atom, html = (windrow("changes", "--as", form) for form in ("atom", "html"))
    assert len(etree.fromstring(atom.out.encode()).findall("{*}entry")) > len(TITLES)
    page = lxml_html.fromstring(html.out)
    assert page.xpath("//script | //img | //@onerror | //@onmouseover | //*[starts-with(@href, 'javascript:')]") == []
    titles = ask(root / "summary.sqlite", "SELECT count(*) FROM document_description WHERE title IS NOT NULL")
    assert titles[0][0] > len(TITLES) - 5
    assert windrow("check").code == 0
