"""Records that a complete listing of a source no longer has: the step decides what that means."""

from dataclasses import replace

import pytest

from tests.clock import pass_time
from tests.requests.glossary import COLLECTION, configure
from tests.requests.glossary import run as run_toy
from tests.requests.workshop import UNARCHIVED, Workshop, collection, documents, send_parts
from tests.sessions import session_settings
from tests.toy_collection.server import Glossary
from windrow.adapters.records import RecordAdapter
from windrow.app.takedowns import take_down
from windrow.contract import FollowResult, Observation, Offering, Request, Requests, Settle, Skip
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.engine.steps.settling import Settling
from windrow.engine.steps.unread import count_unread
from windrow.reasons import Reason


def begin(source, learned):
    return (Request("terms?page=1", "first", every=1),)


def follow(source, learned, answer):
    """Request all pages each time; the first one begins a listing, and the last one ends it."""
    followed = COLLECTION.requests.follow(source, {}, answer)
    if followed.skip:
        return followed
    requests = tuple(request._replace(every=1, only_if_new=False) for request in followed.requests)
    first = answer.request.name == "first"
    return replace(followed, requests=requests, learned={}, begins_listing=first, ends_listing=not requests)


def observe_parts(task):
    return [Observation(offer.key, {"said": task.part(offer).decode()}) for offer in task.offers]


def mark_gone(listing):
    """Mark records gone if two listings in a row did not have them; skip an empty listing."""
    if not listing.offers:
        return [Skip(Reason.NOT_VALID, "", "an empty list")]
    return [Observation(record.key, None) for record in listing.missing if record.value and record.listings > 1]


MISSING = replace(
    COLLECTION, discovery=Requests(begin, follow), steps=(Settle("define", "1", observe_parts, missing=mark_gone),)
)
ADAPTER = RecordAdapter(MISSING)


class BrokenGlossary(Glossary):
    """A server of which one page fails."""

    broken = ""

    def _page(self, method, path, body):
        return (500, b"", {}) if self.broken and self.broken in path else super()._page(method, path, body)


@pytest.fixture
def server():
    toy_server = BrokenGlossary(terms=8)
    yield toy_server
    toy_server.close()


def run(workspace):
    """Request all pages again, which are due by then; return the keys of records that are gone."""
    pass_time(1.1)
    run_toy(workspace, collection=MISSING)
    return {key for key, _, change in versions(workspace) if change == "gone"}


def versions(workspace):
    with ADAPTER._store(workspace) as store:
        assert not [*store.faults()]
        return [(version.key, version.at, version.change) for version in store.versions()]


def test_what_two_whole_listings_in_a_row_do_not_have_is_gone_and_may_come_back(tmp_path, server):
    workspace = configure(tmp_path, server)
    assert run(workspace) == set()
    assert len(versions(workspace)) == 8
    lost = server.terms.pop(4)
    assert run(workspace) == set()
    assert run(workspace) == {lost["id"]}
    before = versions(workspace)
    assert run(workspace) == {lost["id"]}
    assert versions(workspace) == before, "what is gone is not told again"
    server.terms.append(lost)
    run(workspace)
    assert [change for key, _, change in versions(workspace) if key == lost["id"]] == ["new", "gone", "new"]
    before = versions(workspace)
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert versions(workspace) == before


def test_a_listing_that_broke_off_or_has_nothing_at_all_loses_nothing(tmp_path, server):
    workspace = configure(tmp_path, server)
    run(workspace)
    terms = [*server.terms]
    del server.terms[2]
    assert run(workspace) == set()
    server.broken = "page=2"
    assert run(workspace) == set()
    server.broken = ""
    server.terms[:] = []
    assert run(workspace) == set()
    server.terms[:] = terms
    assert run(workspace) == set()
    assert {change for _, _, change in versions(workspace)} == {"new"}


def test_a_source_whose_first_request_the_server_fails_to_answer_has_failed_and_the_run_says_so(tmp_path, server):
    workspace = configure(tmp_path, server)
    server.broken = "page=1"
    assert run_exit_code(workspace) == 3
    server.broken = ""
    pass_time(1.1)
    assert run_exit_code(workspace) == 0


def run_exit_code(workspace):
    """Run once; return the exit code."""
    with Session(session_settings(workspace), "run") as session:
        session.run_harvest(replace(ADAPTER.harvest(workspace), collection=MISSING))
        return session.close()


