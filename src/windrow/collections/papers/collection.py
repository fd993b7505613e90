"""The collection `papers` and its settings."""

from __future__ import annotations

from enum import StrEnum

from windrow.caps import LOOKED_UP_ROWS
from windrow.contract import Captures, Collection, ColumnType, Derive, Settle, TypedColumn, later
from windrow.reasons import Reason
from windrow.settings.configuration import Configuration, Service
from windrow.settings.kinds import DURATION, SWITCH, TEXT, TEXTS, URL, choice, count
from windrow.settings.setting import CAPTURED, Setting, store_of


class KeyForm(StrEnum):
    """The form of the keys of rows: a file's SHA-1 as `sha1:` and base 32, as base 32 alone, or as 20 bytes."""

    PREFIXED = "sha1:base32"
    BARE = "base32"
    RAW = "raw"


TABLE, LATER = "table", "later"
"""The names of the two sets of keys that `grobid0:tei_json` may have: the set of 2018, and a later one."""

GROBID = "grobid"
SERVICE = Service(
    GROBID, "papers.grobid", ("POST",), connections="papers.grobid_connections", seconds="papers.grobid_timeout",
    largest=64 << 20, busy="papers.grobid_pause", final=(500, Reason.TIMEOUT), tries=2,
)  # fmt: skip
"""The GROBID server. A status of 500 counts as an answer: it usually means that the document cannot be processed."""

CONFIGURATION = Configuration(
    settings=(
        store_of("papers"),
        Setting("papers.table", TEXT, "papers.table.db", "table of rows: a file, or hbase://HOST:PORT", written=True),
        Setting("papers.table_version", TEXT, "0", "version in the table's name"),
        Setting("papers.table_env", TEXT, "prod", "environment in the table's name, such as prod or qa"),
        Setting("papers.table_key_form", choice(*KeyForm), "sha1:base32", "form of the keys of the table's rows"),
        Setting("papers.tei_json", choice(TABLE, LATER), "table", "keys of the JSON of TEI: table (2018), or later"),
        Setting("papers.grobid", URL, "", "address of a GROBID server; if empty, the embedded extractor is used"),
        Setting("papers.grobid_connections", count(1, 64), 2, "documents that are sent to GROBID at a time"),
        Setting("papers.grobid_timeout", DURATION, 180.0, "how long GROBID may take for a document"),
        Setting("papers.grobid_pause", DURATION, 5.0, "pause after GROBID was busy or failed; twice as long each time"),
        Setting("papers.force_existing", SWITCH, False, "replace other programs' cells with new outcomes and matches"),
        Setting(
            "papers.looked_up_rows", count(1, 10**9), LOOKED_UP_ROWS.number,
            "rows of earlier runs that a run looks up in the table; the next run looks up others",
        ),
        Setting("papers.coordinates", SWITCH, False, "request the coordinates of elements on pages from GROBID"),
        Setting("papers.thumbnails", SWITCH, False, "draw the first page of each PDF (extra `pictures`)"),
        Setting("papers.catalogue", TEXTS, [], "files of Crossref, DataCite, OpenAlex, PubMed and others, or folders"),
        Setting("papers.catalogue_index", TEXT, "catalogue.db", "file of the index of the catalogue", written=True),
    ),
    source=(
        *CAPTURED,
        Setting("media_types", TEXTS, [], "media types of papers; empty: PDF, PostScript and JATS"),
        Setting("octet_stream", SWITCH, False, "also accept files without a known media type"),
        Setting("patterns", TEXTS, [], "accept only addresses that match a named rule or regular expression"),
        Setting("digests", TEXTS, [], "accept only files with one of these SHA-1 digests, in base 32 or hexadecimal"),
    ),
    services=(SERVICE,),
    template="""\
# A source of papers:
# [source.library]
# collection = "papers"
# warc = ["/srv/warcs"]  # and cdx = ["/srv/cdx"] where there are indexes; or from = ["pages"]
""",
)  # fmt: skip


_CAPTURE_RULES = "windrow.collections.papers.capture_rules"

COLLECTION = Collection(
    name="papers",
    phases=("find", "extract", "match"),
    discovery=Captures(later(f"{_CAPTURE_RULES}:select"), "2", unchanged=False, kinds=later(f"{_CAPTURE_RULES}:kinds")),
    steps=(
        Settle("extract", "8", later("windrow.collections.papers.extract:extract"), retakes=2),
        Derive("match"),
    ),
    adapter="windrow.collections.papers.adapter:ADAPTER",
    configuration=CONFIGURATION,
    columns=(
        TypedColumn("author", ColumnType.TEXT, "authors"),
        TypedColumn("doi", ColumnType.NAME),
        TypedColumn("year", ColumnType.DATE),
    ),
)
