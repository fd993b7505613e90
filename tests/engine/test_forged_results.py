"""A process that reads documents was taken over and sends values of the right classes: what of them is taken."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.collections.events.place import calendar, configured, event, run, serving
from windrow.collections.events.collection import COLLECTION
from windrow.contract import ASK, FollowResult, Request
from windrow.engine.fetchers.message import Done
from windrow.engine.plain_values import MessageRefused, pack_values, unpack_values
from windrow.engine.requests.answers import FollowedAnswer, find_forged_request, found_url
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.worker import check_results
from windrow.model import Attachment, Finding, Level, Member, Reading
from windrow.reasons import Reason

FINDING = Finding("Odd", "it is odd", Level.WARN, 3, 4)
MEMBER = Member("a.xml", 3, "sha256:00", "md5", "xml", "", Reason.NOT_A_FILE)
GOOD = [
    Reading(), Reading(Reason.CORRUPT, (FINDING,), (MEMBER,), count=3, md5="a"), Reading(members=(MEMBER._replace(size=None),)),
    "any value", FollowedAnswer(FollowResult()),
]  # fmt: skip
FORGED = [
    Reading(count=-1), Reading(count=1 << 63), Reading(count="3"), Reading(reason="corrupt"), Reading(md5=b""),
    Reading(findings=("text",)), Reading(findings=(Finding("a", "b", Level.WARN, -1),)),
    Reading(findings=(Finding("a", "b", Level.WARN, 1, 1 << 64),)), Reading(findings=(Finding(1, "b"),)),
    Reading(findings=(Finding("a", b"b"),)), Reading(findings=(Finding("a", "b", 2),)), Reading(members=(FINDING,)),
    Reading(members=(MEMBER._replace(size=-3),)), Reading(members=(MEMBER._replace(size=1 << 70),)),
    Reading(members=(MEMBER._replace(name=b"a"),)), Reading(members=(MEMBER._replace(digest=None),)),
    Reading(members=(MEMBER._replace(reason="corrupt"),)),
]  # fmt: skip


def receive(*results):
    return check_results([*unpack_values(pack_values([*results]), frozenset({"windrow"}))], len(results))


def test_results_are_taken_as_they_were_sent():
    assert [done.result for done in receive(*(Done(result, 0.5) for result in GOOD))] == GOOD


@pytest.mark.parametrize("result", FORGED, ids=str)
def test_a_reading_that_the_ledger_cannot_store_is_refused(result):
    with pytest.raises(MessageRefused):
        receive(Done(Reading(), 0.5), Done(result, 0.5))


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 1e300, 1, None])
def test_a_time_that_is_none_is_refused(seconds):
    with pytest.raises(MessageRefused):
        receive(Done(Reading(), seconds))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return a source of events, which requests its own origin alone."""
    workspace = configured(tmp_path_factory.mktemp("workspace"), "https://example.org/a.ics")
    return workspace.sources[0]


def test_requests_that_a_discovery_can_make_are_taken(source):
    own = found_url(Request("https://example.org/b?c=d", headers=(("Accept", "text/calendar"),)), "")
    followed = FollowedAnswer(FollowResult(), (own,), (own,), (own,))
    assert find_forged_request(COLLECTION, source, followed) == ""


@pytest.mark.parametrize("place", ["found", "if_new", "when_named"])
def test_a_request_to_another_server_or_with_other_documents_is_not_made(source, place):
    own = found_url(Request("https://example.org/b"), "")
    other = found_url(Request("https://attacker.example/?text=secret"), "")
    assert own.request is not None
    forged = [
        other,
        other._replace(origin=own.origin),
        own._replace(url=other.url),
        own._replace(digest=other.digest),
        own._replace(kind=ASK),
        own._replace(request=own.request._replace(attachments=(Attachment(0, 17),))),
        own._replace(request=own.request._replace(method="POST", body=b"secret")),
    ]
    for url in forged:
        followed = FollowedAnswer(FollowResult(), (own,))._replace(**{place: (own, url)})
        assert "is not one of council" in find_forged_request(COLLECTION, source, followed)


def test_an_answer_with_a_forged_request_is_followed_by_none(tmp_path, monkeypatch):
    forged = found_url(Request("https://attacker.example/"), "")
    monkeypatch.setattr(Pool, "collect", forge_requests(Pool.collect, forged))
    with serving() as site:
        site.put("/a.ics", calendar(event("a@x", ":20270115T150000Z")))
        workspace = configured(tmp_path, f"{site.url}/a.ics")
        session = run(workspace)
    assert session.failed
    with closing(sqlite3.connect(workspace.ledger)) as ledger:
        assert ledger.execute("SELECT reason, findings LIKE '%attacker.example%' FROM followed").fetchall() == [
            ("step_failed", 1)
        ]
        assert not ledger.execute("SELECT 1 FROM address WHERE url LIKE '%attacker%'").fetchall()


def forge_requests(collect, forged):
    """Return `Pool.collect` with a further request in each result."""

    def collect_forged(pool, timeout=0.0):
        return [
            (number, done._replace(result=done.result._replace(found=(*done.result.found, forged))))
            if isinstance(done.result, FollowedAnswer) else (number, done)
            for number, done in collect(pool, timeout)
        ]  # fmt: skip

    return collect_forged
