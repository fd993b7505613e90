"""The caps of windrow: numbers that bound how much of a document, a list or a site is taken, found or reported.

Each cap says why it exists, and what happens to input that exceeds the cap. Mostly, the input is refused with a reason,
or the part beyond the cap is left out and counted with a reason. Sizes of batches and buffers are not caps.
"""

from __future__ import annotations

from typing import NamedTuple

REFUSED = "it is refused as a whole, with the reason `too_large` unless another reason fits better"
LEFT_OUT = "the remainder is left out, and counted with a reason"
MIB = 1 << 20


class Cap(NamedTuple):
    """A bound: its name, its number, what is counted, why it exists, and what happens to input that exceeds it.

    `setting` is the setting that changes the number, in `windrow.toml` or for a source, or empty if the cap is fixed.
    """

    name: str
    number: int
    counted: str
    why: str
    excess: str
    setting: str = ""

    @property
    def rule(self) -> str:
        """The description of input that exceeds the cap, as it is shown to people.

        >>> PAGE_LINKS.rule
        'more than 20,000 links of a page'
        """
        return f"more than {self.number:,} {self.counted}"

    def find_excess(self, total: int) -> tuple[Excess, ...]:
        """Return a tuple with the Excess if `total` is more than the cap allows, and otherwise an empty tuple.

        >>> [excess.number for excess in PAGE_LINKS.find_excess(20_003)], PAGE_LINKS.find_excess(3)
        ([3], ())
        """
        return (Excess(self, total - self.number),) if total > self.number else ()


class Excess(NamedTuple):
    """A cap, and the number of things that it leaves out; the number is a minimum if the remainder was not read."""

    cap: Cap
    number: int


CAPS: list[Cap] = []
"""All caps, in the order of this module."""


def _cap(name: str, number: int, counted: str, why: str, excess: str, *, setting: str = "") -> Cap:
    CAPS.append(Cap(name, number, counted, why, excess, setting))
    return CAPS[-1]


_MEMORY = "memory: it is read as a whole"
_HOSTILE = "hostile input: normal input is smaller"
_BY_TIME = "the rest is requested by date, from the last entry on; if that fails, so does the source (`crawler_trap`)"
_FORMS = "rarer ones are not added to the search; a document is still found by the words that it has"