def follow_named(source, learned, answer):
    """Request the further pages of a list whenever it links to them; the last page may link back."""
    followed = follow(source, learned, answer)
    if followed.skip:
        return followed
    requests = tuple(request._replace(every=None, when_named=True) for request in followed.requests)
    return replace(followed, requests=requests or (Request("terms?page=2", "page", when_named=True),))


NAMED = replace(MISSING, discovery=Requests(begin, follow_named))


def pages_asked(workspace, server, collection=NAMED):
    """Run when the first page is due again; return the pages requested."""
    pass_time(1.1)
    before = len(server.asked)
    run_toy(workspace, collection=collection)
    return [int(request.partition("page=")[2]) for request in server.asked[before:] if "page=" in request]


def test_a_page_is_asked_once_in_each_run_in_which_another_page_leads_to_it_and_not_any_more_when_none_does(
    tmp_path, server
):
    workspace = configure(tmp_path, server)
    terms = [*server.terms]
    assert [pages_asked(workspace, server) for _ in range(2)] == [[1, 2, 3]] * 2
    del server.terms[6:]
    assert pages_asked(workspace, server) == [1, 2]
    server.terms[:] = terms
    assert pages_asked(workspace, server) == [1, 2, 3]
    server.broken = "page=1"
    assert set(pages_asked(workspace, server)) == {1}


def follow_new(source, learned, answer):
    """Request the further pages if a page has something new."""
    followed = follow(source, learned, answer)
    return replace(
        followed, requests=tuple(request._replace(every=None, only_if_new=True) for request in followed.requests)
    )


@pytest.mark.parametrize("discovery", [follow_named, follow_new])
def test_a_page_that_was_taken_down_is_not_asked_when_another_page_leads_to_it(tmp_path, server, discovery):
    workspace = configure(tmp_path, server)
    collection = replace(MISSING, discovery=Requests(begin, discovery))
    pages_asked(workspace, server, collection)
    take_down(workspace, session_settings(workspace), [f"{server.url}terms?page=3"], "asked", {"glossary": ADAPTER})
    for number in (9, 10, 11, 12):
        server.add(number)
    assert pages_asked(workspace, server, collection) == [1, 2]


def list_all(source, learned, answer):
    """Take the index for a complete listing, and request the documents that it names."""
    if answer.request.context:
        return FollowResult(offers=(Offering(answer.request.context),))
    names = answer.view.read().decode().split()
    return FollowResult(
        tuple(Request(name, context=name) for name in names), tuple(Offering(name) for name in names),
        begins_listing=True, ends_listing=True,
    )  # fmt: skip


def send_documents(task):
    return send_parts(task) if task.request.context else []


def mark_known_gone(listing):
    return [Observation(offer.key, None) for offer in listing.missing if offer.value]


def request_list(source, learned):
    return (Request("", every=1),)


@pytest.mark.parametrize("late", ["in the replay", "after it", "in the run after a stopped one"])
def test_a_record_that_a_listing_lacks_stays_gone_if_its_service_answers_after_the_listing_was_read(
    tmp_path, serve, monkeypatch, late
):
    contents, status = {"one": b"1", "two": b"2"}, [200]
    api, service = serve(documents(contents)), serve(lambda asked: (status[-1], asked.body, {}))
    declared = collection(send_documents, UNARCHIVED, list_all)
    discovery = Requests(request_list, list_all)
    step = replace(declared.steps[0], missing=mark_known_gone)
    shop = Workshop(tmp_path, api, service, replace(declared, discovery=discovery, steps=(step,)))
    shop.run()
    del contents["two"]
    pass_time(1.1)
    shop.run()
    gone = {"one": {"status": 200, "body": "1", "reason": None}, "two": None}
    assert shop.records() == gone
    status.append(200 if late == "in the replay" else 503)
    shop.replay()
    if late != "in the replay":
        status.append(200)
        shop.ask_next()
        with monkeypatch.context() as patch:
            if late != "after it":
                patch.setattr(Settling, "_read_alone", lambda self, attempts: iter(()))
                shop.run()
        shop.run()
    assert shop.records() == gone
    ledger = shop.ledger()
    assert count_unread(ledger, shop.made) == []
    ledger.close()
