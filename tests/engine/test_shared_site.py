"""Two collections on one site: each has its own addresses, and a pause the site asked of one holds for both."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from windrow.digest import hash64
from windrow.ledger import Ledger
from windrow.model import ArchivePlace, Attempt, FoundUrl, HttpRequest, KeptResponse

ORIGIN = "https://example.org"
URL = f"{ORIGIN}/a.html"
AT = datetime(2026, 1, 2, tzinfo=UTC)


def found_url(url: str = URL, **more: object) -> FoundUrl:
    return FoundUrl(hash64(url), ORIGIN, url, **more)


def fetched(url: str = URL, mime: str = "text/html", offset: int = 0) -> Attempt:
    kept = KeptResponse(
        f"sha256:{offset:064x}", 5, ArchivePlace("windrow-000001-1-00001.warc.gz", offset, 100), mime=mime
    )
    return Attempt(hash64(url), url, 0, True, AT, 0.1, 200, kept)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger(tmp_path / "ledger.sqlite")) as opened:
        yield opened


@pytest.fixture
def hosts(ledger: Ledger) -> dict[str, int]:
    """Record the origin for two collections, and one address for both."""
    with ledger.writing() as writer:
        session = writer.sessions.open("me", "run")
        host_by_collection = {
            name: writer.addresses.add_host(session, name, f"{name}-source", ORIGIN) for name in ("pages", "news")
        }
        for host in host_by_collection.values():
            writer.addresses.add(host, 0, [found_url()])
    return host_by_collection


def test_both_collections_get_the_page_and_each_its_own_state(ledger: Ledger, hosts: dict[str, int]) -> None:
    assert [[address.url for address in ledger.addresses.due(host, 9, 9)] for host in hosts.values()] == [[URL], [URL]]
    with ledger.writing() as writer:
        writer.attempts.record_attempt(1, hosts["pages"], fetched(), schedule=(2_000_000_000, 60, 0))
    assert ledger.addresses.due(hosts["pages"], 9, 9) == []
    assert [address.url for address in ledger.addresses.due(hosts["news"], 9, 9)] == [URL]
    assert len(ledger.attempts.of_address(hosts["pages"], hash64(URL))) == 1
    assert ledger.attempts.of_address(hosts["news"], hash64(URL)) == []
    assert [*ledger.addresses.inconsistent()] == []


def test_an_operator_puts_off_the_address_of_one_collection_only(ledger: Ledger, hosts: dict[str, int]) -> None:
    with ledger.writing() as writer:
        writer.addresses.set_due("news", [hash64(URL)], None)
    assert [len(ledger.addresses.due(host, 9, 9)) for host in hosts.values()] == [1, 0]


def test_what_an_origin_asked_of_one_collection_holds_for_all(ledger: Ledger, hosts: dict[str, int]) -> None:
    with ledger.writing() as writer:
        writer.addresses.record_pause(ORIGIN, 100)
        writer.addresses.record_pause(ORIGIN, 50)
    assert ledger.addresses.rests(99) == {ORIGIN: 100}
    assert ledger.addresses.rests(100) == {}


def test_via_stays_within_the_collection(ledger: Ledger, hosts: dict[str, int]) -> None:
    linked = f"{ORIGIN}/b.html"
    with ledger.writing() as writer:
        writer.addresses.add(hosts["pages"], hash64(URL), [found_url(linked)])
    known = ledger.addresses.get("pages", hash64(linked))
    assert known is not None
    assert known.via_url == URL
    assert ledger.addresses.get("news", hash64(linked)) is None


def test_an_address_carries_a_request_that_is_no_plain_get(ledger: Ledger, hosts: dict[str, int]) -> None:
    asked = HttpRequest("POST", (("Content-Type", "text/xml"), ("Accept", "*/*")), b"<a/>\0\xff", '{"page": 2}')
    with ledger.writing() as writer:
        writer.addresses.add(hosts["news"], 0, [FoundUrl(7, ORIGIN, URL, order=-1, request=asked)])
    assert [address.digest for address in ledger.addresses.due(hosts["news"], 9, 9)] == [7, hash64(URL)]
    assert ledger.addresses.requests(hosts["news"], [7, hash64(URL)]) == {7: asked}
    assert ledger.addresses.requests(hosts["pages"], [7]) == {}


def test_captures_serve_every_collection(ledger: Ledger, hosts: dict[str, int]) -> None:
    pdf, start = f"{ORIGIN}/b.pdf", 1
    with ledger.writing() as writer:
        writer.addresses.add(hosts["pages"], 0, [found_url(pdf)])
        writer.attempts.record_attempt(1, hosts["pages"], fetched())
        writer.attempts.record_attempt(1, hosts["pages"], fetched(pdf, "application/pdf", 100))
        last = writer.attempts.record_attempt(1, hosts["news"], fetched(offset=200))
    captures, both = ledger.captures, [("pages", ""), ("news", "")]
    assert [recorded.attempt.url for recorded in captures.after(0, 9, both)] == [URL, pdf, URL]
    assert [recorded.source for recorded in captures.after(0, 9, [("news", "")])] == ["news-source"]
    assert [recorded.attempt.url for recorded in captures.after(0, 9, [("pages", "pages-source")])] == [URL, pdf]
    assert captures.after(0, 9, [("pages", "other")]) == []
    assert captures.after(last, 9, both) == []
    newest = captures.newest(hash64(URL), start, "pages")
    assert newest is not None
    assert newest.seq == last
    assert captures.newest(hash64(URL), last, "pages") is None
    assert captures.newest(hash64(pdf), start, "pages") is None  # it requested that itself


def test_sessions_are_counted_for_people(ledger: Ledger, hosts: dict[str, int]) -> None:
    with ledger.writing() as writer:
        second = writer.sessions.open("me", "run")
    assert ledger.sessions.numbers() == {1: 1, second: 2}
    assert ledger.sessions.numbered(2) == second