# documents
PDF_BYTES = _cap("PDF_BYTES", 64 * MIB, "bytes of a PDF", _MEMORY, REFUSED)
PDF_PAGES = _cap(
    "PDF_PAGES", 1_000, "pages of a PDF", "time: a page may take a tenth of a second", LEFT_OUT, setting="limits.pages"
)
PDF_CHARACTERS = _cap(
    "PDF_CHARACTERS", 4 * MIB, "characters of a PDF", "memory and search index", LEFT_OUT, setting="limits.characters"
)
PDF_LINKS = _cap("PDF_LINKS", 10_000, "links of a PDF", "memory", LEFT_OUT)
PDF_PAGE_LINKS = _cap("PDF_PAGE_LINKS", 500, "links of a page of a PDF", "time: PDFium searches their text", LEFT_OUT)
PDF_BOOKMARKS = _cap("PDF_BOOKMARKS", 2_000, "entries of a PDF's contents", "they may be circular", LEFT_OUT)
PDF_BOOKMARK_LEVELS = _cap("PDF_BOOKMARK_LEVELS", 6, "levels of a PDF's contents", "they may be circular", LEFT_OUT)
PDF_TITLE = _cap(
    "PDF_TITLE", 2_048, "characters of a PDF's title or subject, or of the text of a link or bookmark", "search index",
    "the remainder is left out, and counted with a reason unless the text of the pages has it",
)  # fmt: skip
PAGE_BYTES = _cap("PAGE_BYTES", 32 * MIB, "bytes of a page after decompression", _MEMORY, REFUSED)
PAGE_LINKS = _cap(
    "PAGE_LINKS",
    20_000,
    "links of a page",
    "a page of 16 MiB may have a million",
    LEFT_OUT,
    setting="pages.limits.links",
)
PAGE_TAGS = _cap("PAGE_TAGS", 1_000_000, "tags of a page", "memory", "it is refused (`too_many_elements`)")
_LEVELS = "the tags of deeper elements are left out and counted with a reason; their text and links are kept"
PAGE_LEVELS = _cap(
    "PAGE_LEVELS", 512, "levels of elements in a page with 12,000 tags", "time; browsers allow 512", _LEVELS
)
PAGE_OPTIONS = _cap(
    "PAGE_OPTIONS", 10_000, "options in a page with 12,000 tags", "time: the parser compares each with all before it",
    "the tags of the others are left out and counted with a reason; their text is kept",
)  # fmt: skip
TAG_ATTRIBUTES = _cap("TAG_ATTRIBUTES", 400, "attributes of a tag", "time: the parser compares them", LEFT_OUT)
TEXT_CHARACTERS = _cap(
    "TEXT_CHARACTERS",
    4 * MIB,
    "characters of a plain text",
    "memory and search index",
    LEFT_OUT,
    setting="limits.characters",
)
MARKDOWN_CHARACTERS = _cap("MARKDOWN_CHARACTERS", 256 << 10, "characters of Markdown", "time", "it is read as text")
JSON_LD_CHARACTERS = _cap(
    "JSON_LD_CHARACTERS", MIB, "characters of a JSON-LD script", "memory",
    "the script is left out, and the characters beyond the cap are counted with a reason",
)  # fmt: skip
JSON_LD_OBJECTS = _cap("JSON_LD_OBJECTS", 5_000, "objects in a page's JSON-LD", "memory", LEFT_OUT)
HEAD_VALUE = _cap(
    "HEAD_VALUE", 100_000, "characters of one value in a page's head", "memory and search index", LEFT_OUT
)
FEED_BYTES = _cap(
    "FEED_BYTES", 16 * MIB, "bytes of a feed", _MEMORY,
    "as a page it is refused (`too_large`); as a list of news, all its articles are requested, but what it says about"
    " those beyond the cap is left out, and counted with a reason",
)  # fmt: skip
FEED_ENTRIES = _cap(
    "FEED_ENTRIES",
    20_000,
    "entries of a feed",
    "memory and search index",
    "the remainder is left out, and counted with a reason; of a list of news, only what it says about these articles",
)
EXTRACTED_BYTES = _cap("EXTRACTED_BYTES", 64 * MIB, "bytes of a page for `windrow extract`", _MEMORY, REFUSED)
XML_TEXT_BYTES = _cap("XML_TEXT_BYTES", 10_000_000, "bytes of one text in XML", "the parser's own bound", REFUSED)

# lists of addresses
SITEMAP_BYTES = _cap("SITEMAP_BYTES", 50 * MIB, "bytes of a sitemap", "the sitemap protocol", REFUSED)
SITEMAP_ENTRIES = _cap("SITEMAP_ENTRIES", 50_000, "addresses of a sitemap", "the sitemap protocol", LEFT_OUT)
SITEMAP_LEVELS = _cap("SITEMAP_LEVELS", 3, "levels of sitemaps", "indexes may be circular", LEFT_OUT)
SITEMAPS_OF_ORIGIN = _cap(
    "SITEMAPS_OF_ORIGIN", 10_000, "sitemaps of an origin in one run", "memory", LEFT_OUT, setting="max_sitemaps_per_run"
)
JSON_FEED_BYTES = _cap("JSON_FEED_BYTES", 8 * MIB, "bytes of a JSON Feed", _MEMORY, REFUSED)
ROBOTS_BYTES = _cap("ROBOTS_BYTES", 500 << 10, "bytes of robots.txt", "RFC 9309", LEFT_OUT)
ROBOTS_SITEMAPS = _cap("ROBOTS_SITEMAPS", 500, "sitemaps in a robots.txt", "memory", LEFT_OUT)
ASSETS_OF_DOCUMENT = _cap("ASSETS_OF_DOCUMENT", 500, "assets of a page or style sheet", "memory", LEFT_OUT)
ASSETS_OF_ORIGIN = _cap(
    "ASSETS_OF_ORIGIN", 50_000, "assets of an origin in one run", "memory", LEFT_OUT, setting="max_assets_per_run"
)
ASSET_LEVELS = _cap("ASSET_LEVELS", 3, "levels of style sheets", "they may be circular", LEFT_OUT)
STYLE_CHARACTERS = _cap("STYLE_CHARACTERS", MIB, "characters of a style sheet", "time", LEFT_OUT)
REPORTED_ADDRESSES = _cap(
    "REPORTED_ADDRESSES", 10_000, "addresses left out at one page", "memory", "they are counted together"
)
ANSWER_REQUESTS = _cap("ANSWER_REQUESTS", 50_000, "requests or offers of an answer", "memory", REFUSED)
LISTING_ENTRIES = _cap("LISTING_ENTRIES", 200_000, "entries of a listing", "memory", "the listing fails (`too_large`)")
LISTING_BYTES = _cap("LISTING_BYTES", 64 * MIB, "bytes of a listing", "memory", "the listing fails (`too_large`)")
LISTING_LINE = _cap("LISTING_LINE", 8 << 10, "bytes of a line of a listing", _HOSTILE, "the listing fails")
LISTING_TAGS = _cap("LISTING_TAGS", 2_000_000, "tags of an index page", "time", "the listing fails (`too_large`)")
MANIFEST_LINES = _cap("MANIFEST_LINES", 1_000_000, "lines of a manifest", "time", "the listing fails (`too_large`)")
COMPARED_FILES = _cap("COMPARED_FILES", 2_000, "files compared in one run", "time", "the next run compares the others")
UNREADABLE_LINES = _cap("UNREADABLE_LINES", 100, "unreadable lines of a listing", "memory", "they are counted together")
LIST_FILE_BYTES = _cap("LIST_FILE_BYTES", 64 * MIB, "bytes of a file that lists WARC files", _MEMORY, REFUSED)

