"""Retry and cancel work alike for collections of listed files and of addresses."""

from __future__ import annotations

from contextlib import closing

from tests.requests.workshop import SERVICE, Server, Workshop, collection, documents, send_parts
from windrow.clock import now
from windrow.digest import hash64
from windrow.engine.decision import MAX_NAMED, write_decision
from windrow.engine.frontier import CANCEL, RETRY, frontier_of
from windrow.ledger import Ledger
from windrow.model import Attempt, FoundUrl, Status
from windrow.reasons import reason_of_status


def test_retry_and_cancel_of_addresses_name_the_first_of_them_in_their_session(tmp_path):
    api = Server(documents({f"d{number}": b"x" for number in range(MAX_NAMED + 5)}))
    service = Server(lambda asked: (200, b"", {}))
    shop = Workshop(tmp_path, api, service, collection(send_parts, SERVICE))
    shop.run()
    ledger = shop.ledger()
    urls = [f"{api.url}d{number}" for number in range(MAX_NAMED + 5)]
    frontier = frontier_of(ledger, shop.made)
    chosen = frontier.find_named([*urls, "no address", f"{api.url}nowhere"])
    assert {choice.key for choice in chosen} == {*urls}
    assert frontier.find_undone(RETRY, "", "") == []
    for act, expected in ((CANCEL, Status.CANCELLED), (RETRY, Status.PENDING)):
        assert write_decision(ledger, shop.made, act, chosen) == len(urls)
        assert {choice.state[1] for choice in frontier.find_named(urls)} == {expected}
        command = ledger.sessions.get(ledger.sessions.latest()).command
        assert command.startswith(f"{act} workshop {api.url}d")
        assert command.endswith(" and 5 more")
    ledger.close()
    api.close()
    service.close()


def test_the_reason_of_a_status_finds_the_addresses_that_answered_with_it(tmp_path):
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        with ledger.writing() as writer:
            session = writer.sessions.open("test", "run")
            host = writer.addresses.add_host(session, "pages", "site", "https://a.example")
            for code in (401, 403, 404, 410, 418, 429, 500, 503):
                url = f"https://a.example/{code}"
                writer.addresses.add(host, 0, [FoundUrl(hash64(url), "https://a.example", url)])
                attempt = Attempt(hash64(url), url, 0, True, now(), 0.1, code)
                writer.attempts.record_attempt(session, host, attempt, schedule=(9, 1, 1))
        for reason in sorted({reason_of_status(code) for code in range(400, 600)}):
            failing = ledger.addresses.failing("pages", "site", reason)
            statuses = [int(address.url.rpartition("/")[2]) for address in failing]
            assert statuses, reason
            assert {reason_of_status(code) for code in statuses} == {reason}


def test_a_decision_about_a_source_is_not_one_about_other_sources_of_the_address(tmp_path):
    made, url = collection(send_parts, SERVICE), "https://a.example/list"
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        with ledger.writing() as writer:
            session = writer.sessions.open("test", "run")
            for source in ("one", "two"):
                host = writer.addresses.add_host(session, made.name, source, "https://a.example")
                writer.addresses.add(host, 0, [FoundUrl(hash64(url), "https://a.example", url)])
        frontier = frontier_of(ledger, made)

        def decide(act, chosen):
            write_decision(ledger, made, act, chosen)
            return {choice.source: choice.state[1] for choice in frontier.find_named([url])}

        pending, cancelled = Status.PENDING, Status.CANCELLED
        assert decide(CANCEL, frontier.find_undone(CANCEL, "one", "")) == {"one": cancelled, "two": pending}
        assert decide(CANCEL, frontier.find_named([url])) == {"one": cancelled, "two": cancelled}
        one = [choice for choice in frontier.find_named([url]) if choice.source == "one"]
        assert decide(RETRY, one) == {"one": pending, "two": cancelled}
        assert decide(RETRY, frontier.find_named([url])) == {"one": pending, "two": pending}
