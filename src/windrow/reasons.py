"""The closed list of reasons why something was skipped, refused or failed.

Every document that was not kept, and every attempt that did not succeed, carries exactly one of
these words. The meaning beside each word is what `windrow why` prints and what the reference lists.
"""

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """Why something did not go on.

    >>> Reason.LOGIN_FAILED.meaning
    'the server refused the user name, password or key'
    """

    meaning: str

    def __new__(cls, word: str, meaning: str = "") -> Self:
        """Make a member of a word and its meaning."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        """Return the reason that had this word in an older ledger."""
        from windrow.renamed import REASONS  # noqa: PLC0415 windrow.content loads no other room

        return cls(REASONS[value]) if isinstance(value, str) and value in REASONS else None

    @property
    def class_name(self) -> str:
        """The word in the style of an exception's class, which is the kind of a finding.

        >>> Reason.LOGIN_FAILED.class_name
        'LoginFailed'
        """
        return self.value.title().replace("_", "")

    # names and listings
    BAD_NAME = "bad_name", "the name does not follow the convention of its collection"
    BAD_DATE = "bad_date", "the date in the name is not a day of the calendar"
    UNKNOWN_CENTRE = "unknown_centre", "the name starts with a centre that is not declared"
    OTHER_SPELLING = "other_spelling", "the source offers the same name in its own spelling, too"
    NAME_TOO_LONG = "name_too_long", "the name is longer than its standard allows"
    UNSAFE_NAME = "unsafe_name", "the name holds a path separator, '..' or a control character"
    NOT_A_FILE = "not_a_file", "the entry is a directory, a link or a device"
    NOT_WANTED = "not_wanted", "a written rule leaves entries of this kind out"
    BAD_LINE = "bad_line", "the line of an index of captures cannot be read"
    NO_LONGER_LISTED = "no_longer_listed", "the source does not offer it any more"
    NO_HOST = "no_host", "no available source offers it now"
    SOURCE_INACTIVE = "source_inactive", "the source or its centre is switched off"

    # reaching a server
    DNS_FAILED = "dns_failed", "the host name could not be resolved"
    CONNECT_FAILED = "connect_failed", "no connection: refused, unreachable or reset"
    TLS_FAILED = "tls_failed", "the TLS handshake or the certificate check failed"
    TIMEOUT = "timeout", "the server did not answer in time"
    LOGIN_FAILED = "login_failed", "the server refused the user name, password or key"
    NO_SECRET = "no_secret", "the secret is not at the place the source names"
    HOST_KEY_UNKNOWN = "host_key_unknown", "the server's host key is not pinned yet"
    HOST_KEY_CHANGED = "host_key_changed", "the server shows another host key than the pinned one"
    PROTOCOL_ERROR = "protocol_error", "the server's answer breaks its protocol"
    SERVER_ERROR = "server_error", "the server says that it failed"
    RATE_LIMITED = "rate_limited", "the server asked to be left alone for a while"
    PERMISSION_DENIED = "permission_denied", "the server or the disk does not allow reading it"
    NOT_FOUND = "not_found", "the server does not have it"
    GONE = "gone", "the server says that it was removed for good"
    NO_TRANSPORT = "no_transport", "no transport is installed for this kind of address"
    POLICY_DENIED = "policy_denied", "a rule of this workspace forbids the address"
    ROBOTS_DENIED = "robots_denied", "robots.txt of the host forbids the address"
    REDIRECTED = "redirected", "the server points to another address"

    # addresses and pages of the web
    BAD_ADDRESS = "bad_address", "the address cannot be read as one of the web"
    ADDRESS_TOO_LONG = "address_too_long", "the address is longer than 2,048 characters"
    PRIVATE_ADDRESS = (
        "private_address",
        "the host lies in a private network, and its source does not allow that",
    )
    OUT_OF_SCOPE = "out_of_scope", "the address belongs to none of the sites of this workspace"
    QUERY_DENIED = "query_denied", "no rule of the site allows these query parameters"
    CRAWLER_TRAP = "crawler_trap", "the address looks like one of an endless row of generated pages"
    ROBOTS_UNREACHABLE = "robots_unreachable", "robots.txt could not be had, so nothing else is asked of the host"
    SITE_GIVEN_UP = "site_given_up", "the site failed again and again and is left alone for this run"
    NOT_DUE = "not_due", "it was fetched a short while ago"
    NOINDEX = "noindex", "the page asks not to be indexed"
    NOFOLLOW = "nofollow", "the page or the link asks not to be followed"
    NOARCHIVE = "noarchive", "the page asks not to be kept"
    EXPIRED = "expired", "the page said that it is not to be shown after a time that has passed"

    # transfers
    INTERRUPTED = "interrupted", "the transfer broke off before its end"
    SIZE_MISMATCH = "size_mismatch", "the bytes received are not as many as announced"
    DIGEST_MISMATCH = "digest_mismatch", "the bytes do not match the checksum offered beside them"
    CONTENT_DIFFERS = "content_differs", "two sources offer different bytes under one name"
    CONTENT_CHANGED = "content_changed", "the bytes under a known name have changed"
    TOO_LARGE = "too_large", "it is larger than the limit"
    DISK_FULL = "disk_full", "there is not enough room on the disk"
    DISK_FAILED = "disk_failed", "the disk could not be read or written"

    # archives
    NOT_A_ZIP = "not_a_zip", "the bytes are not a zip archive"
    TRUNCATED = "truncated", "the archive or document ends too early"
    TRAILING_BYTES = "trailing_bytes", "bytes stand after the end of the archive"
    CORRUPT = "corrupt", "an archive member does not match its own checksum"
    ENCRYPTED = "encrypted", "an archive member is encrypted"
    NESTED_ARCHIVE = "nested_archive", "the archive holds another archive"
    EMPTY_ARCHIVE = "empty_archive", "the archive holds no usable document"
    TOO_MANY_MEMBERS = "too_many_members", "the archive holds more members than the limit"
    BOMB_RATIO = "bomb_ratio", "a member inflates beyond the allowed ratio"
    BOMB_TOTAL = "bomb_total", "the members together inflate beyond the limit"
    BOMB_OVERLAP = "bomb_overlap", "members of the archive share the same bytes, as in a bomb"
    DUPLICATE_MEMBER = "duplicate_member", "the archive holds two members of one name"
    UNSUPPORTED = "unsupported", "the format or compression method is not supported"

    NO_ORIGINAL = "no_original", "the bytes that a revisit repeats are in no WARC file that was taken in"

    # documents
    NOT_WELL_FORMED = "not_well_formed", "the document is not well-formed XML"
    WRONG_ENCODING = "wrong_encoding", "the bytes do not fit the encoding they announce"
    DTD_FORBIDDEN = "dtd_forbidden", "the document has a DTD or entities, which are refused"
    NOT_VALID = "not_valid", "the document is not valid against its schema"
    WRONG_ROOT = "wrong_root", "the root element is not the one its name announces"
    NO_SCHEMA = "no_schema", "no schema is named for this kind of document"
    TOO_MANY_ELEMENTS = "too_many_elements", "the document has more elements than the limit"
    TIME_LIMIT = "time_limit", "reading it took more CPU time than the limit, or slept for ten times as long"
    MEMORY_LIMIT = "memory_limit", "reading it took more memory than the limit"
    WORKER_DIED = "worker_died", "the worker process died while reading it, twice"
    STEP_FAILED = "step_failed", "the reader itself failed; the finding has the details"
    ALREADY_EXTRACTED = "already_extracted", "the table has what another extractor made of it, and that stays"

    # articles of news sites
    BOT_WALL = "bot_wall", "a page for people came where data was asked for: the site keeps programs out"
    PASSWORD_PROTECTED = "password_protected", "the article can be read with a password only"
    NO_TITLE = "no_title", "the article has no headline"
    NO_TEXT = "no_text", "the article has no text"
    NOT_A_FEED = "not_a_feed", "the answer is neither a feed nor a sitemap nor a page that lists articles"
    LISTED_TWICE = "listed_twice", "the answer lists two things under one identity"
    DOUBTFUL_DATE = "doubtful_date", "the date cannot be right, or does not say in which time zone it is"

    # records and stores
    INCOMPLETE_RECORD = "incomplete_record", "it lacks something that its standard requires, such as a title or a time"
    DUPLICATE_RECORD = "duplicate_record", "the document tells of the same thing twice"
    PLACEHOLDER = "placeholder", "it says only that there is nothing"
    INTEGRITY_FATAL = "integrity_fatal", "an integrity check of level fatal failed"
    STORE_FAILED = "store_failed", "the database refused the rows"
    UNKNOWN_RECORD = "unknown_record", "the record to edit or delete is not known"
    ALREADY_LOADED = "already_loaded", "the same bytes are loaded already"
    SUPERSEDED = "superseded", "a newer submission took its place"

    # people and runs
    CANCELLED = "cancelled", "an operator cancelled it"
    RETRIED = "retried", "an operator asked for another attempt"
    FORGOTTEN = "forgotten", "it was taken down: what came is gone, and it is not asked for again"
    STOPPED = "stopped", "the run was stopped before it was done"
    RESTING = "resting", "it failed in session after session and is left alone for a while"
    CLOCK_WENT_BACK = "clock_went_back", "the machine's clock stood earlier than the last entry"


TRANSIENT_REASONS = frozenset({
    Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.WORKER_DIED, Reason.DISK_FAILED, Reason.DISK_FULL,
})  # fmt: skip
"""Transient reasons why a document was not read: later runs read it again by themselves."""

OWN_FAULTS = TRANSIENT_REASONS | {Reason.STEP_FAILED, Reason.NO_SCHEMA, Reason.NO_TRANSPORT}
"""Reasons why a step failed by our fault, not by the bytes: the result is not remembered, and the task has failed.

A document that failed for another reason is read again by another version of the step.
"""

TOO_LARGE_REASONS = frozenset({Reason.TOO_LARGE, Reason.BOMB_RATIO, Reason.BOMB_TOTAL})
"""Reasons that an answer is too large: requested again, it would be as large."""