# news and events
LIST_ROUNDS = _cap("LIST_ROUNDS", 3, "readings of a list that gets shorter", "it may change each time", LEFT_OUT)
POST_PAGES = _cap("POST_PAGES", 100_000, "pages of a list of posts", "a server may never end", _BY_TIME)
BLOX_ROWS = _cap("BLOX_ROWS", 1_000_000, "rows of a BLOX search", "a server may never end", _BY_TIME)
NEWS_DOCUMENT_BYTES = _cap(
    "NEWS_DOCUMENT_BYTES",
    64 * MIB,
    "bytes of a document of news, as transferred or decompressed",
    _MEMORY,
    REFUSED,
    setting="news.document_size",
)
EVENT_REPETITIONS = _cap("EVENT_REPETITIONS", 10_000, "repetitions of an event", "hostile input", "it is `too_large`")
SCHEDULE_DAYS = _cap(
    "SCHEDULE_DAYS", 10_000, "days of an eventSchedule before the end of its window", "time", "it is `unsupported`"
)
CALENDAR_ZONES = _cap(
    "CALENDAR_ZONES",
    500,
    "time zones of a calendar",
    "time",
    "times in others get a `time_note`, and the others are counted",
)
EVENT_TEXTS = _cap("EVENT_TEXTS", 64_000_000, "characters of a document's events", "memory", "past events are left out")
EVENT_TITLE = _cap(
    "EVENT_TITLE",
    1_000,
    "characters of an event's title",
    "it is a part of a key",
    "it is cut, with a `title_note`, and counted",
)
EVENT_DOCUMENT_BYTES = _cap(
    "EVENT_DOCUMENT_BYTES",
    64 * MIB,
    "bytes of a document of events, as transferred or decompressed",
    _MEMORY,
    REFUSED,
    setting="events.document_size",
)
EVENT_PAGE_BYTES = _cap("EVENT_PAGE_BYTES", 32 * MIB, "bytes of a page of events", _MEMORY, REFUSED)
COMPARED_PAGES = _cap(
    "COMPARED_PAGES", 100, "captured pages remembered for a source of events", "memory: they are sent with each answer",
    "the page seen longest ago is forgotten: its next capture is not compared with its earlier ones",
)  # fmt: skip
EVENT_IDS = _cap(
    "EVENT_IDS", 100_000, "ids remembered for a source of events", "memory: they are sent with each answer",
    "those listed longest ago are forgotten: of several events with such an id, the first one listed has its `uid`",
)  # fmt: skip
COUCHDB_ANSWER_BYTES = _cap(
    "COUCHDB_ANSWER_BYTES", 128 * MIB, "bytes of an answer of a CouchDB", _MEMORY,
    "fewer documents are requested at a time; if one alone is larger, the run of events fails",
)  # fmt: skip
COUCHDB_ANSWER_SECONDS = _cap(
    "COUCHDB_ANSWER_SECONDS", 600, "seconds of an answer of a CouchDB", "an answer may never end",
    "the run of events fails, and the next run continues",
)  # fmt: skip
SECTION_LINKS = _cap(
    "SECTION_LINKS", 2_000, "articles of a section page", "a run must end", LEFT_OUT, setting="max_links"
)
REMEMBERED_ARTICLES = _cap(
    "REMEMBERED_ARTICLES", 20_000, "articles remembered for a site's lists", "memory: they are sent with each answer",
    "lists with the oldest articles are forgotten: if such a list changes, its newest articles are requested again",
)  # fmt: skip
ARTICLE_AUTHORS = _cap("ARTICLE_AUTHORS", 1_000, "authors of an article", "memory", LEFT_OUT)
FRONT_PAGE_FEEDS = _cap("FRONT_PAGE_FEEDS", 100, "feeds of a front page", "a run must end", LEFT_OUT)
FEED_ARTICLES = _cap(
    "FEED_ARTICLES", 200, "articles of an exported feed", "programs that read feeds take a short one",
    "the newest articles are written, and the others are counted", setting="news.feed_articles",
)  # fmt: skip
FEED_ENTRY_TEXT = _cap(
    "FEED_ENTRY_TEXT", 200_000, "characters of an article in an exported feed", "size",
    "the entry ends with a link to the article",
)  # fmt: skip

