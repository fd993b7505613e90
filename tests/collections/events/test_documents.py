"""The document of an event from its versions: moves, cancellations, missing events that return."""

from datetime import UTC, datetime, timedelta

from windrow.collections.events.documents import EventVersion, event_document, id_of
from windrow.collections.events.parser import EventParser
from windrow.collections.events.reading import missing_events
from windrow.contract import MissingOffer, WholeListing
from windrow.model import Site, Source

FIRST = datetime(2026, 1, 1, 12, tzinfo=UTC)


def value(**more):
    fields = {
        "datetime": "2026-01-10T15:00:00Z", "title": "Board", "description": None, "end_datetime": None,
        "branch": "Other", "entity": "Senate", "parser_name": "p", "event_url": None,
        "source_timezone": "America/New_York", "unique_key": "7", "all_day": False, "status": "scheduled",
    }  # fmt: skip
    return fields | more


def version(day, content):
    aside = {"source_url": "http://a.example/", "source_text": f"<li>{day}</li>", "parser_version": "1"}
    return EventVersion(FIRST + timedelta(days=day), "s", content, aside)


def fold(versions):
    return event_document("p/7", versions).document


def test_what_is_only_seen_again_makes_no_revision_and_keeps_the_text_and_time_it_was_first_read_with():
    document = fold([version(1, value()), version(2, value()), version(3, value())])
    assert (document["revision"], document["source_text"]) == (0, "<li>1</li>")
    assert document["access_datetime"] == "2026-01-02T12:00:00Z"
    assert "history" not in document


def test_a_changed_title_is_an_update_with_what_it_said_before_and_a_moved_one_has_its_former_ids():
    moved = value(datetime="2026-01-11T15:00:00Z", title="Board, moved")
    event = event_document("p/7", [version(1, value()), version(2, moved), version(3, moved)])
    document = event.document
    assert document["_id"] == id_of(moved)
    assert document["previous_ids"] == [id_of(value())] == list(event.previous_ids)
    assert document["history"] == [{"at": "2026-01-03T12:00:00Z", "fields": {
        "datetime": ["2026-01-10T15:00:00Z", "2026-01-11T15:00:00Z"], "title": ["Board", "Board, moved"]}}]  # fmt: skip
    assert document["access_datetime"] == "2026-01-03T12:00:00Z"


def test_an_event_that_moves_back_has_its_first_id_and_the_other_among_its_former_ones():
    moved = value(datetime="2026-01-11T15:00:00Z")
    document = fold([version(1, value()), version(2, moved), version(3, value())])
    assert (document["_id"], document["previous_ids"], document["revision"]) == (id_of(value()), [id_of(moved)], 2)


def test_an_event_that_a_listing_left_out_is_missing_with_what_it_said_and_when_it_was_last_seen():
    missing = EventVersion(FIRST + timedelta(days=3), "s", value(status="missing"), {})
    document = fold([version(1, value()), missing])
    assert (document["status"], document["last_seen"], document["revision"]) == ("missing", "2026-01-02T12:00:00Z", 1)
    assert (document["changed"], document["source_text"]) == ("2026-01-04T12:00:00Z", "<li>1</li>")
    back = fold([version(1, value()), missing, version(4, value())])
    assert (back["status"], "last_seen" in back) == ("scheduled", False)
    assert [entry["fields"]["status"] for entry in back["history"]] == [
        ["scheduled", "missing"],
        ["missing", "scheduled"],
    ]


def test_what_is_still_to_come_is_missing_after_as_many_whole_listings_as_are_wanted_and_what_is_past_never():
    def missing(content, listings, at=FIRST):
        source = Source("s", "events", Site(""), options={"event_parser": EventParser("p", "Other", "Senate")})
        listed = WholeListing(source, at, 7, (MissingOffer("p/7", content, listings),))
        return [missing_event.value["status"] for missing_event in missing_events(listed)]

    assert missing(value(), 2) == []
    assert missing(value(), 3) == ["missing"]
    assert missing(value(), 3, FIRST + timedelta(days=10)) == []  # it is in the past
    assert missing(value(status="missing"), 4) == missing(value(status="cancelled"), 4) == missing(None, 4) == []
    day = value(datetime="2026-01-01T00:00:00Z", all_day=True)
    assert missing(day, 3) == ["missing"]  # at noon of its day
    assert missing(day, 3, FIRST + timedelta(days=1)) == []


def test_an_event_that_its_source_takes_back_is_withdrawn_with_what_it_last_said():
    document = fold([version(1, value()), version(2, None), version(3, None)])
    assert (document["status"], document["title"], document["revision"]) == ("withdrawn", "Board", 1)
    assert event_document("p/7", [version(1, None)]) is None


def test_a_history_shows_late_differences_of_long_texts_and_counts_the_changes_that_it_leaves_out():
    texts = [f"{'a' * 600} {number}" for number in range(104)]
    document = fold([version(day, value(description=text)) for day, text in enumerate(texts)])
    assert (len(document["history"]), document["history_left_out"], document["revision"]) == (100, 3, 103)
    assert document["history"][-1]["fields"]["description"] == [f"\u2026{'a' * 17} 10{last}" for last in (2, 3)]
