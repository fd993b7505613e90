"""The tests for each case that a successor of VotersDaily must handle."""

import ast
from pathlib import Path

CASES = {
    "date only": (
        "test_every_document_has_the_keys_and_types_of_the_standard",
        "test_dates_of_the_election_commission_are_days_whether_their_number_is_a_text_or_not",
        "test_an_evening_in_washington_that_is_midnight_utc_is_no_whole_day_in_a_calendar",
    ),
    "range of days": ("test_recess_periods_are_events_of_several_days_with_their_last_one",),
    "range that is asked for": (
        "test_the_api_answers_at_the_original_addresses_with_bounds_and_forms",
        "test_views_are_in_order_from_a_start_on_and_before_an_end_both_ways",
    ),
    "null and the empty string": (
        "test_every_document_has_the_keys_and_types_of_the_standard",
        "test_json_is_read_by_path_with_alternatives_and_missing_values_as_the_standard_wants_them",
        "test_what_hostile_sources_say_keeps_the_keys_types_and_ids_of_the_standard",
    ),
    "days on which the clocks change": ("test_times_that_the_clocks_repeat_or_skip_are_told_and_noted",),
    "year end": ("test_senate_votes_have_the_year_that_their_dates_leave_out_at_its_end_too",),
    "one committee twice a day": ("test_two_meetings_of_one_committee_on_one_day_are_two_and_one_told_twice_is_one",),
    "placeholder row": (
        "test_senate_hearings_are_read_without_the_placeholder_and_an_empty_list_is_empty",
        "test_a_placeholder_row_is_no_event_and_none_that_was_rejected",
    ),
    "error body with status 200": (
        "test_an_answer_200_that_is_an_error_page_is_logged_as_such_and_changes_nothing",
        "test_a_wrong_address_of_the_senate_that_answers_200_with_html_is_an_error",
    ),
    "duplicate guid": (
        "test_a_feed_whose_entries_share_one_guid_gives_each_of_them",
        "test_the_floor_feed_with_a_mark_before_it_and_one_guid_for_all_gives_each_item",
    ),
    "second run without inserts": ("test_a_second_reading_inserts_nothing_and_leaves_a_log",),
    "changed title is an update": (
        "test_a_moved_and_renamed_event_is_one_document_with_its_history_and_its_former_id",
        "test_a_changed_title_is_an_update_with_what_it_said_before_and_a_moved_one_has_its_former_ids",
    ),
    "vanished item": (
        "test_a_future_event_that_vanishes_is_marked_after_good_runs_only_and_is_back_when_it_is",
        "test_what_is_still_to_come_is_missing_after_as_many_whole_listings_as_are_wanted_and_what_is_past_never",
    ),
    "two logs in one second": ("test_two_logs_of_one_second_have_two_ids_and_the_same_one_twice_has_one",),
    "failure before the first byte": (
        "test_an_attempt_that_fails_is_logged_with_its_exception_before_a_byte_came_too",
    ),
    "valid iCalendar with the last day": (
        "test_our_icalendar_is_folded_escaped_and_read_by_the_library_with_the_last_all_day_day",
        "test_our_icalendar_is_read_by_an_independent_program_as_the_same_events",
        "test_the_api_answers_in_every_form_with_documents_that_votersdaily_wrote",
    ),
}


def test_every_case_is_shown_by_tests_that_there_are():
    here = Path(__file__).parent
    files = [*here.glob("test_*.py"), here.parents[1] / "stores" / "test_documents.py"]
    defined = {
        statement.name
        for path in files
        for statement in ast.parse(path.read_text()).body
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_")
    }
    assert [(case, name) for case, names in CASES.items() for name in names if name not in defined] == []
    assert all(CASES.values())
