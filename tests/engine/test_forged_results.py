"""A process that reads documents was taken over and sends values of the right classes: what of them is taken."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.collections.events.place import calendar, configured, event, run, serving
from tests.engine.recorded_attempts import Attempts, summarise
from windrow.collections.drops.collection import COLLECTION as DROPS
from windrow.collections.events.collection import COLLECTION
from windrow.contract import ASK, FollowResult, Observation, Offering, Request, Rows
from windrow.engine.captures.rules import Selection, SelectJob
from windrow.engine.fetchers.message import AttemptEnded, BatchEnded, Done, Job, ListedEntries
from windrow.engine.plain_values import MessageRefused, pack_values, unpack_values
from windrow.engine.requests.answers import FollowedAnswer, find_forged_request, found_url
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.settled_batches import SettledAttempt, write_apart
from windrow.engine.steps.worker import check_results, is_result_of
from windrow.model import (
    ArchivePlace,
    Attachment,
    Attempt,
    Finding,
    FoundUrl,
    Item,
    Level,
    ListingEntry,
    Member,
    Reading,
    RecordedAttempt,
)
from windrow.reasons import Reason

FINDING = Finding("Odd", "it is odd", Level.WARN, 3, 4)
MEMBER = Member("a.xml", 3, "sha256:00", "md5", "xml", "", Reason.NOT_A_FILE)
GOOD = [
    Reading(), Reading(Reason.CORRUPT, (FINDING,), (MEMBER,), count=3, md5="a"), Reading(members=(MEMBER._replace(size=None),)),
    "any value", FollowedAnswer(FollowResult()), Reading(left_out=((Reason.CORRUPT, 1),)), Rows([], {}, 1, (FINDING,), 1),
]  # fmt: skip
FORGED = [
    Reading(count=-1), Reading(count=1 << 63), Reading(count="3"), Reading(reason="corrupt"), Reading(md5=b""),
    Reading(findings=("text",)), Reading(findings=(Finding("a", "b", Level.WARN, -1),)),
    Reading(findings=(Finding("a", "b", Level.WARN, 1, 1 << 64),)), Reading(findings=(Finding(1, "b"),)),
    Reading(findings=(Finding("a", b"b"),)), Reading(findings=(Finding("a", "b", 2),)), Reading(members=(FINDING,)),
    Reading(members=(MEMBER._replace(size=-3),)), Reading(members=(MEMBER._replace(size=1 << 70),)),
    Reading(members=(MEMBER._replace(name=b"a"),)), Reading(members=(MEMBER._replace(digest=None),)),
    Reading(members=(MEMBER._replace(reason="corrupt"),)), Reading(left_out=("text",)),
    Reading(left_out=((Reason.CORRUPT, 0),)), Reading(left_out=(("corrupt", 1),)),
    Rows([], {}, -1), Rows([], {}, 1, (), -1), Rows([], {}, 1, ("text",)),
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


ATTEMPT = Attempt(1, "https://a.example/", 1, allowed=True, started=datetime(2026, 1, 1, tzinfo=UTC), seconds=1)
URL = FoundUrl(7, "https://a.example", "https://a.example/b", hinted=ATTEMPT.started)
PLAIN_URLS = tuple(FoundUrl(number, "https://a.example", f"https://a.example/{number}") for number in range(9))


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (ATTEMPT._replace(started="2026-01-01"), "started"), (ATTEMPT._replace(status="200"), "status"),
        (ATTEMPT._replace(status=1 << 63), "status"), (ATTEMPT._replace(kept=URL), "kept"),
        (ATTEMPT._replace(validators=("a",)), "validators"), (ATTEMPT._replace(validators=("a", None)), "validators"),
        (ATTEMPT._replace(reason="not_found"), "reason"), (ATTEMPT._replace(url=None), "url"),
        (AttemptEnded(1, None), "attempt"), (AttemptEnded(1, ATTEMPT, (URL, None)), "found"),
        (AttemptEnded(1, ATTEMPT, (*PLAIN_URLS, URL._replace(url=None))), "url"),
        (AttemptEnded(1, ATTEMPT, (*PLAIN_URLS, PLAIN_URLS[0]._replace(url=1))), "url"),
        (AttemptEnded(1, ATTEMPT, (*PLAIN_URLS, PLAIN_URLS[0]._replace(order=1 << 63))), "order"),
        (AttemptEnded(1, ATTEMPT, (*PLAIN_URLS, ATTEMPT)), "found"), (BatchEnded(1, (2, "3")), "untouched"),
        (ListedEntries(1, (ListingEntry("add", b"name"),)), "name"), (Done(Reading(), "1"), "seconds"),
        (FollowedAnswer(FollowResult(offers=(Offering(1),))), "key"), (FollowedAnswer({}), "result"),
        (Observation("k", {}, names=("a", 1)), "names"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_with_a_field_of_another_type_is_refused(message, field):
    with pytest.raises(MessageRefused, match=f"as its {field}$"):
        list(unpack_values(pack_values([message]), frozenset({"windrow"})))
    good = AttemptEnded(1, ATTEMPT._replace(seconds=2.5, status=200, validators=["a", "b"]), (*PLAIN_URLS, URL))
    (received,) = unpack_values(pack_values([good]), frozenset({"windrow"}))
    assert received == good


def test_a_result_of_another_class_than_that_of_its_job_is_not_one():
    item = Item(1, "drops", "zip", "a")
    place, loads = ArchivePlace("", 0, 0), Rows([], {}, 0)
    steps = {type(step).__name__: Job(index, item, place, {}) for index, step in enumerate(DROPS.steps)}
    accepted = {
        name: [is_result_of(job, DROPS, result) for result in (Reading(), loads, FollowedAnswer(FollowResult()), "a")]
        for name, job in steps.items()
    }
    assert accepted["Read"] == accepted["Check"] == accepted["Judge"] == [True, False, False, False]
    assert accepted["Load"] == [True, True, False, False]
    selecting = SelectJob(None, None, {}, ())
    assert [is_result_of(selecting, DROPS, result) for result in (Reading(), Selection((), ()), loads, ())] == [
        True, True, False, False,
    ]  # fmt: skip


def test_an_attempt_whose_result_the_store_cannot_take_fails_alone():
    written, checkpoint = [], 4

    def write(page, upto):
        nonlocal checkpoint
        for settled in page:
            if settled.result == "wrong":
                raise TypeError("not a page")
        written.extend(
            (settled.recorded.seq, getattr(settled.result, "reason", settled.result), upto) for settled in page
        )
        checkpoint = max(checkpoint, upto)

    attempts = [
        SettledAttempt(RecordedAttempt(seq, 1, "a", "", ATTEMPT), result)
        for seq, result in ((5, "right"), (6, "wrong"), (9, "right"))
    ]
    write_apart(attempts, 9, write, lambda: checkpoint)
    assert written == [(5, "right", 5), (6, Reason.STEP_FAILED, 6), (9, "right", 9)]
    written.clear()
    write_apart(attempts[:1], 9, write, lambda: checkpoint)  # a late attempt
    assert written == [(5, "right", 9)]


def test_a_page_whose_result_is_no_page_costs_itself_alone(tmp_path, monkeypatch):
    with Attempts(tmp_path) as attempts:
        for number in range(4):
            attempts.answer(f"https://a.example/{number}", f"<p>text {number}</p>".encode(), at=number)
    resolve = Pool.resolve

    def forge(pool, pairs, **more):
        forged = {"https://a.example/1": FINDING, "https://a.example/2": 7}
        for recorded, result in resolve(pool, pairs, **more):
            yield recorded, forged.get(recorded.attempt.url, result)

    monkeypatch.setattr(Pool, "resolve", forge)
    assert summarise(tmp_path) == 3
    with closing(sqlite3.connect(tmp_path / "summary.sqlite")) as summary:
        assert summary.execute("SELECT count(*) FROM text_pile").fetchone() == (2,)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.execute("SELECT reason, count(*) FROM unread GROUP BY reason").fetchall() == [("step_failed", 2)]


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
        assert "does not belong to council" in find_forged_request(COLLECTION, source, followed)


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
