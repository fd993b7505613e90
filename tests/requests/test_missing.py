"""What a whole listing of a source does not have any more: told to the step, which says what that means."""

from dataclasses import replace

import pytest

from tests.clock import pass_time
from tests.requests.glossary import COLLECTION, configured, setup_of
from tests.requests.glossary import run as run_toy
from tests.toy_collection.server import Glossary
from windrow.adapters.records import RecordAdapter
from windrow.app.check import take_down
from windrow.contract import Observation, Request, Requests, Settle, Skip
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.reasons import Reason


def begin(source, learned):
    return (Request("terms?page=1", "first", every=1),)


def follow(source, learned, answer):
    """Ask for all pages, each time; the first one begins a listing, and the last one ends it."""
    told = COLLECTION.requests.follow(source, {}, answer)
    if told.skip:
        return told
    requests = tuple(request._replace(every=1, only_if_new=False) for request in told.requests)
    first = answer.request.name == "first"
    return replace(told, requests=requests, learned={}, begins_listing=first, ends_listing=not requests)


def say(task):
    return [Observation(offer.key, {"said": task.part(offer).decode()}) for offer in task.offers]


def lose(listing):
    """Say that things are gone when two listings in a row did not have them; doubt a listing of nothing."""
    if not listing.offers:
        return [Skip(Reason.NOT_VALID, "", "an empty list")]
    return [Observation(one.key, None) for one in listing.missing if one.value and one.listings > 1]


MISSING = replace(COLLECTION, discovery=Requests(begin, follow), steps=(Settle("define", "1", say, missing=lose),))
ADAPTER = RecordAdapter(MISSING)


class Broken(Glossary):
    """A server one page of which fails."""

    broken = ""

    def _page(self, method, path, body):
        return (500, b"", {}) if self.broken and self.broken in path else super()._page(method, path, body)


@pytest.fixture
def server():
    served = Broken(terms=8)
    yield served
    served.close()


def run(workspace):
    """Ask for all pages, which are due again by then; return the keys of what is gone."""
    pass_time(1.1)
    run_toy(workspace, collection=MISSING)
    return {key for key, _, change in versions(workspace) if change == "gone"}


def versions(workspace):
    with ADAPTER._store(workspace) as store:
        assert not [*store.faults()]
        return [(version.key, version.at, version.change) for version in store.versions()]


def test_what_two_whole_listings_in_a_row_do_not_have_is_gone_and_may_come_back(tmp_path, server):
    workspace = configured(tmp_path, server)
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
    ADAPTER.replay(workspace, setup_of(workspace), Progress(quiet=True))
    assert versions(workspace) == before


def test_a_listing_that_broke_off_or_has_nothing_at_all_loses_nothing(tmp_path, server):
    workspace = configured(tmp_path, server)
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
    workspace = configured(tmp_path, server)
    server.broken = "page=1"
    assert ended(workspace) == 3
    server.broken = ""
    pass_time(1.1)
    assert ended(workspace) == 0


def ended(workspace):
    """Run once; return the exit code."""
    with Session(setup_of(workspace), "run") as session:
        session.harvest(replace(ADAPTER.harvest(workspace), collection=MISSING))
        return session.close()


def pages(source, learned, answer):
    """Ask for the further pages of a list as often as it leads to them; the last page may lead back to one before."""
    told = follow(source, learned, answer)
    if told.skip:
        return told
    requests = tuple(request._replace(every=None, when_named=True) for request in told.requests)
    return replace(told, requests=requests or (Request("terms?page=2", "page", when_named=True),))


NAMED = replace(MISSING, discovery=Requests(begin, pages))


def asked(workspace, server, collection=NAMED):
    """Run when the first page is due again; return the pages that were asked."""
    pass_time(1.1)
    before = len(server.asked)
    run_toy(workspace, collection=collection)
    return [int(one.partition("page=")[2]) for one in server.asked[before:] if "page=" in one]


def test_a_page_is_asked_once_in_each_run_in_which_another_page_leads_to_it_and_not_any_more_when_none_does(
    tmp_path, server
):
    workspace = configured(tmp_path, server)
    terms = [*server.terms]
    assert [asked(workspace, server) for _ in range(2)] == [[1, 2, 3]] * 2
    del server.terms[6:]
    assert asked(workspace, server) == [1, 2]
    server.terms[:] = terms
    assert asked(workspace, server) == [1, 2, 3]
    server.broken = "page=1"
    assert set(asked(workspace, server)) == {1}


def told_of_new(source, learned, answer):
    """Ask for the further pages where a page has something that is new."""
    told = follow(source, learned, answer)
    return replace(told, requests=tuple(request._replace(every=None, only_if_new=True) for request in told.requests))


@pytest.mark.parametrize("discovery", [pages, told_of_new])
def test_a_page_that_was_taken_down_is_not_asked_when_another_page_leads_to_it(tmp_path, server, discovery):
    workspace = configured(tmp_path, server)
    collection = replace(MISSING, discovery=Requests(begin, discovery))
    asked(workspace, server, collection)
    take_down(workspace, setup_of(workspace), [f"{server.url}terms?page=3"], "asked", {"glossary": ADAPTER})
    for number in (9, 10, 11, 12):
        server.add(number)
    assert asked(workspace, server, collection) == [1, 2]
