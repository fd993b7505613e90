"""The closed list of reasons why something was skipped, refused or failed.

Every document that was not kept, and every attempt that failed, has exactly one of these words. `windrow why` and the
reference show the meaning of each.
"""

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """Why something was skipped, refused or failed.

    >>> Reason.LOGIN_FAILED.meaning
    'the server refused the user name, password or key'
    """

    meaning: str

    def __new__(cls, word: str, meaning: str = "") -> Self:
        """Make a reason with the value `word`. `meaning` is a phrase that explains it to people."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        """Return the reason that an older ledger calls `value`, or None if there is none."""
        from windrow.renamed import REASONS  # noqa: PLC0415 not needed by windrow.content

        return cls(REASONS[value]) if isinstance(value, str) and value in REASONS else None

    @property
    def class_name(self) -> str:
        """The reason as the name of a class, which is used as the kind of a finding.

        >>> Reason.LOGIN_FAILED.class_name
        'LoginFailed'
        """
        return self.value.title().replace("_", "")

    # names and listings
    BAD_NAME = "bad_name", "the name does not follow the convention of its collection"
    BAD_DATE = "bad_date", "the date is not a day of the calendar, or the time is not valid or not possible"
    UNKNOWN_CENTRE = "unknown_centre", "the name starts with a centre that is not declared"
    OTHER_SPELLING = "other_spelling", "the source also lists the same name in another spelling"
    NAME_TOO_LONG = "name_too_long", "the name is longer than its standard allows"
    UNSAFE_NAME = "unsafe_name", "the name contains a path separator, '..' or a control character"
    NOT_A_FILE = "not_a_file", "the entry is a folder, a link or a device"
    NOT_WANTED = "not_wanted", "a rule leaves out entries of this kind"
    BAD_LINE = "bad_line", "a line in an index of captures, or in a catalogue, cannot be read"
    NO_LONGER_LISTED = "no_longer_listed", "the source does not list it any more"
    NO_HOST = "no_host", "no available source lists it now"
    SOURCE_INACTIVE = "source_inactive", "the source or its centre is switched off"

    # reaching a server
    DNS_FAILED = "dns_failed", "the host name could not be resolved"
    CONNECT_FAILED = "connect_failed", "the connection was refused or reset, or the host is unreachable"
    TLS_FAILED = "tls_failed", "the TLS handshake or the certificate check failed"
    TIMEOUT = "timeout", "the server did not answer within the timeout"
    LOGIN_FAILED = "login_failed", "the server refused the user name, password or key"
    NO_SECRET = "no_secret", "the secret is not at the place that the source names"
    HOST_KEY_UNKNOWN = "host_key_unknown", "the server's host key is not pinned yet"
    HOST_KEY_CHANGED = "host_key_changed", "the server's host key is not the pinned one"
    PROTOCOL_ERROR = "protocol_error", "the server's response is not valid in its protocol"
    SERVER_ERROR = "server_error", "the server reported an error of its own"
    RATE_LIMITED = "rate_limited", "the server asked for a pause before further requests"
    PERMISSION_DENIED = "permission_denied", "the server or the file system does not allow reading it"
    NOT_FOUND = "not_found", "the server or folder does not have it"
    GONE = "gone", "the server reported that it was removed permanently"
    NO_TRANSPORT = "no_transport", "the transport for this kind of address, or an extra that it needs, is not installed"
    POLICY_DENIED = "policy_denied", "a rule of this workspace forbids the address"
    ROBOTS_DENIED = "robots_denied", "the host's robots.txt forbids the address"
    REDIRECTED = "redirected", "the server redirects to another address"

    # addresses and pages of the web
    BAD_ADDRESS = "bad_address", "the address is not a valid web address"
    ADDRESS_TOO_LONG = "address_too_long", "the address is longer than 2,048 characters"
    PRIVATE_ADDRESS = "private_address", "the host is in a private network, and its source does not allow that"
    OUT_OF_SCOPE = "out_of_scope", "the address is outside the hosts and paths of the sites of this workspace"
    OTHER_PART = "other_part", "the host belongs to another part of the crawl (setting `part`), which requests it"
    QUERY_DENIED = "query_denied", "no rule of the site allows these query parameters"
    CRAWLER_TRAP = "crawler_trap", "the address looks like one of endlessly many generated pages"
    ROBOTS_UNREACHABLE = "robots_unreachable", "robots.txt could not be fetched, so the host gets no other requests"
    SITE_GIVEN_UP = "site_given_up", "the site failed repeatedly and gets no more requests in this run"
    NOT_DUE = "not_due", "it was fetched a short while ago"
    NOINDEX = "noindex", "the page asks not to be indexed"
    NOFOLLOW = "nofollow", "the page or the link asks not to be followed"
    NOARCHIVE = "noarchive", "the page asks not to be kept"
    EXPIRED = "expired", "the page states that it must not be shown after a time that has passed"

    SOFT_404 = (
        "soft_404",
        "the server answers with status 200, but sends another page, such as one that says that nothing was found",
    )
    CONSENT_PAGE = "consent_page", "the server answers with a page that asks for consent, such as to cookies"

    # transfers
    INTERRUPTED = "interrupted", "the transfer was interrupted"
    SIZE_MISMATCH = "size_mismatch", "the number of received bytes differs from the announced number"
    DIGEST_MISMATCH = "digest_mismatch", "the bytes do not match the checksum that the source lists"
    CONTENT_DIFFERS = "content_differs", "two sources list different content under one name"
    CONTENT_CHANGED = "content_changed", "the content under a known name has changed"
    TOO_LARGE = "too_large", "it is larger than the limit"
    DISK_FULL = "disk_full", "there is not enough room on the disk"
    DISK_FAILED = "disk_failed", "the disk could not be read or written"

    # zips and other compressed bytes
    NOT_A_ZIP = "not_a_zip", "the bytes are not a zip archive"
    TRUNCATED = "truncated", "the zip or document ends too early"
    TRAILING_BYTES = "trailing_bytes", "bytes before, between or after the members of the zip belong to none of them"
    CORRUPT = "corrupt", "it is broken, or does not match its own checksum"
    ENCRYPTED = "encrypted", "it is encrypted, and cannot be read without a password"
    NESTED_ARCHIVE = "nested_archive", "the zip contains another archive, such as a zip"
    EMPTY_ARCHIVE = "empty_archive", "the zip contains no usable document"
    TOO_MANY_MEMBERS = "too_many_members", "the zip has more members than the limit"
    BOMB_RATIO = "bomb_ratio", "it inflates beyond the allowed ratio"
    BOMB_TOTAL = "bomb_total", "it inflates to more bytes than the limit"
    BOMB_OVERLAP = "bomb_overlap", "members of the zip share the same bytes, as in a zip bomb"
    DUPLICATE_MEMBER = "duplicate_member", "the zip has two members with the same name"
    UNSUPPORTED = "unsupported", "the format or compression method is not supported"

    NO_ORIGINAL = "no_original", "the bytes to which a revisit record refers are in none of the imported WARC files"

    # documents
    NOT_WELL_FORMED = "not_well_formed", "the document is not well-formed XML or JSON"
    WRONG_ENCODING = "wrong_encoding", "the encoding of the document is not supported, or its bytes are not valid in it"
    DTD_FORBIDDEN = "dtd_forbidden", "the document has a DTD or entities, which are refused"
    NOT_VALID = "not_valid", "the document is not valid against its schema or format"
    WRONG_ROOT = "wrong_root", "the document is not of the expected kind, as its root shows"
    NO_SCHEMA = "no_schema", "the configuration has no usable schema for this kind of document"
    TOO_MANY_ELEMENTS = "too_many_elements", "the document has more elements than the limit"
    CAPPED = "capped", "it has more of something than a cap allows; the remainder is left out"
    TIME_LIMIT = "time_limit", "reading it took more CPU time than the limit, or ten times the limit in real time"
    MEMORY_LIMIT = "memory_limit", "reading it took more memory than the limit"
    WORKER_DIED = "worker_died", "two reader processes died while reading it"
    STEP_FAILED = "step_failed", "the reader itself failed; the finding has the details"
    ALREADY_EXTRACTED = "already_extracted", "the table has the result of another extractor, which is kept"

    # articles of news sites
    BOT_WALL = "bot_wall", "the site returned a web page instead of data: it blocks programs"
    PASSWORD_PROTECTED = "password_protected", "the article can only be read with a password"
    NO_TITLE = "no_title", "the article has no headline"
    NO_TEXT = "no_text", "the document has no text"
    NOT_A_FEED = "not_a_feed", "the answer is neither a feed nor a sitemap nor a page that lists articles"
    LISTED_TWICE = "listed_twice", "a list has two things with the same identity"
    DOUBTFUL_DATE = "doubtful_date", "the date cannot be right, or has no time zone"

    # records and stores
    INCOMPLETE_RECORD = "incomplete_record", "it lacks something that its standard requires, such as a title or a time"
    DUPLICATE_RECORD = "duplicate_record", "the document has the same record twice"
    PLACEHOLDER = "placeholder", "its title is one that the source uses for placeholders"
    INTEGRITY_FATAL = "integrity_fatal", "an integrity check of level fatal failed"
    STORE_FAILED = "store_failed", "the database refused the rows"
    UNKNOWN_RECORD = "unknown_record", "the record to edit or delete does not exist"
    ALREADY_LOADED = "already_loaded", "the same bytes are loaded already"
    SUPERSEDED = "superseded", "a newer document replaced it"

    # people and runs
    CANCELLED = "cancelled", "an operator cancelled it"
    RETRIED = "retried", "an operator asked for another attempt"
    FORGOTTEN = "forgotten", "it was taken down: its content was removed, and it is not requested again"
    STOPPED = "stopped", "the run was stopped before it was done"
    RESTING = "resting", "it failed in several sessions in a row and is not requested for a while"
    CLOCK_WENT_BACK = "clock_went_back", "the machine's clock went back"


TRANSIENT_REASONS = frozenset({
    Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.WORKER_DIED, Reason.DISK_FAILED, Reason.DISK_FULL,
    Reason.STORE_FAILED,
})  # fmt: skip
"""Reasons for failed readings that may be temporary: later runs read the document again without an order."""

OWN_FAULTS = TRANSIENT_REASONS | {Reason.STEP_FAILED, Reason.NO_SCHEMA, Reason.NO_TRANSPORT}
"""Reasons why a reading fails through no fault of the bytes: the task fails, and the bytes are read again later.

