"""Every number that bounds something is a declared cap, or one of the kinds below that leave out nothing."""

from __future__ import annotations

from fnmatch import fnmatch
from itertools import chain

from tests.house.bounds import numbers_that_bound
from tests.house.tree import at, python
from windrow.caps import CAPS, LEFT_OUT
from windrow.config import declared_settings, settings_of_sources
from windrow.contract.registry import installed

NO_CAPS = {
    "sizes of batches, pages and blocks: what does not fit is taken next": (
        "*PAGE_SIZE", "*PAGE_LINES", "*CHUNK_SIZE", "*_PER_*", "*BATCH*", "*BULK*", "*SLICE*", "*_BLOCK*", "*PIECES", "*_AHEAD",
        "*READ_AHEAD", "*STATEMENT*", "*PARALLEL_*", "*MAX_PAGE_*", "*PIPE_BYTES", "*IN_HAND", "*PER_HOST",
        "*couchdb:*", "*hbase:_MAX_ROWS", "*events/adapter/projection:*", "*crawling:MAX_*", "*DISCARDED*",
        "*COMPRESSED_BODY", "*WINDOW*", "*LINES_ONE_BY_ONE", "*UNCHECKED*", "*SCANNED*", "*WHOLE_TEXT", "*TREE_BYTES",
        "*LOOPED*", "*FACTS_IN_MEMORY", "*IN_MEMORY", "*erase:*", "*LINE_OCTETS", "*VERSION_BYTES", "*BAND_BYTES",
        "*_UNANSWERED", "*PACKET*", "*SIZE_LINE*", "*MEAN_RECORD*", "*EXTRA_WORKERS", "*home:_PAGE_*", "*home:_MAX_READ",
        "*home:_DAY_EVENTS",
    ),
    "sizes of caches: what is forgotten is computed again": (
        "*REMEMBERED*", "*CACHED*", "*_MAX_HOSTS", "*CHECKED_HOURS", "*LINK_SHAPES", "*rules:MAX_KINDS",
    ),
    "seconds, attempts and pauses: what is not done in time is done later": (
        "*SECONDS*", "*ATTEMPTS", "*PAUSE*", "*_WAIT", "*_DELAY", "*SILENCE", "*READING_*", "*PART_AGE", "*FAILURES", "*MAX_FAILED_*", "*FRUITLESS",
        "*politeness/*:MAX_*", "*HARMFUL", "*SESSIONS_*", "*UNANSWERED", "*papers/grobid:MAX_REQUESTS", "*_WEEKS",
    ),
    "lists shown to people, who can ask for all of it": (
        "*SHOWN*", "*LISTED*", "*NAMED*", "*PREVIEWED", "app/story:*", "*SESSION_CHANGES",
        "adapters/record_changes:*", "*checks:[[]:50]", "*history:MAX_NAMED*", "*LINKS_READ", "*LINK_TEXTS",
        "*COMPARED_VERSIONS", "*COMPARED_LINES", "*COMPARED_WORDS", "*FAILED_CAPTURES", "*LOGGED_REQUESTS", "*_MAX_HISTORY",
        "*CHANGED_CHARACTERS", "*api:MAX_EVENTS", "*MAX_FEED_ARTICLES", "*DOCUMENTS_EXAMINED", "*_CHAIN",
        "*kinds_named*", "*RESULTS_PER_HOST", "*TEXTS_READ", "*MAX_BLOCKS", "*MAX_MATCHES", "*COMPLETIONS", "*index_lines:_MAX_LINES",
        "*likeness:*", "query/spelling:*", "query/word_forms:*", "*rules:MAX_RULES", "*record_changes:*", "*KINDS_NAMED", "*RECENT_SITEMAPS", "*DESCRIPTION_LENGTH",
        "web/words:_MAX_*", "*home:_MAX_ROWS", "*home:_MAX_FINDINGS", "*home:_MAX_GROUPS", "*home:_MAX_MOMENTS", "*home:_SHOWN_AUTHORS",
    ),
    "messages, names and fields shortened for a column or a line": (
        "*MESSAGE*", "*COMMENT*", "*ERROR_CHARACTERS", "*LINE_CHARACTERS", "*UID_CHARACTERS", "*RULE_LENGTH", "*_KEY_CHARACTERS",
        "*:[[]:32]", "*:[[]:40]", "*:[[]:64]", "*:[[]:80]", "*:[[]:100]", "*:[[]:160]", "*:[[]:200]", "*:[[]:256]",
        "*:[[]:300]", "*:[[]:500]", "*:[[]:512]", "*:[[]:1000]", "*:[[]:1024]", "*:[[]:2000]", "*:[[]:2048]",
        "*TITLE_CHARACTERS", "*FIELD_CHARACTERS", "*ABSTRACT_CHARACTERS", "*RECORD_ID_CHARACTERS", "*api:_MAX_TEXT*",
        "*HOST_LENGTH", "*WORD_LENGTH", "*URL_LENGTH", "*pdf:_MAX_TEXT_CHARACTERS", "*PARAMETER_LENGTH", "*_EXCERPT_CHARACTERS",
    ),
    "the start of a document, from which its kind or encoding is detected": (
        "*EXAMINED*", "*status_words:*", "*events/times:_MAX_*", "*field_times:_MAX_*", "*PRESCAN*", "*HEAD_SIZE", "*HEAD_BYTES", "*PROBE*", "*:[[]:4096]", "*:[[]:1048576]",
        "*STRIPPED_BYTES", "*FRAMESET_BYTES", "*sketch:MAX_CHARACTERS", "*SHARE*", "*PROXIMITY*",
    ),
    "bounds of a protocol, a standard, a number or a database, which refuses more with a reason": (
        "*INTEGER*", "*INT64", "*SMALLINT", "*RETRIES", "*_MAX_SIZE", "*MAX_OFFSET", "*DIGITS", "*NAME_LENGTH",
        "*INCREMENT", "*KEY_SIZE", "*KEY_LENGTH", "*_REPLY", "*ftp_session:_MAX_LINE", "*ARC_LINE*", "*import_file:*",
        "*WASTE*", "*INFLATED", "*INFLATION", "*GZIP_MEMBERS", "*ESCAPES", "*REDIRECTS", "*remote_records:MAX_HEADER*",
        "*archiving_client:MAX_ROBOTS*", "*query/parse:*", "*query/columns:*", "*standard:MAX_FILE_SIZE", "*index:_MAX_LINE_SIZE", "*work_files:_MAX_*",
        "*ROUNDS", "*by_path:_MAX_*SPAN", "*SAME_SLUG", "*ROBOTS_ANSWERS", "*LISTINGS",
        "*expressions:_MAX_LEVELS",
    ),
    "rules and estimates that look at the shape of a page, and cut no text": (
        "content/*", "*pages/policy:*", "*BIG_LEVEL", "*TAG_BYTES", "*formats/moment:*", "*formats/pdf:_MAX_PIECES",
        "*references:_MAX_NESTED_PAGES", "*soft_404s:*", "*MAX_STUB_*", "*listing:_MAX_*", "*HOURS_OVER_MIDNIGHT", "*catalogue:MAX_AUTHORS", "*robots:_MAX_CHARACTERS",
    ),
}  # fmt: skip
"""Kinds of numbers that are no caps, each with the patterns of its `folder/module:NAME`."""


