"""The caps of windrow: every number that bounds how much of an honest document, listing or site is taken.

A cap protects the memory and time of a run. What exceeds one is refused with a reason, or the rest of it is left
out and counted. Caps whose rest is not reported yet say so (`UNREPORTED`); a test lets their number only fall. Sizes of
batches and buffers are not caps.
"""

from __future__ import annotations

from typing import NamedTuple

REFUSED = "the whole is refused, with the reason `too_large` unless another one fits better"
LEFT_OUT = "the rest is left out, and counted with a reason"
UNREPORTED = "the rest is left out, which no summary reports yet"
MIB = 1 << 20


class Cap(NamedTuple):
    """A bound: its name, its number, what it counts, why it exists, and what happens to more than that."""

    name: str
    number: int
    counted: str
    why: str
    excess: str


_MEMORY = "memory: it is read as a whole"
_HOSTILE = "hostile input: no honest one is larger"

# documents
PDF_BYTES = Cap("PDF_BYTES", 64 * MIB, "bytes of a PDF", _MEMORY, REFUSED)
PDF_PAGES = Cap("PDF_PAGES", 1_000, "pages of a PDF", "time: a page may take a tenth of a second", LEFT_OUT)
PDF_CHARACTERS = Cap("PDF_CHARACTERS", 4 * MIB, "characters of a PDF", "memory and search index", LEFT_OUT)
PDF_LINKS = Cap("PDF_LINKS", 10_000, "links of a PDF", "memory", UNREPORTED)
PDF_PAGE_LINKS = Cap("PDF_PAGE_LINKS", 500, "links of a page of a PDF", "time: PDFium searches their text", UNREPORTED)
PDF_BOOKMARKS = Cap("PDF_BOOKMARKS", 2_000, "entries of a PDF's contents", "they may be circular", UNREPORTED)
PAGE_BYTES = Cap("PAGE_BYTES", 32 * MIB, "bytes of a page after decompression", _MEMORY, REFUSED)
PAGE_LINKS = Cap("PAGE_LINKS", 20_000, "links of a page", "a page of 16 MiB may have a million", LEFT_OUT)
PAGE_TAGS = Cap(
    "PAGE_TAGS", 1_000_000, "tags of a page", "memory: 200 bytes for each", "it is refused (`too_many_elements`)"
)
TEXT_CHARACTERS = Cap("TEXT_CHARACTERS", 4 * MIB, "characters of a plain text", "memory and search index", LEFT_OUT)
MARKDOWN_CHARACTERS = Cap(
    "MARKDOWN_CHARACTERS", 256 << 10, "characters of Markdown", "time", "it is read as plain text, whole"
)
FEED_BYTES = Cap("FEED_BYTES", 16 * MIB, "bytes of a feed", _MEMORY, REFUSED)
FEED_ENTRIES = Cap("FEED_ENTRIES", 20_000, "entries of a feed", "memory and search index", LEFT_OUT)
EXTRACTED_BYTES = Cap("EXTRACTED_BYTES", 64 * MIB, "bytes of a page for `windrow extract`", _MEMORY, REFUSED)
XML_TEXT_BYTES = Cap("XML_TEXT_BYTES", 10_000_000, "bytes of one text in XML", "the parser's own bound", REFUSED)
CRAWLER_TEXT_BYTES = Cap("CRAWLER_TEXT_BYTES", 16 * MIB, "bytes of a source text in the crawl log", "size", UNREPORTED)