# papers
PAPER_TEXT_BYTES = _cap("PAPER_TEXT_BYTES", 4_000_000, "bytes of a paper's text", "it is one cell of a row", LEFT_OUT)
SEARCHED_CHARACTERS = _cap("SEARCHED_CHARACTERS", 1_000_000, "searched characters of a paper", "size", LEFT_OUT)
TEI_BYTES = _cap("TEI_BYTES", 4_000_000, "bytes of GROBID's TEI", "it is one cell of a row", REFUSED)
CELL_BYTES = _cap(
    "CELL_BYTES", 10_000_000, "bytes of a cell of a row", "HBase's own bound",
    "the row lacks the cell, which is counted as `too_large`",
)  # fmt: skip
LOOKED_UP_ROWS = _cap(
    "LOOKED_UP_ROWS", 500, "rows of papers that a run looks up in the table", "time",
    "the next run looks up the others; if a row is lost, all are looked up", setting="papers.looked_up_rows",
)  # fmt: skip
PAPER_REFERENCES = _cap("PAPER_REFERENCES", 500, "references of a paper without GROBID", "they are one cell", LEFT_OUT)
CATALOGUE_BYTES = _cap(
    "CATALOGUE_BYTES", 1 << 30, "bytes of a catalogue file that is one JSON document", _MEMORY,
    "the file fails, and the works that it gave before are kept",
)  # fmt: skip
PAPER_ABSTRACT = _cap("PAPER_ABSTRACT", 20_000, "characters of an abstract without GROBID", "size", LEFT_OUT)
PAPER_REFERENCE = _cap(
    "PAPER_REFERENCE", 4_000, "characters of a reference without GROBID", "a part of one cell", LEFT_OUT
)
BIBLIOGRAPHY = _cap("BIBLIOGRAPHY", 200_000, "characters of a bibliography without GROBID", "time", LEFT_OUT)

