"""Attempts of every kind in the Summary Database."""

from __future__ import annotations

import gzip
import random

import pytest

from tests.engine.recorded_attempts import BEGAN, HTML, Attempts, summarise
from tests.engine.summary_crawl import query_summary
from windrow.model import Limits
from windrow.reasons import Reason

A, B = "https://a.example/a", "https://a.example/b"
ORIGIN = int(BEGAN.timestamp())
GENERATIONS = f"""
SELECT u.str_url, p.text, g.first_seen_unix_utc - {ORIGIN}, g.last_seen_unix_utc - {ORIGIN},
  g.confirmed_end_unix_utc - {ORIGIN}
FROM entity_generation g JOIN url u USING (url_id) LEFT JOIN text_pile p USING (text_pile_id) ORDER BY 1, 3
"""


def page(text: str, head: str = "") -> bytes:
    return f"<!doctype html><title>T {text}</title>{head}<main><p>{text}</p></main>".encode()


def generations(root):
    return query_summary(root, GENERATIONS)


def reasons(root):
    return query_summary(
        root, "SELECT str_url, reason FROM windrow_observation JOIN url USING (url_id) ORDER BY str_url, at"
    )


def test_a_b_a_with_confirmations_between(tmp_path):
    with Attempts(tmp_path) as attempts:
        for at, text in ((10, "A"), (20, "A"), (40, "B"), (50, "A")):
            attempts.answer(A, page(text), at=at)
        attempts.answer(A, at=30, status=304)
        attempts.answer(A, at=60, status=304)
    assert summarise(tmp_path) == 0
    assert generations(tmp_path) == [(A, "A", 10, 30, 40), (A, "B", 40, 40, 50), (A, "A", 50, 60, None)]
    codes = query_summary(tmp_path, f"SELECT c.time_started_unix_utc - {ORIGIN}, exit_code, status_code, request_duration_ms"
                " FROM crawl_summary c JOIN http_summary USING (crawl_summary_id) ORDER BY 1")  # fmt: skip
    assert codes == [
        (at, 34 if at in {30, 60} else 20, 304 if at in {30, 60} else 200, 250) for at in range(10, 70, 10)
    ]


@pytest.mark.parametrize(
    ("answers", "end"),
    [
        ([(20, 404)], None),
        ([(20, 404), (30, 404)], 30),
        ([(20, 404), (30, 503), (40, 404)], 40),
        ([(20, 410)], 20),
        ([(20, 404), (30, 200), (40, 404)], None),
        ([(20, 503), (30, 503), (40, 403)], None),
    ],
)
def test_gone_missing_and_back(tmp_path, answers, end):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A"), at=10)
        for at, status in answers:
            attempts.answer(A, page("A") if status == 200 else b"no", at=at, status=status)
    assert summarise(tmp_path) == 0
    last = max([at for at, status in answers if status == 200], default=10)
    assert generations(tmp_path) == [(A, "A", 10, last, end)]


def test_a_page_that_comes_back_after_its_end_is_another_generation(tmp_path):
    with Attempts(tmp_path) as attempts:
        for at, status in ((10, 200), (20, 410), (30, 200)):
            attempts.answer(A, page("A") if status == 200 else b"no", at=at, status=status)
    assert summarise(tmp_path) == 0
    assert generations(tmp_path) == [(A, "A", 10, 10, 20), (A, "A", 30, 30, None)]


@pytest.mark.parametrize(
    ("fields", "head"),
    [
        ({}, '<meta name="robots" content="follow, NoIndex">'),
        ({}, "<meta name=robots content=none>"),
        ({"X-Robots-Tag": "noindex"}, ""),
        ({"X-Robots-Tag": "unavailable_after: 2025-12-31", "Date": "Thu, 01 Jan 2026 00:00:10 GMT"}, ""),
    ],
)
def test_a_page_that_asks_not_to_be_found_has_no_text(tmp_path, fields, head):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("hidden", head), at=10, fields=HTML | fields)
        attempts.answer(A, page("shown"), at=20)
    assert summarise(tmp_path) == 0
    assert generations(tmp_path) == [(A, None, 10, 10, 20), (A, "shown", 20, 20, None)]
    assert reasons(tmp_path) == [(A, "expired" if "Date" in fields else "noindex"), (A, "")]
    assert query_summary(tmp_path, "SELECT title FROM document_description") == [("T shown",)]
    assert query_summary(tmp_path, "SELECT count(*) FROM text_pile") == [(1,)]
    assert query_summary(tmp_path, "SELECT DISTINCT exit_code FROM crawl_summary") == [(20,)]


