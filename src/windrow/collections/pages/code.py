"""The numbers of the Summary Database: stable on disk; an unknown one is kept as it is."""

from __future__ import annotations

from enum import IntEnum


class CrawlType(IntEnum):
    """What was asked of a URL."""

    FILE_CRAWL = 0
    ROBOTSTXT_FETCH = 1
    METADATA_CRAWL = 2


class ExitCode(IntEnum):
    """What became of a crawl action. Codes above 102 are ours: the standard leaves them open."""

    DATABASE_ERROR = -3
    CANCELLED = -2
    SOMEONE_STOLE_MY_WORK = -1
    FILE_INGESTED = 20
    FILE_OF_UNKNOWN_TYPE = 29
    PERMANENT_REDIRECT = 31
    REDIRECT = 32
    FILE_DID_NOT_CHANGE = 34
    SERVER_BLAMED_CLIENT = 40
    FILE_GONE = 41
    DID_NOT_UNDERSTAND_ANSWER = 42
    FILE_NOT_FOUND = 44
    RATE_LIMITED = 49
    SERVER_INTERNAL_ERROR = 50
    CONNECTION_FAILED = 100
    REQUEST_TIMEOUT = 101
    ERROR_READING_RESPONSE = 102
    RESPONSE_TOO_LARGE = 103
    ROBOTS_DENIED = 104
    POLICY_DENIED = 105
    TLS_ERROR = 106
    DNS_ERROR = 107


class InformationSource(IntEnum):
    """Where a redirect or canonical address was told."""

    UNKNOWN = 0
    RESPONSE_HEADER = 1
    FILE_METADATA = 2
    FILE_BODY = 3
    SUMMARY = 4


class Locality(IntEnum):
    """How far a link reaches."""

    SELF = 0
    IN = 1
    OUT = 2


class Destination(IntEnum):
    """What a link leads to. Numbers from 100 are ours: the standard leaves them open."""

    FILE = 0
    COMMUNICATION = 1
    IMAGE = 100
    AUDIO = 101
    VIDEO = 102
    STYLESHEET = 103
    SCRIPT = 104
    EMBEDDED = 105
    FORM = 106
    FEED = 107
    ICON = 108
    TRANSLATION = 109