# files and archives
SCHEMA_BYTES = _cap("SCHEMA_BYTES", 256 * MIB, "bytes of a schema or list", _MEMORY, "the run does not begin")
CONFIG_BYTES = _cap("CONFIG_BYTES", MIB, "bytes of a file of the configuration", _HOSTILE, "the run does not begin")
SECRET_BYTES = _cap("SECRET_BYTES", 64 << 10, "bytes of a file with a secret", _HOSTILE, "the source fails")
CHECKSUM_FILE_BYTES = _cap("CHECKSUM_FILE_BYTES", 64 << 10, "bytes of a checksum file", _HOSTILE, "it is not used")
WARC_HEADER_BYTES = _cap("WARC_HEADER_BYTES", 64 << 10, "bytes of a WARC header", _HOSTILE, "the record is `corrupt`")
CDX_LINE_BYTES = _cap("CDX_LINE_BYTES", 64 << 10, "bytes of a CDX line", _HOSTILE, "the line is a `bad_line`")
HTTP_HEAD_BYTES = _cap("HTTP_HEAD_BYTES", 64 << 10, "bytes of an HTTP head", _HOSTILE, "it fails (`protocol_error`)")
HTTP_CODINGS = _cap("HTTP_CODINGS", 3, "codings of one body", _HOSTILE, "it is refused (`unsupported`)")
GZIP_MEMBERS = _cap("GZIP_MEMBERS", 1_000, "members of a gzip body", "time: each copies the bytes after it", REFUSED)
URL_CHARACTERS = _cap("URL_CHARACTERS", 2_048, "characters of an address", "the crawl log", "it is `address_too_long`")
WACZ_LIST_BYTES = _cap("WACZ_LIST_BYTES", 8 * MIB, "bytes of the list of files in a WACZ file", _MEMORY, REFUSED)

# searches
WORD_FORMS = _cap("WORD_FORMS", 32, "other forms of a word in a language", "time of a search", _FORMS)
STEMMED_LANGUAGES = _cap("STEMMED_LANGUAGES", 8, "languages of word forms", "time of a search", _FORMS)
FACET_VALUES = _cap("FACET_VALUES", 1_000, "values of a facet", "memory", "rarer ones are counted as `other`")

# reports
STORED_FINDINGS = _cap("STORED_FINDINGS", 1_000, "findings of a document", "memory", "the others are counted")
WHY_ENTRIES = _cap(
    "WHY_ENTRIES", 50, "items, tasks, refused entries or failed documents that `windrow why` lists",
    "the length of the text",
    "the latest ones are listed, and the others are counted; `--limit` lists more",
)  # fmt: skip
ANSWER_FINDINGS = _cap("ANSWER_FINDINGS", 100, "findings of an answer", "memory", "the others are counted")
COUNTED_RULES = _cap("COUNTED_RULES", 50, "rules of a source that left something out", "memory", "counted together")

# the web view
WEB_SECONDS = _cap(
    "WEB_SECONDS", 20, "seconds of a page of the web view", "threads", "the page is refused (`time_limit`)"
)
WEB_NAME_CHARACTERS = _cap(
    "WEB_NAME_CHARACTERS", 2_500, "characters of a name or query in the web view", "time of a search", "it is refused"
)
WEB_CHANGES = _cap(
    "WEB_CHANGES", 500, "changes that a page of the web view counts, or looks for words in", "time of a page",
    "the page says so and leads to the older ones",
)  # fmt: skip
WEB_FEED_CHANGES = _cap(
    "WEB_FEED_CHANGES", 5_000, "changes that a feed of the web view looks for words in", "time of a page",
    "the feed leads to the older ones (`next`)",
)  # fmt: skip
WEB_CARDS = _cap(
    "WEB_CARDS", 100, "things that need a person, shown on the web view's Today", "the length of a page",
    "the page says how many there are; `windrow status` and the page as JSON have all",
)  # fmt: skip
WEB_RESULTS = _cap(
    "WEB_RESULTS", 1_000, "results of a search that the web view pages through", "time of a search", "it is refused"
)
SHOWN_TEXT_CHARACTERS = _cap(
    "SHOWN_TEXT_CHARACTERS", 50_000, "characters of a text that a page of the web view shows", "the length of a page",
    "the page says how much is shown; the same page as JSON has all of it",
)  # fmt: skip
WEB_STREAMS = _cap(
    "WEB_STREAMS", 500, "streams of events of the web view that are open at a time", "memory and file descriptors",
    "it is refused; the page shows the same when it is loaded again",
)  # fmt: skip
SHOWN_CAPTURE_BYTES = _cap(
    "SHOWN_CAPTURE_BYTES", MIB, "bytes of a capture shown as text", "a browser's memory",
    "the page says how much is shown; the download has all of it",
)  # fmt: skip