def test_every_number_that_bounds_something_is_a_cap_or_no_cap() -> None:
    patterns = [pattern for kind in NO_CAPS.values() for pattern in kind]
    undeclared = {
        name: number
        for name, number in numbers_that_bound().items()
        if not any(fnmatch(name, pattern) for pattern in patterns)
    }
    assert undeclared == {}, "declare it in windrow/caps.py, or add its kind here"


def test_every_cap_is_used() -> None:
    code = "\n".join(path.read_text() for path in python("src") if at(path) != "src/windrow/caps.py")
    assert [cap.name for cap in CAPS if cap.name not in code] == []


def test_caps_that_leave_out_something_report_it() -> None:
    code = "\n".join(path.read_text() for path in python("src") if at(path) != "src/windrow/caps.py")
    ways = (
        "{}.find_excess(",
        "Excess({},",
        "_note_excess({},",
        "left_out[{}]",
        "left_out[{} if",
        "{}._replace(number=",
        "else {}] +=",
    )
    unreported = [
        cap.name for cap in CAPS if cap.excess == LEFT_OUT and not any(way.format(cap.name) in code for way in ways)
    ]
    assert unreported == []


def test_names_and_numbers_of_caps_are_right() -> None:
    import windrow.caps  # noqa: PLC0415 its names are looked up

    assert [cap.name for cap in CAPS if getattr(windrow.caps, cap.name) is not cap] == []
    assert all(cap.number > 0 and cap.counted and cap.why and cap.excess for cap in CAPS)


def test_settings_of_caps_are_declared() -> None:
    names = {*declared_settings(), *chain.from_iterable(settings_of_sources(installed()).values())}
    assert {cap.setting for cap in CAPS if cap.setting} - names == set()
