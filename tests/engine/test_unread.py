"""Documents that a step could not read are read again by later runs, shown by status until then, and known to retry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.engine.recorded_attempts import Attempts, summarise
from tests.engine.site_crawl import change_ledger, damage_record, query_ledger
from tests.engine.summary_crawl import PAGES
from tests.engine.test_recorded_attempts import A, generations, page, reasons
from tests.engine.unsteady_steps import (
    follow_unsteadily,
    note,
    note_address,
    note_unsteadily,
    stop_all_steps,
    summarise_unsteadily,
)
from tests.requests.workshop import AnswerFunction, Server, Workshop, collection, documents, send_form
from windrow.adapters.adapter import NEW
from windrow.clock import now, spell
from windrow.collections.pages.adapter.changes import find_page_changes
from windrow.collections.pages.database.page_versions import read_timelines
from windrow.contract import Collection, Settle
from windrow.engine.decision import write_decision
from windrow.engine.frontier import CANCEL, RETRY, frontier_of
from windrow.engine.steps.unread import UnreadCount, count_unread
from windrow.errors import ReaderFailed
from windrow.ledger import Ledger
from windrow.model import Limits
from windrow.reasons import Reason
from windrow.stores.sqlite import SqliteReader

LIMITS = Limits(cpu_time=0.5)


def failing_collection(version: str = "1") -> Collection:
    """Return the collection of pages with a step that fails as a page says."""
    settle, *rest = PAGES.steps
    assert isinstance(settle, Settle)
    return replace(PAGES, steps=(replace(settle, run=summarise_unsteadily, version=version), *rest))


def settle(root: Path, version: str = "1") -> int:
    """Run the step, and return the exit code."""
    return summarise(root, limits=LIMITS, collection=failing_collection(version))


@contextmanager
def ledger_of(root: Path) -> Iterator[Ledger]:
    """Yield the ledger, and close it."""
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        yield ledger


def unread(root: Path) -> list[UnreadCount]:
    """Return the counts of unread pages that `windrow status` shows."""
    with ledger_of(root) as ledger:
        return count_unread(ledger, PAGES)


def times(root: Path) -> list[tuple[object, ...]]:
    """Return the reason and number of failed readings of each unread page."""
    return query_ledger(root, "SELECT reason, times FROM unread ORDER BY attempt")


def new_pages(root: Path, session: int) -> list[str]:
    """Return the addresses of the pages that a session reports as new."""
    with closing(SqliteReader(root / "summary.sqlite")) as summary:
        timelines = read_timelines(summary, sessions=(session, session))
        return [timeline.url for timeline in timelines for change in find_page_changes(timeline) if change.kind == NEW]


@pytest.fixture
def cause(tmp_path: Path) -> Path:
    """Return a file; while it exists, a page cannot be read."""
    path = tmp_path / "cause"
    path.touch()
    return path


OpenShop = Callable[..., Workshop]


@pytest.fixture
def open_shop(tmp_path: Path) -> Iterator[OpenShop]:
    """Return a function that makes a workspace with a source of documents, and a service that answers nothing by default."""
    with ExitStack() as stack:

        def start(
            offered: dict[str, bytes], declared: Collection, answer: AnswerFunction = lambda _: (200, b"", {})
        ) -> Workshop:
            servers = [
                stack.enter_context(closing(Server(answer_function)))
                for answer_function in (documents(offered), answer)
            ]
            return Workshop(tmp_path, *servers, declared)

        yield start


@pytest.mark.parametrize(("word", "reason"), [("spin", "time_limit"), ("die", "worker_died"), ("eat", "memory_limit")])
def test_a_page_that_was_not_read_is_read_by_the_next_run(tmp_path: Path, cause: Path, word: str, reason: str) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page(f"({word} while {cause})"), at=10)
        attempts.answer(A + "b", page("other"), at=11)
    assert settle(tmp_path) == 3
    assert reasons(tmp_path) == [(A, reason), (A + "b", "")]
    (count,) = unread(tmp_path)
    assert (count.collection, count.phase, count.reason, count.documents) == ("pages", "summarise", reason, 1)
    assert count.due is not None
    assert count.due <= now(), "the next run does it"
    cause.unlink()
    assert settle(tmp_path) == 0
    assert reasons(tmp_path) == [(A, ""), (A + "b", "")]
    assert [row[1] for row in generations(tmp_path)] == [f"({word} while {cause})", "other"]
    assert unread(tmp_path) == []
    assert settle(tmp_path) == 0
    sessions = [session for (session,) in query_ledger(tmp_path, "SELECT seq FROM session ORDER BY seq")]
    assert [new_pages(tmp_path, session) for session in sessions] == [[], [A + "b"], [A], []]


def test_a_page_that_is_not_read_again_and_again_is_left_alone_for_longer_each_time(
    tmp_path: Path, cause: Path
) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page(f"(spin while {cause})"), at=10)
    assert [settle(tmp_path) for _ in range(3)] == [3, 3, 0], "the third one leaves it alone"
    assert times(tmp_path) == [("time_limit", 2)]
    (count,) = unread(tmp_path)
    assert count.due is not None
    assert timedelta(minutes=55) < count.due - now() <= timedelta(hours=1)
    change_ledger(tmp_path, "UPDATE unread SET at = ?", spell(now() - timedelta(hours=1)))
    assert settle(tmp_path) == 3
    assert times(tmp_path) == [("time_limit", 3)]
    assert settle(tmp_path) == 0
    change_ledger(tmp_path, "UPDATE unread SET at = ?", spell(now() + timedelta(days=3650)))
    assert settle(tmp_path) == 3, "the clock was ahead"


@pytest.mark.parametrize("named", [True, False])
def test_an_operator_has_what_was_not_read_read_at_once(tmp_path: Path, cause: Path, named: bool) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page(f"(spin while {cause})"), at=10)
    assert [settle(tmp_path) for _ in range(3)] == [3, 3, 0]
    cause.unlink()
    due = query_ledger(tmp_path, "SELECT due FROM address")
    with ledger_of(tmp_path) as ledger:
        frontier = frontier_of(ledger, PAGES)
        assert frontier.find_undone(RETRY, "", "worker_died") == []
        chosen = frontier.find_named([A]) if named else frontier.find_undone(RETRY, "", "time_limit")
        assert [address.key for address in chosen] == [A]
        assert write_decision(ledger, PAGES, RETRY, chosen) == 1
    assert (query_ledger(tmp_path, "SELECT due FROM address") == due) == (not named), (
        "it is asked again only where it is named"
    )
    assert settle(tmp_path) == 0
    assert reasons(tmp_path) == [(A, "")]


def test_a_step_that_failed_by_itself_is_taken_again_when_it_is_mended(tmp_path: Path, cause: Path) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page(f"(fail while {cause})"), at=10)
    assert [settle(tmp_path), settle(tmp_path)] == [3, 0], "the same step would fail again"
    (count,) = unread(tmp_path)
    assert (count.reason, count.documents, count.due) == (Reason.STEP_FAILED, 1, None)
    cause.unlink()
    assert settle(tmp_path) == 0
    assert reasons(tmp_path) == [(A, "step_failed")]
    assert settle(tmp_path, version="2") == 0
    assert reasons(tmp_path) == [(A, "")]
    assert unread(tmp_path) == []


def test_a_step_that_failed_by_itself_is_taken_again_when_an_operator_says_so(tmp_path: Path, cause: Path) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page(f"(fail while {cause})"), at=10)
    assert settle(tmp_path) == 3
    cause.unlink()
    with ledger_of(tmp_path) as ledger:
        chosen = frontier_of(ledger, PAGES).find_undone(RETRY, "", "step_failed")
        assert write_decision(ledger, PAGES, RETRY, chosen) == 1
    assert settle(tmp_path) == 0
    assert reasons(tmp_path) == [(A, "")]


def test_bytes_that_were_not_read_are_not_known_when_they_come_again(tmp_path: Path, cause: Path) -> None:
    body = page(f"(spin while {cause})")
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, body, at=10)
    assert [settle(tmp_path), settle(tmp_path)] == [3, 3]
    cause.unlink()
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, body, at=20)
    assert settle(tmp_path) == 0, "the first attempt rests"
    assert reasons(tmp_path) == [(A, "time_limit"), (A, "")]
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, body, at=30)
    assert settle(tmp_path) == 0
    assert reasons(tmp_path) == [(A, "time_limit"), (A, ""), (A, "")]
    assert [row[1] for row in generations(tmp_path)][-1] == f"(spin while {cause})"


def test_a_page_that_was_taken_down_meanwhile_is_not_read_again(tmp_path: Path, cause: Path) -> None:
    with Attempts(tmp_path) as attempts:
        attempts.answer(A, page(f"(spin while {cause})"), at=10)
    assert settle(tmp_path) == 3
    change_ledger(
        tmp_path, "UPDATE attempt SET status = NULL, reason = 'forgotten', digest = '', warc = '' WHERE address <> 0"
    )
    settle(tmp_path)
    assert unread(tmp_path) == []


def counts(shop: Workshop, declared: Collection) -> list[UnreadCount]:
    with closing(shop.ledger()) as ledger:
        return count_unread(ledger, declared)


def test_a_record_that_was_not_read_is_made_by_the_next_run(tmp_path: Path, open_shop: OpenShop, cause: Path) -> None:
    declared = collection(note_unsteadily)
    shop = open_shop(
        {"one": f"(die while {cause})".encode(), "two": f"(fail while {cause})".encode(), "three": b"3"}, declared
    )
    shop.run()
    assert set(shop.records()) == {"three"}
    assert [(count.reason, count.documents) for count in counts(shop, declared)] == [
        (Reason.WORKER_DIED, 1), (Reason.STEP_FAILED, 1)]  # fmt: skip
    cause.unlink()
    shop.run()
    assert set(shop.records()) == {"one", "three"}
    corrected = replace(declared, steps=(replace(declared.steps[0], version="2"),))
    shop = Workshop.opened(tmp_path, corrected)
    shop.run()
    assert set(shop.records()) == {"one", "two", "three"}
    assert counts(shop, declared) == []
    assert shop.records()["two"] == {"body": f"(fail while {cause})"}


def test_an_answer_that_was_not_followed_is_followed_by_the_next_run_and_its_record_made(
    open_shop: OpenShop, cause: Path
) -> None:
    declared = collection(note, follow=follow_unsteadily)
    shop = open_shop({"one": f"(die while {cause})".encode(), "two": b"2"}, declared)
    shop.run()
    assert set(shop.records()) == {"two"}
    (count,) = counts(shop, declared)
    assert (count.phase, count.reason, count.documents) == ("ask", "worker_died", 1)
    cause.unlink()
    asked = len(shop.api.paths())
    shop.run()
    assert set(shop.records()) == {"one", "two"}
    assert counts(shop, declared) == []
    assert "/one" not in shop.api.paths()[asked:]


def test_a_record_stays_where_its_attempt_is_taken_again_and_not_read(
    open_shop: OpenShop, cause: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step runs again since its answer is followed late: its offers were not known."""
    declared = collection(note_address, follow=follow_unsteadily)
    shop = open_shop({"one": f"(die while {cause})".encode()}, declared)
    shop.run()
    address = f"{shop.api.url}one"
    assert shop.records()[address] == {"offers": []}
    cause.unlink()
    with stop_all_steps(monkeypatch):
        shop.run()
    assert shop.records()[address] == {"offers": []}
    assert [(count.phase, count.reason) for count in count_unread(shop.ledger(), declared)] == [
        ("read", Reason.TIME_LIMIT)
    ]
    shop.run()
    assert shop.records()[address] == {"offers": ["one"]}
    assert count_unread(shop.ledger(), declared) == []