# lists of addresses
SITEMAP_BYTES = Cap("SITEMAP_BYTES", 50 * MIB, "bytes of a sitemap", "the sitemap protocol", REFUSED)
SITEMAP_ENTRIES = Cap("SITEMAP_ENTRIES", 50_000, "addresses of a sitemap", "the sitemap protocol", LEFT_OUT)
SITEMAP_LEVELS = Cap("SITEMAP_LEVELS", 3, "levels of sitemaps", "indexes may be circular", UNREPORTED)
SITEMAPS_OF_ORIGIN = Cap("SITEMAPS_OF_ORIGIN", 10_000, "sitemaps of an origin in one run", "memory", UNREPORTED)
JSON_FEED_BYTES = Cap("JSON_FEED_BYTES", 8 * MIB, "bytes of a JSON Feed", _MEMORY, REFUSED)
ROBOTS_BYTES = Cap(
    "ROBOTS_BYTES", 500 << 10, "bytes of robots.txt", "RFC 9309, section 2.5", "the rest is not read, as RFC 9309 says"
)
ROBOTS_SITEMAPS = Cap("ROBOTS_SITEMAPS", 500, "sitemaps in a robots.txt", "memory", UNREPORTED)
ASSETS_OF_DOCUMENT = Cap("ASSETS_OF_DOCUMENT", 500, "assets of a page or style sheet", "no page needs more", UNREPORTED)
ASSETS_OF_ORIGIN = Cap("ASSETS_OF_ORIGIN", 50_000, "assets of an origin in one run", "memory", UNREPORTED)
STYLE_CHARACTERS = Cap("STYLE_CHARACTERS", MIB, "characters of a style sheet", "time", UNREPORTED)
REPORTED_ADDRESSES = Cap("REPORTED_ADDRESSES", 10_000, "addresses left out at one page", "memory", UNREPORTED)
ANSWER_REQUESTS = Cap("ANSWER_REQUESTS", 50_000, "requests or offers of an answer", "memory", REFUSED)
LISTING_ENTRIES = Cap("LISTING_ENTRIES", 200_000, "entries of a listing", "memory", "the listing fails (`too_large`)")
LISTING_BYTES = Cap("LISTING_BYTES", 64 * MIB, "bytes of a listing", "memory", "the listing fails (`too_large`)")
LISTING_LINE = Cap("LISTING_LINE", 8 << 10, "bytes of a line of a listing", _HOSTILE, "the listing fails")
FTP_TIMES = Cap(
    "FTP_TIMES", 10_000, "files of an FTP folder without MLSD, whose times are asked one by one", "time", UNREPORTED
)
COMPARED_FILES = Cap(
    "COMPARED_FILES", 2_000, "files compared with their mirrors in one run", "time", "the next run compares the others"
)
UNREADABLE_LINES = Cap(
    "UNREADABLE_LINES", 100, "lines of a listing that cannot be read", "memory", "they are counted together"
)
LIST_FILE_BYTES = Cap("LIST_FILE_BYTES", 64 * MIB, "bytes of a file that lists WARC files", _MEMORY, REFUSED)
LINK_HEADER_LINKS = Cap("LINK_HEADER_LINKS", 50, "links of a Link header", "hostile input", UNREPORTED)
LINK_HEADER_CHARACTERS = Cap("LINK_HEADER_CHARACTERS", 8_192, "characters of a header", "hostile input", UNREPORTED)

# news and events
LIST_ROUNDS = Cap("LIST_ROUNDS", 3, "readings of a list from which posts vanish", "a list may never rest", UNREPORTED)
POST_PAGES = Cap("POST_PAGES", 100_000, "pages of a list of posts", "a server may never end", UNREPORTED)
BLOX_ROWS = Cap("BLOX_ROWS", 1_000_000, "rows of a BLOX search", "a server may never end", UNREPORTED)
NEWS_JSON_BYTES = Cap("NEWS_JSON_BYTES", 64 * MIB, "bytes of an answer of an API", _MEMORY, REFUSED)
DETAIL_ADDRESS = Cap("DETAIL_ADDRESS", 512, "characters of an event's address", "it is the key of an offer", UNREPORTED)
EVENT_REPETITIONS = Cap(
    "EVENT_REPETITIONS",
    10_000,
    "repetitions of an event",
    "a rule may be endless",
    "the event is refused (`too_large`)",
)
EVENT_TEXTS = Cap("EVENT_TEXTS", 64_000_000, "characters of a document's events", "memory", "past events are left out")
EVENT_PAGE_BYTES = Cap("EVENT_PAGE_BYTES", 32 * MIB, "bytes of a page of events", _MEMORY, REFUSED)
SECTION_LINKS = Cap("SECTION_LINKS", 2_000, "articles of a section page", "one run should end", LEFT_OUT)
FRONT_PAGE_FEEDS = Cap("FRONT_PAGE_FEEDS", 100, "feeds of a front page", "one run should end", UNREPORTED)
ARTICLE_KEYWORDS = Cap("ARTICLE_KEYWORDS", 200, "keywords of an article", "hostile input", UNREPORTED)
FEED_ENTRY_TEXT = Cap("FEED_ENTRY_TEXT", 200_000, "characters of an article in an exported feed", "size", UNREPORTED)

