"""Every number that bounds something is a declared cap, or one of the kinds below that leave out nothing."""

from __future__ import annotations

import ast
from fnmatch import fnmatch
from itertools import chain

from tests.house.bounds import find_bounds, numbers_that_bound
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
        "*home:_DAY_EVENTS", "*pages/adapter/search:BLOCK_SIZE", "*pages/database/writer:[[]1000]", "*foreign_records:SCAN_RECORDS",
        "engine/listed/transfer:*", "stores/sqlite:page_size", "*http_response:_SMALL_CHUNK_BYTES", "*worker:_SMALL_RESULT",
        "web/application:_LEAST_PACKED", "*wide:_MIN_COMPRESSED_SIZE", "formats/http:FREE_BYTES", "*heartbeat:_LOOK_INTERVAL",
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
        "*COMPARED_VERSIONS", "*COMPARED_LINES", "*COMPARED_PAIRS", "*COMPARED_WORDS", "*FAILED_CAPTURES", "*LOGGED_REQUESTS", "*_MAX_HISTORY",
        "*CHANGED_CHARACTERS", "*api:MAX_EVENTS", "*DOCUMENTS_EXAMINED", "*_CHAIN",
        "*kinds_named*", "*RESULTS_PER_HOST", "*TEXTS_READ", "*MAX_BLOCKS", "*MAX_MATCHES", "*COMPLETIONS", "*index_lines:_MAX_LINES",
        "*likeness:*", "query/spelling:*", "query/word_forms:*", "*rules:MAX_RULES", "*record_changes:*", "*KINDS_NAMED", "*RECENT_SITEMAPS", "*DESCRIPTION_LENGTH",
        "web/words:_MAX_*", "*home:_MAX_ROWS", "*home:_MAX_FINDINGS", "*home:_MAX_GROUPS", "*home:_MAX_MOMENTS", "*home:_SHOWN_AUTHORS", "app/workspace:limit",
    ),
    "messages, names and fields shortened for a column or a line": (
        "*MESSAGE*", "*COMMENT*", "*ERROR_CHARACTERS", "*LINE_CHARACTERS", "*UID_CHARACTERS", "*RULE_LENGTH", "*_KEY_CHARACTERS",
        "app/begin:[[]32]", "app/warc_files:[[]64]", "archive/warc_reader:[[]160]", "collections/drops/*:[[]*]",
        "collections/events/adapter/run_logs:[[]2000]", "collections/events/discover:[[]300]",
        "collections/events/readers/by_fields:[[]200]", "collections/events/readers/icalendar:[[]500]",
        "collections/events/readers/schema_org:[[]*]", "collections/news/adapter/raw:[[]1000]",
        "collections/news/feed:[[]100]", "collections/news/feed:[[]500]", "collections/news/listed_details:[[]64]",
        "collections/news/wordpress:[[]2000]", "collections/papers/adapter/papers:[[]160]",
        "collections/papers/database/hbase:[[]300]", "collections/papers/grobid:[[]200]", "engine/captures/*:[[]*]",
        "engine/crawl/*:[[]*]", "engine/fetchers/message:[[]1000]", "engine/requests/answers:[[]200]",
        "engine/requests/following:[[]2000]", "engine/steps/stepping:[[]512]", "formats/robots:[[]200]", "formats/listing:[[]1000]", "formats/xml:[[]1000]",
        "ledger/captures:[[]1024]", "ledger/sessions:[[]500]", "settings/kinds:[[]100]", "stores/records:[[]*]",
        "fetch/transport:max_length", "*record_home:_SHORT_CHARACTERS", "*plain_values:_SHORT_TEXT", "*text:_CONTEXT_CHARACTERS",
        "*TITLE_CHARACTERS", "*FIELD_CHARACTERS", "*ABSTRACT_CHARACTERS", "*RECORD_ID_CHARACTERS", "*api:_MAX_TEXT*",
        "*HOST_LENGTH", "*WORD_LENGTH", "*URL_LENGTH", "*pdf:_MAX_TEXT_CHARACTERS", "*PARAMETER_LENGTH", "*_EXCERPT_CHARACTERS",
    ),
    "the start of a document or text, from which its kind, encoding or status is detected; later words for a status are noted": (
        "*EXAMINED*", "*status_words:*", "*events/times:_MAX_*", "*field_times:_MAX_*", "*PRESCAN*", "*HEAD_SIZE", "*HEAD_BYTES", "*PROBE*", "archive/capture_sink:[[]*]", "collections/events/adapter/run_logs:[[]200]",
        "collections/events/readers/publishers:[[]*]", "collections/news/section_page:[[]*]", "collections/news/feed:[[]2048]",
        "collections/news/adapter/home:[[]100]", "collections/pages/code:[[]1000]", "collections/papers/file_meta:[[]1024]",
        "collections/papers/grobid:[[]64]", "collections/papers/catalogue:[[]*]", "formats/http:[[]*]", "formats/sniff:[[]*]",
        "formats/url_hints:[[]4096]", "formats/xml:[[]1024]", "*grobid:_GOOD_BODY",
        "*STRIPPED_BYTES", "*FRAMESET_BYTES", "*sketch:MAX_CHARACTERS", "*SHARE*", "*PROXIMITY*",
    ),
    "bounds of a protocol, a standard, a number or a database, which refuses more with a reason": (
        "*INTEGER*", "*INT64", "*SMALLINT", "*RETRIES", "*_MAX_SIZE", "*MAX_OFFSET", "*DIGITS", "*NAME_LENGTH",
        "*INCREMENT", "*KEY_SIZE", "*KEY_LENGTH", "*_REPLY", "*ftp_session:_MAX_LINE", "*ARC_LINE*", "*import_file:*",
        "*WASTE*", "*INFLATED", "*INFLATION", "*GZIP_MEMBERS", "*ESCAPES", "*REDIRECTS", "*remote_records:MAX_HEADER*",
        "*archiving_client:MAX_ROBOTS*", "*query/parse:*", "*query/columns:*", "*standard:MAX_FILE_SIZE", "*index:_MAX_LINE_SIZE", "*work_files:_MAX_*",
        "*ROUNDS", "*by_path:_MAX_*SPAN", "*SAME_SLUG", "*ROBOTS_ANSWERS", "*LISTINGS",
        "*expressions:_MAX_LEVELS", "*:HOPS", "*_STATUS", "*_HTTP_ERROR", "*:MULTIPLE_CHOICES", "*archiving_client:status",
        "*_FIRST_YEAR", "*sandbox:_*_VERSION", "*hbase:_FOR_EVER", "*time_of_day:_MINUTES_OF_DAY", "*foreign_records:_LINE_ENDS",
        "*plain_values:max_bytes", "web/routes:[[]1000000000]", "*listening:_LEAST_TOKEN",
    ),
    "rules and estimates that look at the shape of a page, and cut no text": (
        "content/*", "*pages/policy:*", "*BIG_LEVEL", "*TAG_BYTES", "*formats/moment:*", "*formats/pdf:_MAX_PIECES",
        "*references:_MAX_NESTED_PAGES", "*soft_404s:*", "*MAX_STUB_*", "*MIN_*", "*sketch:LANES", "*listing:_MAX_*", "ledger/attempts.sql:[[]100]", "*HOURS_OVER_MIDNIGHT", "*catalogue:MAX_AUTHORS", "*robots:_MAX_CHARACTERS",
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


def test_the_forms_in_which_code_is_bounded_are_seen() -> None:
    forms = {
        "MAX_ROWS = 71": "MAX_ROWS",
        "ENOUGH = 74\nrows[:ENOUGH]": "ENOUGH",
        "ENOUGH = 74\nif len(rows) >= ENOUGH: pass": "ENOUGH",
        "ENOUGH: Final = 74\nfor row in islice(rows, ENOUGH): pass": "ENOUGH",
        "_MOST = int(83)\nrows[0:_MOST]": "_MOST",
        "_A = _MOST = 87\nrows[:_MOST]": "_MOST",
        "rows[:131]": "[131]",
        "rows[0:102]": "[102]",
        "rows[-122:]": "[122]",
        "del rows[103:]": "[103]",
        "rows[:129:1]": "[129]",
        "itertools.islice(rows, 104)": "[104]",
        "if len(rows) > 107: pass": "[107]",
        "cursor.fetchmany(111)": "[111]",
        "counts.most_common(116)": "[116]",
        "heapq.nlargest(115, rows)": "[115]",
        "deque(maxlen=114)": "[114]",
        "def read(rows, limit=101): pass": "limit",
        "class Rows:\n    MAX_ROWS = 118": "MAX_ROWS",
        "class Rows(NamedTuple):\n    max_rows: int = 120": "max_rows",
        "def read():\n    maximum = 106\n    return rows[:maximum]": "maximum",
        "if True:\n    _MAX = 132": "_MAX",
        "query = 'SELECT 1 FROM t LIMIT 110'": "[110]",
    }
    seen = {code: [name for name, _ in find_bounds(ast.parse(code))] for code in forms}
    assert [code for code, name in forms.items() if name not in seen[code]] == []
    assert [*find_bounds(ast.parse("raise ValueError(f'{text[:200]}')\nyear = text[:4]\nif status >= 400: pass"))] == []
