"""Which session tells a change: the one that wrote it, where a document waited for a service or a store was made anew."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.requests.glossary import setup_of
from tests.requests.workshop import SERVICE, Workshop, collection, documents, send_parts, told
from windrow.adapters.adapter import Window
from windrow.app.changes import since_window
from windrow.contract import Ask, AttemptObservations, DocumentPart, Observation, PendingAsk
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.stores.records import RecordStore

DOWN, UP = (503, b"", {}), (200, b"good", {})


class Service:
    """What a service answers now."""

    def __init__(self):
        self.answer = DOWN

    def __call__(self, asked):
        return self.answer


def send_beside(task):
    """Tell what each offer is before the service says what it holds."""
    made = []
    for offer in task.offers:
        answer = task.answers.get(offer.key)
        made += [told(offer, answer)] if answer else [
            Observation(offer.key, {"body": None}), Ask(offer.key, "reader", body=DocumentPart(*offer.part))]  # fmt: skip
    return made


def changes(shop, window=None):
    ledger = shop.ledger()
    try:
        window = window(ledger) if window else Window(facts=ledger.sessions.telling(ledger.sessions.latest()))
        found = shop.adapter.changes(shop.workspace, ledger, window)
        return sorted((one.kind, one.key, one.difference) for one in found)
    finally:
        ledger.close()


def workshop(root, serve, step):
    service = Service()
    made = collection(step, replace(SERVICE, tries=1, seconds=1.0))
    return service, Workshop(root, serve(documents({"a": b"a", "b": b"b"})), serve(service), made)


def test_a_record_that_waited_for_a_service_is_told_by_the_session_that_wrote_it(tmp_path, serve):
    service, shop = workshop(tmp_path, serve, send_parts)
    shop.run()
    assert changes(shop) == []
    before = datetime.now(UTC)
    service.answer = UP
    shop.run()
    assert [change[:2] for change in changes(shop)] == [("new", "a"), ("new", "b")]
    assert changes(shop, lambda ledger: since_window(ledger, before)) == changes(shop)
    shop.run()
    assert changes(shop) == []


def test_a_record_that_a_service_completed_later_is_told_as_new_and_then_as_changed(tmp_path, serve):
    service, shop = workshop(tmp_path, serve, send_beside)
    shop.run()
    assert changes(shop) == [("new", "a", ""), ("new", "b", "")]
    service.answer = UP
    shop.run()
    assert changes(shop) == [(("changed"), key, "body nothing -> good; status nothing -> 200") for key in "ab"]
    shop.run()
    assert changes(shop) == []


def test_a_replay_and_a_lost_store_that_is_made_anew_tell_nothing_again_but_what_nobody_told(tmp_path, serve):
    service, shop = workshop(tmp_path, serve, send_parts)
    service.answer = UP
    shop.run()
    shop.adapter.replay(shop.workspace, setup_of(shop.workspace), Progress(quiet=True))
    assert changes(shop) == []
    ledger = shop.ledger()
    first = ledger.sessions.telling(ledger.sessions.numbered(1))
    ledger.close()
    assert len(changes(shop, lambda _: Window(facts=first))) == 2
    for path in tmp_path.glob("workshop.db*"):
        if path.is_file():  # the search index beside it is of the lost store
            path.unlink()
    shop.run()
    assert changes(shop) == []
    assert set(shop.records()) == {"a", "b"}


def test_what_was_fetched_only_is_told_by_the_replay_that_reads_it(tmp_path, serve):
    service, shop = workshop(tmp_path, serve, send_parts)
    service.answer = UP
    with Session(setup_of(shop.workspace), "run") as session:
        session.harvest(shop.adapter.harvest(shop.workspace), phases=frozenset())
    assert changes(shop) == []
    shop.adapter.replay(shop.workspace, setup_of(shop.workspace), Progress(quiet=True))
    assert [change[:2] for change in changes(shop)] == []  # a replay asks no service
    shop.run()
    assert [change[:2] for change in changes(shop)] == [("new", "a"), ("new", "b")]


VISIT = st.tuples(st.sampled_from("kl"), st.sampled_from([None, 1, 2]), st.booleans(), st.integers(0, 2))
"""A record's key and value, whether another session settles the visit than the one before, and for how many it waits."""


def sessions_of(visits):
    """Return what each session settles, as (checkpoint, what a visit says)."""
    sessions = [[] for _ in range(len(visits) + 4)]
    session = 1
    for number, (key, value, begins, waits) in enumerate(visits, 1):
        session += begins
        results = (Observation(key, None if value is None else {"n": value}),)
        whole = AttemptObservations(
            number, datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=number), "http://a/", "s", results
        )
        if waits:
            sessions[session].append((number, whole._replace(results=(PendingAsk("read", number),))))
        sessions[session + waits].append((number, whole))
    return sessions


@given(st.lists(VISIT, min_size=1, max_size=6))
def test_sessions_that_settle_and_complete_visits_in_any_parts_tell_each_change_once(tmp_path_factory, visits):
    store = RecordStore(tmp_path_factory.mktemp("store") / "records.db")
    sessions = sessions_of(visits)
    at_their_ends = Counter()
    for session, entries in enumerate(sessions):
        for number, entry in entries:
            store.settle([entry], max(number, store.checkpoint()), session)
        at_their_ends.update((one.key, one.visit) for _, one in store.written_versions((session, session)))
    held = Counter((version.key, version.visit, version.change) for version in store.versions())
    asked_later = Counter(
        (one.key, one.visit, one.change)
        for session in range(1, len(sessions))
        for _, one in store.written_versions((session, session))
    )
    assert asked_later == held
    assert set(at_their_ends.values()) <= {1}
    late = {key for key, _, _, waits in visits if waits}
    assert {at_their_end for at_their_end in at_their_ends if at_their_end[0] not in late} == {
        one[:2] for one in held if one[0] not in late
    }
    together = [one for _, one in store.written_versions((1, len(sessions)))]
    assert Counter((one.key, one.visit, one.change) for one in together) == held, (
        "sessions that were killed, and the next"
    )
    store.close()
