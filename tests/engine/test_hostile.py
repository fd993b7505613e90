"""Whole runs over a hostile host beside a good one: the run ends, and every failure is recorded."""

from __future__ import annotations

import gzip

import pytest

from tests.engine.site_crawl import change_ledger, crawl_sites, faults, query_ledger, source
from tests.servers.hostile import BAD, GOOD, answer, serve_answers
from windrow.engine.crawl.archiving_client import CIRCLE, ENDLESS_REDIRECTS, HOPS
from windrow.ledger import Ledger

PAGES = 20


def answer_with_head(more):
    return answer(b"<a href=/ok>x</a>", more=more)


def gzip_answer(body, level=9):
    return answer(gzip.compress(body, level), more="Content-Encoding: gzip\r\n")


def make_hostile_answers():
    """Return answers by name; some take a second to make, which each process of a test run would spend."""
    return {
        "status-spaces": b"HTTP/1.1 200" + b" " * 60_000 + b"\r\r\n\r\n",
        "open-tags": answer(b"<a" * 200_000),
        "charset": answer(b"<p>x", kind="text/html; charset=" + " " * 60_000),
        "link-quotes": answer_with_head("Link: <a>" + '; a="' * 40 + "\r\n"),
        "link-long": answer_with_head("Link: " + "<a>; rel=next, " * 4_000 + "\r\n"),
        "robots-tag": answer_with_head("X-Robots-Tag: " + "unavailable_after: 1, " * 2_500 + "\r\n"),
        "formats": answer(b"<p>" + b"".join(b"<b id=%d>" % at for at in range(3_000)) + b"<p>x" * 9_000),
        "formats-packed": gzip_answer(b"<p>" + b"".join(b"<i id=%d>" % at for at in range(3_000)) + b"<p>x" * 150_000),
        "paragraphs": answer(b"<p>" * 1_200_000),
        "nested": answer(b"<div>" * 150_000),
        "options": answer(b"<select>" + b"<option>x<optgroup>" * 100_000),
        "comments": answer(b"<!--" * 450_000),
        "metas": answer(b"<meta name=robots content=noarchive>" * 70_000),
        "links": gzip_answer(b"".join(b"<a href=http://h%d.example/>" % at for at in range(200_000))),
        "attributes": gzip_answer(b"<a " + b"".join(b"a%d=1 " % at for at in range(300_000)) + b">"),
        "feed": answer(b"<rss><channel>" + b"<item><link>/ok</link></item>" * 100_000, kind="application/rss+xml"),
        "feed-half": answer(b"<rss><channel><item><link>&#xD800;</link></item>", kind="application/rss+xml"),
        "feed-locations": answer(b"<feed><entry>" + b"<link/>" * 500_000, kind="application/atom+xml"),
        "json": answer(b'{"version":"https://jsonfeed.org/version/1","items":' + b"[" * 900_000, kind="application/feed+json"),
        "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n"
        + b"1\r\nx\r\n" * 500_000 + b"0\r\n\r\n",
        "later": answer(b"", "503 Busy", more="Retry-After: Sat, 21 Nov 99999999999 12:00:00 +99999999\r\n"),
        "dates": answer_with_head("Date: Sat, 21 Nov 99999999999 12:00:00 GMT\r\nLast-Modified: Sat, 21 Nov -1 12:00:00 GMT\r\n"
                           "Expires: 99999999999\r\n"),
        "far": b"",  # it is made when the port is known
        "folds": b"HTTP/1.1 200 OK\r\nA: b" + b"\r\n " * 20_000 + b"\r\n\r\n",
        "bomb": gzip_answer(bytes(50 << 20), 6),
        "part": answer(b"<a href=/unseen>x</a>", "206 Partial Content", more="Content-Range: bytes 0-20/9999\r\n"),
        "coded": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Type: text/html\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "bare": b'HTTP/1.1 200 OK\nContent-Type: text/html\nETag: "bare"\nConnection: close\n\n<a href=/found>x</a>',
    }  # fmt: skip