def test_redirects_are_generations_of_their_own(tmp_path):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A"), at=10)
        attempts.answer(A, b"moved", at=20, status=302, place="/b#part")
        attempts.answer(A, b"moved", at=30, status=301, place="https://a.example/b#part")
        attempts.answer(A, b"moved", at=40, status=301, place="https://b.example/")
        attempts.answer(A, b"moved", at=50, status=301, place="javascript:void(0)")
        attempts.answer(B, b"loop", at=60, status=301, place="/b")
    assert summarise(tmp_path) == 0
    assert generations(tmp_path) == [(A, "A", 10, 10, 20), (A, None, 20, 30, 40), (A, None, 40, 40, None)]
    moves = query_summary(tmp_path, "SELECT str_url, to_url_fragment, information_source, by_security_policy FROM redirect_summary"
                " JOIN url ON url_id = to_url_id ORDER BY entity_generation_id")  # fmt: skip
    assert moves == [(B, "part", 1, 0), ("https://b.example/", None, 1, 0)]
    assert query_summary(tmp_path, "SELECT count(*) FROM file_summary") == [(1,)]
    assert [row[0] for row in query_summary(tmp_path, "SELECT exit_code FROM crawl_summary ORDER BY time_started_unix_utc")] == [
        20, 32, 31, 31,
    ]  # fmt: skip


def test_a_canonical_address_is_told_in_page_or_header(tmp_path):
    link = '<link rel="canonical" href="/b">'
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A", link), at=10)
        attempts.answer(f"{A}?x", page("B"), at=10, fields=HTML | {"Link": '<https://a.example/b>; rel="canonical"'})
        attempts.answer(f"{A}?y", page("C", link), at=10, fields=HTML | {"Link": "</c>; rel=canonical"})
        attempts.answer(B, page("D", link), at=10)
    assert summarise(tmp_path) == 0
    rows = query_summary(tmp_path, "SELECT u.str_url, c.str_url FROM file_summary f JOIN entity_generation USING"
               " (entity_generation_id) JOIN url u USING (url_id) LEFT JOIN url c ON c.url_id = canonical_url_id"
               " ORDER BY 1")  # fmt: skip
    assert rows == [(A, B), (f"{A}?x", B), (f"{A}?y", None), (B, None)]


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (page("größer").decode().encode("latin-1"), "text/html; charset=iso-8859-1", "größer"),
        (page("größer", '<meta charset="windows-1252">').decode().encode("cp1252"), "text/html", "größer"),
        (page("größer"), "text/html; charset=no-such-thing", "größer"),
        (page("日本語", '<meta charset="shift_jis">').decode().encode("shift_jis"), "text/html", "日本語"),
        (page("größer").decode().encode("utf-16"), "text/html; charset=utf-8", "größer"),
    ],
)
def test_wrong_and_old_encodings(tmp_path, body, content_type, text):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, body, at=10, fields={"Content-Type": content_type})
    assert summarise(tmp_path) == 0
    assert generations(tmp_path) == [(A, text, 10, 10, None)]


@pytest.mark.parametrize(
    ("body", "fields", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), {"Content-Type": "image/png"}, "unsupported"),
        (bytes(range(256)) * 10, {"Content-Type": "application/octet-stream"}, "unsupported"),
    ],
)
def test_a_document_without_a_reader_is_a_file_with_a_reason(tmp_path, body, fields, reason):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, body, at=10, fields=fields)
        attempts.answer(B, page("B"), at=20)
    assert summarise(tmp_path) == 0
    assert generations(tmp_path) == [(A, None, 10, 10, None), (B, "B", 20, 20, None)]
    assert reasons(tmp_path)[0] == (A, reason)
    kinds = query_summary(tmp_path, "SELECT mime_type || '/' || mime_subtype FROM file_summary JOIN mimetype USING (mimetype_id)"
                " ORDER BY entity_generation_id")  # fmt: skip
    assert kinds[0][0] == fields["Content-Type"].partition(";")[0]