If the reason is not among TRANSIENT_REASONS, the bytes are read again only by another version of the step, or if an
operator orders it.
"""

SUBSTITUTE_REASONS = frozenset({Reason.SOFT_404, Reason.CONSENT_PAGE, Reason.BOT_WALL})
"""Reasons that mean that a server sent a page other than the one that was requested."""

TOO_LARGE_REASONS = frozenset({Reason.TOO_LARGE, Reason.BOMB_RATIO, Reason.BOMB_TOTAL})
"""Reasons that mean that a response is too large. If it were requested again, it would be too large again."""

BY_RULE = frozenset({
    Reason.NOT_WANTED, Reason.SOURCE_INACTIVE, Reason.OTHER_PART, Reason.POLICY_DENIED, Reason.NOINDEX, Reason.NOFOLLOW,
    Reason.NOARCHIVE, Reason.EXPIRED, Reason.ALREADY_EXTRACTED, Reason.LISTED_TWICE, Reason.DUPLICATE_RECORD,
    Reason.PLACEHOLDER, Reason.ALREADY_LOADED, Reason.SUPERSEDED, Reason.CANCELLED, Reason.RETRIED, Reason.FORGOTTEN,
    Reason.STOPPED,
})  # fmt: skip
"""Reasons that are not failures: a rule, a person or the document itself leaves something out."""

_REASONS_BY_STATUS = {
    401: Reason.PERMISSION_DENIED, 403: Reason.PERMISSION_DENIED, 404: Reason.NOT_FOUND, 410: Reason.GONE,
    429: Reason.RATE_LIMITED,
}  # fmt: skip


def reason_of_status(status: int, default: Reason = Reason.PROTOCOL_ERROR) -> Reason:
    """Return the reason for an HTTP status that is not a success, or `default` if a status below 500 has none.

    >>> reason_of_status(410).value, reason_of_status(503).value, reason_of_status(418).value
    ('gone', 'server_error', 'protocol_error')
    """
    return Reason.SERVER_ERROR if status >= 500 else _REASONS_BY_STATUS.get(status, default)