RULES = b"User-agent: *\n" + b"Disallow" + b" " * 490_000 + b"x\nSitemap: /map.xml\n"
MAP = b"<urlset>" + b"<url><loc>/ok</loc><lastmod>99999999999-01-01</lastmod></url>" * 100_000
REASONS = {
    "status-spaces": "protocol_error", "paragraphs": "too_many_elements", "bomb": "bomb_ratio", "part": "protocol_error",
    "coded": "unsupported", "far": "protocol_error",
}  # fmt: skip


def test_a_host_that_answers_with_all_that_is_bad_is_crawled_to_its_end_beside_a_good_one(tmp_path):
    answers = {(GOOD, f"/{number}"): answer(b"<a href=/%d>x</a>" % (number + 1)) for number in range(PAGES)}
    hostile_answers = make_hostile_answers()
    answers |= {(BAD, f"/{name}"): bad for name, bad in hostile_answers.items()}
    answers[BAD, "/"] = answer(b"".join(b"<a href=/%s>x</a>" % name.encode() for name in hostile_answers))
    with serve_answers(answers) as server:
        answers[BAD, "/robots.txt"] = answer(
            RULES.replace(b"/map", server.origin(BAD).encode() + b"/map"), kind="text/plain"
        )
        answers[BAD, "/map.xml"] = gzip_answer(MAP)
        location = f"Location: {server.origin(BAD)}/far-away?{'x' * 3_000}\r\n"
        answers[BAD, "/far"] = answer(b"", "301 Moved", more=location)
        crawl_sites(tmp_path, source([f"{server.origin(GOOD)}/0", f"{server.origin(BAD)}/"]))
    rows = query_ledger(
        tmp_path,
        "SELECT a.url, v.status, v.reason, v.message, v.etag FROM attempt v JOIN address a ON a.digest = v.address",
    )
    seen = {url.rpartition("/")[2]: rest for url, *rest in rows}
    assert set(hostile_answers) <= set(seen)
    assert {f"{number}" for number in range(PAGES)} <= set(seen)
    assert {name: seen[name][1] for name in REASONS} == REASONS
    assert {name for name in hostile_answers if seen[name][1] in {"step_failed", "worker_died"}} == set(), seen
    assert seen["bare"][3] == '"bare"'
    assert "found" in seen
    assert "unseen" not in seen
    assert not [name for name in seen if name.startswith("far-away")]
    assert [
        row for row in query_ledger(tmp_path, "SELECT message FROM attempt WHERE kind = 2") if "Error" in str(row[0])
    ] == []
    assert faults(tmp_path) == []


DEEP = [f"/deep/in/it/{at}" for at in range(4)]


class EndlessPages(dict):
    """Hosts with four pages far from their home page; one host also has endless pages of the same text."""

    def __init__(self, fan: int) -> None:
        """Let each of the endless pages link to so many others."""
        super().__init__()
        self._fan = fan

    def get(self, key, default=None):
        host, path = key
        at = int(path.rpartition("/")[2] or 0) if path != "/robots.txt" else 0
        if path == "/":
            return answer(b"<h1>Home</h1> <a href=/num/1>numbers</a> <a href=/deep/in/it/0>pages</a>")
        if path in DEEP:
            words = f"{host} {at}: {'so it is told here ' * at}".translate(str.maketrans("0123456789", "qwertyuiop"))
            return answer(f"<p>{words} <a href=/deep/in/it/{at + 1}>next</a>".encode())
        if host == BAD and path.startswith("/num/"):
            links = b"".join(
                b"<a href=/num/%d>on</a>" % (at * self._fan + number) for number in range(1, self._fan + 1)
            )
            return answer(b"<h1>Nothing here</h1> page %d %s" % (at, links))
        return super().get(key, default)