@pytest.mark.parametrize(
    ("body", "coding", "reason"),
    [(gzip.compress(bytes(40 << 20)), "gzip", "bomb_ratio"), (b"no gzip at all", "snappy", "unsupported")],
)
def test_what_cannot_be_read_leaves_the_version_before_it(tmp_path, body, coding, reason):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A"), at=10)
        attempts.answer(A, body, at=20, fields=HTML | {"Content-Encoding": coding})
        attempts.answer(B, body, at=20, fields=HTML | {"Content-Encoding": coding})
    assert summarise(tmp_path) == 0
    assert generations(tmp_path) == [(A, "A", 10, 10, None)]
    assert {(A, reason), (B, reason)} <= {*reasons(tmp_path)}


def test_too_large_and_unreachable(tmp_path):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A"), at=10)
        attempts.failure(A, Reason.TOO_LARGE, at=20, status=200)
        attempts.answer(B, page("B"), at=10)
        attempts.failure(B, Reason.TIMEOUT, at=20)
        attempts.failure(B, Reason.INTERRUPTED, at=30, status=200)
    assert summarise(tmp_path) == 0
    assert generations(tmp_path) == [(A, "A", 10, 10, None), (B, "B", 10, 10, None)]
    assert (A, "too_large") in reasons(tmp_path)


def test_a_reader_that_takes_too_long_costs_one_page_its_text(tmp_path):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, b"<html>" + b"<div><p>x<table><tr><td>" * 300_000, at=10)
        attempts.answer(B, page("B"), at=20)
    assert summarise(tmp_path, limits=Limits(cpu_time=0.4)) in {0, 3}
    assert generations(tmp_path) == [(B, "B", 20, 20, None)]
    assert reasons(tmp_path)[0] in {(A, "time_limit"), (A, "too_many_elements")}


def test_bytes_that_are_not_in_the_archive_any_more_have_a_reason(tmp_path):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A"), at=10)
    for path in (tmp_path / "archive").glob("*.warc*"):
        path.unlink()
    assert summarise(tmp_path) == 3
    assert generations(tmp_path) == []
    assert reasons(tmp_path) == [(A, "disk_failed")]


def test_bytes_that_changed_in_the_archive_are_not_read_as_the_page(tmp_path):
    noise = random.Random(1).randbytes(8_000).replace(b"-", b"_").replace(b">", b"_")
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A 412 whales"), at=10)
        attempts.answer(B, b"<!--" + noise + b"-->" + page("412 whales"), at=10)
    (warc,) = (tmp_path / "archive").glob("*.warc")  # what does not shrink is not compressed, so has no checksum
    warc.write_bytes(warc.read_bytes().replace(b"412", b"912"))
    assert summarise(tmp_path) == 3
    assert [version[:2] for version in generations(tmp_path)] == [(A, "A 412 whales")]
    assert reasons(tmp_path)[1:] == [(B, "disk_failed")]


def test_later_sessions_may_bring_earlier_attempts(tmp_path):
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A", "<meta name=description content=second>"), at=50)
        attempts.answer(A, page("B"), at=70)
    assert summarise(tmp_path) == 0
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page("A", "<meta name=description content=first>"), at=10)
        attempts.answer(A, page("B"), at=60)
        attempts.answer(A, page("A", "<meta name=description content=third>"), at=80)
        attempts.answer(A, page("C"), at=30)
    assert summarise(tmp_path) == 0
    assert [row[1:] for row in generations(tmp_path)] == [
        ("A", 10, 10, 30), ("C", 30, 30, 50), ("A", 50, 50, 60), ("B", 60, 70, 80), ("A", 80, 80, None),
    ]  # fmt: skip
    described = query_summary(tmp_path, "SELECT description FROM document_description JOIN entity_generation USING"
                    " (entity_generation_id) ORDER BY first_seen_unix_utc")  # fmt: skip
    assert [row[0] for row in described] == ["first", None, "second", None, "third"]
    assert query_summary(tmp_path, "SELECT count(*) FROM windrow_owed") == [(0,)]
