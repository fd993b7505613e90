"""Retry and cancel work alike for collections of listed files and of addresses."""

from __future__ import annotations

from tests.requests.workshop import SERVICE, Server, Workshop, collection, documents, send_parts
from windrow.engine.frontier import CANCEL, MAX_NAMED, RETRY, frontier_of, write_decision
from windrow.model import Status


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
    for act, status in ((CANCEL, Status.CANCELLED), (RETRY, Status.PENDING)):
        assert write_decision(ledger, shop.made, act, chosen) == len(urls)
        assert {choice.state[1] for choice in frontier.find_named(urls)} == {status}
        command = ledger.sessions.get(ledger.sessions.latest()).command
        assert command.startswith(f"{act} workshop {api.url}d")
        assert command.endswith(" and 5 more")
    ledger.close()
    api.close()
    service.close()