@pytest.mark.parametrize("fan", [1, 3])
def test_new_addresses_of_a_host_with_an_endless_row_of_known_text_are_given_up_and_told_and_nothing_else(
    tmp_path, fan
):
    with serve_answers(EndlessPages(fan)) as server:
        site = source([f"{server.origin(host)}/" for host in (GOOD, BAD)])
        for _ in range(2):
            server.asked.clear()
            assert crawl_sites(tmp_path, site) == 0
            assert {(host, path) for host in (GOOD, BAD) for path in ("/", *DEEP)} <= {*server.asked}
            assert 100 < len([path for _, path in server.asked if path.startswith("/num/")]) < 600
            change_ledger(tmp_path, "UPDATE address SET due = 2 WHERE due > 0 AND url NOT LIKE '%/num/%'")
    rules = query_ledger(tmp_path, "SELECT comment FROM task_end WHERE reason = 'crawler_trap' AND NOT failed")
    assert len(rules) == 2
    assert all(f"{server.origin(BAD)}, whose new pages only repeat earlier texts" in comment for (comment,) in rules)


class EndlessRedirects(dict):
    """Hosts whose every address redirects to the next, endlessly on one and for some steps on the other."""

    def get(self, key, default=None):
        host, path = key
        at = int(path.rpartition("/")[2] or 0) if path != "/robots.txt" else 0
        if path == "/robots.txt" or (host == GOOD and at == HOPS):
            return super().get(key, answer(b"<p>the end") if at else default)
        return answer(b"", "302 Found", more=f"Location: /{at + 1}\r\n")


def test_an_endless_row_of_redirects_is_left_after_as_many_as_browsers_follow_and_told(tmp_path):
    with serve_answers(EndlessRedirects()) as server:
        assert crawl_sites(tmp_path, source([f"{server.origin(host)}/" for host in (GOOD, BAD)])) == 0
    asked = {
        host: {path for at_host, path in server.asked if at_host == host} - {"/robots.txt"} for host in (GOOD, BAD)
    }
    assert asked[GOOD] == asked[BAD] == {"/", *(f"/{at}" for at in range(1, HOPS + 1))}
    ((comment,),) = query_ledger(tmp_path, "SELECT comment FROM task_end WHERE reason = 'crawler_trap' AND NOT failed")
    assert comment == f"1 left out, such as {server.origin(BAD)}/{HOPS + 1}: {ENDLESS_REDIRECTS}"


def test_redirects_in_a_circle_are_told_and_a_source_that_gave_nothing_else_has_failed(tmp_path):
    answers = {(BAD, path): answer(b"", "302 Found", more=f"Location: {target}\r\n")
               for path, target in (("/", "/a"), ("/a", "/b"), ("/b", "/"))}  # fmt: skip
    with serve_answers(answers) as server:
        assert crawl_sites(tmp_path, source([f"{server.origin(BAD)}/"])) == 3
        assert sorted(path for _, path in server.asked) == ["/", "/a", "/b", "/robots.txt"]
        comments = query_ledger(
            tmp_path, "SELECT comment FROM task_end WHERE instr(comment, ?) ORDER BY failed", CIRCLE
        )
        assert comments[0][0] == f"1 left out, such as {server.origin(BAD)}/: {CIRCLE}"
        assert comments[1][0].endswith(f"; {server.origin(BAD)}/b: {CIRCLE}")


def test_redirects_without_a_target_have_failed_until_the_page_is_answered(tmp_path):
    statuses = {"/a": "302 Found", "/b": "300 Multiple Choices", "/c": "301 Moved"}
    answers = {(GOOD, path): answer(b"<a href=/d>d</a>", status) for path, status in statuses.items()}
    answers[GOOD, "/c"] = answer(b"", statuses["/c"], more=f"Location: /{'c' * 9000}\r\n")
    answers |= {(GOOD, "/"): answer(b"<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>"), (GOOD, "/d"): answer(b"d")}
    with serve_answers(answers) as server:
        crawl_sites(tmp_path, source([f"{server.origin(GOOD)}/"]))
        failed = query_ledger(
            tmp_path, "SELECT status, reason, message FROM attempt WHERE reason <> '' ORDER BY status"
        )
        assert failed == [
            (300, "protocol_error", "the response lists several addresses instead of a document (status 300)"),
            (
                301,
                "protocol_error",
                "the response redirects to an address that is too long to be requested (status 301)",
            ),
            (302, "protocol_error", "the response redirects to no address (status 302)"),
        ]
        assert "/d" in {path for _, path in server.asked}, "the answer 300 links to it"
        answers |= dict.fromkeys([(GOOD, path) for path in statuses], answer(b"page"))
        change_ledger(tmp_path, "UPDATE address SET due = 1 WHERE failures > 0")
        crawl_sites(tmp_path, source([f"{server.origin(GOOD)}/"]))
    assert query_ledger(tmp_path, "SELECT count(*) FROM address WHERE failures > 0") == [(0,)]