# papers
PAPER_TEXT_BYTES = Cap("PAPER_TEXT_BYTES", 4_000_000, "bytes of a paper's text", "the cell of a row", LEFT_OUT)
SEARCHED_CHARACTERS = Cap("SEARCHED_CHARACTERS", 1_000_000, "searched characters of a paper", "its index", UNREPORTED)
TEI_BYTES = Cap("TEI_BYTES", 4_000_000, "bytes of GROBID's TEI", "the cell of a row", "it is refused (`toobig`)")
CELL_BYTES = Cap("CELL_BYTES", 10_000_000, "bytes of a cell of a row", "HBase's own bound", REFUSED)
PAPER_REFERENCES = Cap("PAPER_REFERENCES", 500, "references of a paper without GROBID", "a cell of a row", UNREPORTED)
BIBLIOGRAPHY = Cap("BIBLIOGRAPHY", 200_000, "characters of a bibliography without GROBID", "time", UNREPORTED)

# files and archives
SCHEMA_BYTES = Cap("SCHEMA_BYTES", 256 * MIB, "bytes of a schema or list", _MEMORY, "the run does not begin")
CONFIG_BYTES = Cap("CONFIG_BYTES", MIB, "bytes of a file of the configuration", _HOSTILE, "the run does not begin")
SECRET_BYTES = Cap("SECRET_BYTES", 64 << 10, "bytes of a file with a secret", _HOSTILE, "the source fails")
CHECKSUM_FILE_BYTES = Cap(
    "CHECKSUM_FILE_BYTES", 64 << 10, "bytes of a checksum file of one file", _HOSTILE, "the file is not verified by it"
)
WARC_HEADER_BYTES = Cap("WARC_HEADER_BYTES", 64 << 10, "bytes of a WARC header", _HOSTILE, "the record is `corrupt`")
CDX_LINE_BYTES = Cap("CDX_LINE_BYTES", 64 << 10, "bytes of a CDX line", _HOSTILE, "the line is a `bad_line`")
HTTP_HEAD_BYTES = Cap("HTTP_HEAD_BYTES", 64 << 10, "bytes of the head of an answer", _HOSTILE, "`protocol_error`")
HTTP_CODINGS = Cap("HTTP_CODINGS", 3, "codings of one body", _HOSTILE, "it is refused (`unsupported`)")
URL_CHARACTERS = Cap(
    "URL_CHARACTERS", 2_048, "characters of an address", "the crawl log's column", "`address_too_long`"
)
WACZ_LIST_BYTES = Cap("WACZ_LIST_BYTES", 64 * MIB, "bytes of the list of files in a WACZ file", _MEMORY, REFUSED)

# reports
STORED_FINDINGS = Cap(
    "STORED_FINDINGS", 1_000, "findings of a document", "a broken one may have millions", "the others are counted"
)
COUNTED_RULES = Cap("COUNTED_RULES", 50, "rules of a source that left out something", "memory", "counted together")

CAPS = tuple(cap for cap in list(globals().values()) if isinstance(cap, Cap))
"""All caps, in the order of this module."""
