"""Which session reports a change: the one that wrote it, also if a document waited for a service or a store was rebuilt."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.requests.workshop import SERVICE, Workshop, collection, documents, observe_answer, send_parts
from tests.sessions import session_settings
from windrow.adapters.adapter import Window
from windrow.app.changes import since_window
from windrow.contract import Ask, AttemptObservations, DocumentPart, Observation, PendingAsk
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.ledger.facts import last_number
from windrow.stores.records import RecordStore

DOWN, UP = (503, b"", {}), (200, b"good", {})


class Service:
    """A service whose answer a test changes."""

    def __init__(self):
        self.answer = DOWN

    def __call__(self, asked):
        return self.answer


def observe_then_send(task):
    """Record each offer before the service has answered."""
    observed = []
    for offer in task.offers:
        answer = task.answers.get(offer.key)
        observed += [observe_answer(offer, answer)] if answer else [
            Observation(offer.key, {"body": None}), Ask(offer.key, "reader", body=DocumentPart(*offer.part))]  # fmt: skip
    return observed


def changes_of(shop, window=None):
    ledger = shop.ledger()
    try:
        window = window(ledger) if window else Window(facts=ledger.sessions.reported_facts(ledger.sessions.latest()))
        listed_changes = [*shop.adapter.changes(shop.workspace, ledger, window)]
        ranges = [window._replace(shown_by=(fact, fact)) for fact in range(last_number(ledger) + 1)]
        assert sorted(listed_changes) == sorted(
            change for each in ranges for change in shop.adapter.changes(shop.workspace, ledger, each)
        ), "each change belongs to one fact"
        return sorted((change.kind, change.key, change.difference) for change in listed_changes)
    finally:
        ledger.close()


def workshop(root, serve, step):
    service = Service()
    declared = collection(step, replace(SERVICE, tries=1, seconds=1.0))
    return service, Workshop(root, serve(documents({"a": b"a", "b": b"b"})), serve(service), declared)


def test_a_record_that_waited_for_a_service_is_told_by_the_session_that_wrote_it(tmp_path, serve):
    service, shop = workshop(tmp_path, serve, send_parts)
    shop.run()
    assert changes_of(shop) == []
    before = datetime.now(UTC)
    service.answer = UP
    shop.run()
    assert [change[:2] for change in changes_of(shop)] == [("new", "a"), ("new", "b")]
    assert changes_of(shop, lambda ledger: since_window(ledger, before)) == changes_of(shop)
    shop.run()
    assert changes_of(shop) == []


def test_a_record_that_a_service_completed_later_is_told_as_new_and_then_as_changed(tmp_path, serve):
    service, shop = workshop(tmp_path, serve, observe_then_send)
    shop.run()
    assert changes_of(shop) == [("new", "a", ""), ("new", "b", "")]
    service.answer = UP
    shop.run()
    assert changes_of(shop) == [(("changed"), key, "body nothing -> good; status nothing -> 200") for key in "ab"]
    shop.run()
    assert changes_of(shop) == []


def test_a_replay_and_a_lost_store_that_is_made_anew_tell_nothing_again_but_what_nobody_told(tmp_path, serve):
    service, shop = workshop(tmp_path, serve, send_parts)
    service.answer = UP
    shop.run()
    shop.adapter.replay(shop.workspace, session_settings(shop.workspace), Progress(quiet=True))
    assert changes_of(shop) == []
    ledger = shop.ledger()
    first = ledger.sessions.reported_facts(ledger.sessions.numbered(1))
    ledger.close()
    assert len(changes_of(shop, lambda _: Window(facts=first))) == 2
    for path in tmp_path.glob("workshop.db*"):
        if path.is_file():  # the search index beside it belongs to the lost store
            path.unlink()
    shop.run()
    assert changes_of(shop) == []
    assert set(shop.records()) == {"a", "b"}


def test_what_was_fetched_only_is_told_by_the_replay_that_reads_it(tmp_path, serve):
    service, shop = workshop(tmp_path, serve, send_parts)
    service.answer = UP
    with Session(session_settings(shop.workspace), "run") as session:
        session.run_harvest(shop.adapter.harvest(shop.workspace), phases=frozenset())
    assert changes_of(shop) == []
    shop.adapter.replay(shop.workspace, session_settings(shop.workspace), Progress(quiet=True))
    assert [change[:2] for change in changes_of(shop)] == []  # a replay asks no service
    shop.run()
    assert [change[:2] for change in changes_of(shop)] == [("new", "a"), ("new", "b")]


ATTEMPT = st.tuples(st.sampled_from("kl"), st.sampled_from([None, 1, 2]), st.booleans(), st.integers(0, 2))
"""A record's key and number, whether the next session settles the attempt, and for how many sessions it waits."""


def sessions_of(attempts):
    """Return what each session settles, as (checkpoint, observations of an attempt)."""
    sessions = [[] for _ in range(len(attempts) + 4)]
    session = 1
    for number, (key, number_seen, begins, waits) in enumerate(attempts, 1):
        session += begins
        observed = (Observation(key, None if number_seen is None else {"n": number_seen}),)
        whole = AttemptObservations(
            number, datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=number), "http://a/", "s", observed
        )
        if waits:
            sessions[session].append((number, whole._replace(results=(PendingAsk("read", number),))))
        sessions[session + waits].append((number, whole))
    return sessions


@given(st.lists(ATTEMPT, min_size=1, max_size=6))
def test_sessions_that_settle_and_complete_attempts_in_any_parts_tell_each_change_once(tmp_path_factory, attempts):
    store = RecordStore(tmp_path_factory.mktemp("store") / "records.db")
    sessions = sessions_of(attempts)
    at_their_ends = Counter()
    for session, entries in enumerate(sessions):
        for number, entry in entries:
            store.settle([entry], max(number, store.checkpoint()), session)
        at_their_ends.update(
            (version.key, version.attempt) for _, version in store.written_versions((session, session))
        )
    held = Counter((version.key, version.attempt, version.change) for version in store.versions())
    asked_later = Counter(
        (version.key, version.attempt, version.change)
        for session in range(1, len(sessions))
        for _, version in store.written_versions((session, session))
    )
    assert asked_later == held
    assert set(at_their_ends.values()) <= {1}
    late = {key for key, _, _, waits in attempts if waits}
    assert {at_their_end for at_their_end in at_their_ends if at_their_end[0] not in late} == {
        version[:2] for version in held if version[0] not in late
    }
    together = [version for _, version in store.written_versions((1, len(sessions)))]
    assert Counter((version.key, version.attempt, version.change) for version in together) == held, (
        "sessions that were killed, and the next"
    )
    store.close()