def test_a_replay_that_could_not_read_what_was_read_leaves_the_records_in_place(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = collection(note)
    shop = open_shop({"one": b"1", "two": b"2"}, declared)
    shop.run()
    records = shop.records()
    assert set(records) == {"one", "two"}
    with (
        stop_all_steps(monkeypatch),
        pytest.raises(ReaderFailed, match=r"2 documents could .*\(time_limit: 2\), so") as e,
    ):
        shop.replay()
    assert "windrow replay" in e.value.hint
    assert shop.records() == records
    assert count_unread(shop.ledger(), declared) == [], "the store in use has read them"
    shop.replay()
    assert shop.records() == records


def test_a_damaged_document_keeps_its_record_in_a_replay_and_is_requested_anew_by_an_operators_order(
    open_shop: OpenShop,
) -> None:
    """The replay used to be refused until the archive was restored."""
    declared = collection(note)
    shop = open_shop({"one": b"1", "two": b"2"}, declared)
    shop.run()
    records = shop.records()
    damage_record(shop.root, "/one")
    for _ in range(2):
        shop.replay()
        assert shop.records() == records
        (count,) = count_unread(shop.ledger(), declared)
        assert (count.reason, count.documents) == (Reason.DISK_FAILED, 1)
    with ledger_of(shop.root) as ledger:
        chosen = frontier_of(ledger, declared).find_undone(RETRY, "", "disk_failed")
        assert write_decision(ledger, declared, RETRY, chosen) == 1
    asked = len(shop.api.paths())
    shop.run()
    assert "/one" in shop.api.paths()[asked:]
    assert count_unread(shop.ledger(), declared) == []
    shop.replay()
    assert shop.records() == records
    assert count_unread(shop.ledger(), declared) == []
    damage_record(shop.root, "/one")
    shop.replay()
    due = query_ledger(shop.root, "SELECT due FROM address ORDER BY digest")
    with ledger_of(shop.root) as ledger:
        write_decision(ledger, declared, CANCEL, frontier_of(ledger, declared).find_undone(CANCEL, "", "disk_failed"))
    assert count_unread(shop.ledger(), declared) == []
    assert query_ledger(shop.root, "SELECT due FROM address ORDER BY digest") == due


def test_what_a_replay_could_not_read_first_is_read_by_the_next_run(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that fetched it was stopped before the step: the current store has no record of it."""
    declared = collection(note)
    shop = open_shop({"one": b"1"}, declared)
    shop.run(phases=frozenset())
    with stop_all_steps(monkeypatch):
        shop.replay()
    assert shop.records() == {}
    assert [(count.reason, count.documents) for count in count_unread(shop.ledger(), declared)] == [
        (Reason.TIME_LIMIT, 2)
    ]
    shop.run()
    assert set(shop.records()) == {"one"}
    assert count_unread(shop.ledger(), declared) == []


def test_what_is_to_be_taken_again_since_it_is_followed_late_has_the_reason_for_that(
    open_shop: OpenShop, cause: Path
) -> None:
    declared = collection(note, follow=follow_unsteadily)
    shop = open_shop({"one": f"(die while {cause})".encode()}, declared)
    shop.run()
    cause.unlink()
    shop.run(phases=frozenset())
    assert [(count.phase, count.reason) for count in count_unread(shop.ledger(), declared)] == [
        ("read", Reason.WORKER_DIED)
    ]
    shop.run()
    assert set(shop.records()) == {"one"}
    assert count_unread(shop.ledger(), declared) == []


def test_what_was_not_read_and_then_asks_a_service_that_is_away_is_not_read_again_by_each_run(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = [True]
    declared = collection(send_form)
    shop = open_shop({"one.pdf": b"1"}, declared, lambda asked: (503 if away else 200, b"answer", {}))
    with stop_all_steps(monkeypatch):
        shop.run()
    assert sum(count.documents for count in count_unread(shop.ledger(), declared)) == 2
    shop.run()
    assert len(shop.waiting()) == 1
    assert count_unread(shop.ledger(), declared) == []
    away.clear()
    with stop_all_steps(monkeypatch):
        shop.ask_next()
        shop.run()
    assert shop.waiting() == {}
    assert [(count.reason, count.documents) for count in count_unread(shop.ledger(), declared)] == [
        (Reason.TIME_LIMIT, 1)
    ]
    shop.run()
    assert shop.records()["one.pdf"]["body"] == "answer"
    assert count_unread(shop.ledger(), declared) == []


FAILED, READ, OTHER = ("1", "worker_died"), ("1", None), ("0", "worker_died")


@pytest.mark.parametrize(
    ("readings", "failures"),
    [
        ([FAILED], 1),
        ([FAILED, FAILED, FAILED], 3),
        ([FAILED, FAILED, READ, FAILED], 1),
        ([OTHER, FAILED, FAILED], 2),
        ([READ, OTHER, READ, FAILED, FAILED], 2),
    ],
)
def test_the_failures_of_an_item_are_counted_from_its_last_success(
    tmp_path: Path, readings: list[tuple[str, str | None]], failures: int
) -> None:
    with ledger_of(tmp_path) as ledger:
        connection = ledger.database.connection
        connection.execute("INSERT INTO pending_step VALUES (1, 'drops', 'data', 5, '', 0, 'worker_died', 9)")
        rows = [(number, version, reason) for number, (version, reason) in enumerate(readings, 2)]
        at = "2026-11-26T12:00:00.000000+00:00"
        connection.executemany(f"INSERT INTO reading VALUES (?, '{at}', 1, 1, 'data', ?, '', ?, 0, '')", rows)
        assert [item.times for item in ledger.unread.items("drops", "data")] == [failures]