class EndlessRedirectsBetweenHosts(dict):
    """Hosts whose every address redirects to the other host, endlessly."""

    server = None

    def get(self, key, default=None):
        host, path = key
        if path == "/robots.txt":
            return default
        target = self.server.origin(BAD if host == GOOD else GOOD)
        return answer(b"", "302 Found", more=f"Location: {target}/{int(path[1:] or 0) + 1}\r\n")


def test_an_endless_chain_of_redirects_over_two_hosts_is_counted_as_one_and_told(tmp_path):
    answers = EndlessRedirectsBetweenHosts()
    with serve_answers(answers) as server:
        answers.server = server
        assert crawl_sites(tmp_path, source([f"{server.origin(host)}/" for host in (GOOD, BAD)])) == 3, "no page came"
    asked = {path for _, path in server.asked} - {"/robots.txt"}
    assert asked == {"/", *(f"/{at}" for at in range(1, HOPS + 1))}
    ((comment,),) = query_ledger(tmp_path, "SELECT comment FROM task_end WHERE reason = 'crawler_trap' AND NOT failed")
    assert comment.startswith("2 left out, such as ")
    assert comment.endswith(ENDLESS_REDIRECTS)


def test_rules_that_failed_once_and_then_came_are_no_trouble_of_the_source(tmp_path):
    answers = {(GOOD, "/0"): answer(b"x"), (GOOD, "/robots.txt"): answer(status="503 Busy")}

    def failed_rules():
        ledger = Ledger(tmp_path / "ledger.sqlite")
        try:
            return [attempt.status for attempt in ledger.attempts.rules_failed_between((0, 1 << 60), "roam", 1)]
        finally:
            ledger.close()

    with serve_answers(answers) as server:
        assert crawl_sites(tmp_path, source([f"{server.origin(GOOD)}/0"])) == 3
        assert failed_rules() == [503]
        answers[GOOD, "/robots.txt"] = answer(b"User-agent: *\nAllow: /", kind="text/plain")
        assert crawl_sites(tmp_path, source([f"{server.origin(GOOD)}/0"])) == 0
        assert failed_rules() == []


def test_each_attempt_at_a_connection_closed_without_an_answer_is_on_record(tmp_path):
    path = "/closed"
    keeps = answer(f"<a href={path}>x</a>".encode()).replace(b"Connection: close\r\n", b"")
    with serve_answers({(GOOD, "/0"): keeps, (GOOD, path): b""}, keeps=frozenset({"/0", "/robots.txt"})) as server:
        crawl_sites(tmp_path, source([f"{server.origin(GOOD)}/0"]))
        asked = [requested for _, requested in server.asked].count(path)
    rows = query_ledger(tmp_path, "SELECT reason FROM attempt WHERE reason = 'interrupted'")
    assert asked == 3
    assert len(rows) == asked


def test_the_bytes_of_a_response_that_ends_too_early_are_counted_though_not_kept(tmp_path):
    body = b"<p>only the beginning"
    cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 999\r\nConnection: close\r\n\r\n" + body
    with serve_answers({(GOOD, "/0"): cut}) as server:
        crawl_sites(tmp_path, source([f"{server.origin(GOOD)}/0"]))
    rows = query_ledger(tmp_path, "SELECT status, received, size FROM attempt WHERE reason = 'interrupted'")
    assert {*rows} == {(200, len(body), None)}
