"""The settings of a workspace, of every source, of sources that are requested, and of those that read captures.

The loader, `windrow config` and the reference page use these and each collection's own settings.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from windrow.model import Limits, Site
from windrow.settings.kinds import (
    COMMAND,
    DAY,
    DURATION,
    OPTIONAL_PATH,
    PART,
    PATH,
    PATHS,
    SECRET,
    SIZE,
    SWITCH,
    TEXT,
    TEXTS,
    URL,
    URLS,
    ValueKind,
    choice,
    count,
)

PREFIX = "WINDROW_"


class Setting(NamedTuple):
    """One setting: its dotted name, the kind of its values, its default as in TOML, and its one-line help.

    `flag` is the option that sets it, or empty. It is an option of `windrow run` for a setting of the workspace, and of
    `windrow new source` for a setting of a source. If `written` is true, the setting names a file or folder that
    windrow writes, which no other setting may name.
    """

    name: str
    kind: ValueKind
    default: Any
    help: str
    flag: str = ""
    written: bool = False

    @property
    def env(self) -> str:
        """The name of the setting's environment variable.

        >>> Setting("ledger.path", PATH, "", "").env
        'WINDROW_LEDGER_PATH'
        """
        return variable_name(self.name)


class Value(NamedTuple):
    """One setting's value and its origin: `default`, a file's name, `the command line`, `env NAME` or `flag --NAME`.

    `shown` is the value as a text for people; for a secret it says where the secret is stored.
    """

    name: str
    value: Any
    shown: str
    origin: str


_SOURCE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def is_name(text: str) -> bool:
    """Return whether a text is a valid name for a source."""
    return _SOURCE_NAME.fullmatch(text) is not None


@cache
def variable_name(name: str) -> str:
    """Return the name of the environment variable for the setting with the dotted name `name`."""
    return PREFIX + "".join(character if character.isalnum() else "_" for character in name).upper()


_LIMITS = Limits()
WORKSPACE_SETTINGS = (
    Setting("name", TEXT, "", "name of this workspace; empty: the name of its folder"),
    Setting("contact", TEXT, "", "e-mail address or web page of the operator; it is sent to servers"),
    Setting("user_agent", TEXT, "", "user agent sent to web servers; empty: windrow, its version and the contact"),
    Setting(
        "part",
        PART,
        "",
        "which part of all hosts this workspace requests, if several share a crawl: 2/8 is the second of eight",
    ),
    Setting("part_folder", PATH, "parts", "where parts of a crawl leave addresses to each other; all parts share it"),
    Setting("ledger.path", PATH, "ledger.sqlite", "the file of the ledger", written=True),
    Setting("archive.folder", PATH, "archive", "where the captures are kept, as WARC files", written=True),
    Setting("archive.rollover_size", SIZE, "1 GiB", "a WARC file that has grown to this size is closed"),
    Setting("limits.transfer_size", SIZE, _LIMITS.transfer_size, "maximum size of one transfer"),
    Setting("limits.members", count(1, 10**7), _LIMITS.members, "maximum number of members of one zip"),
    Setting("limits.member_size", SIZE, _LIMITS.member_size, "maximum size of one member, inflated"),
    Setting("limits.total_size", SIZE, _LIMITS.total_size, "maximum size of all members of a zip, inflated"),
    Setting("limits.ratio", count(1, 10**5), _LIMITS.ratio, "maximum ratio of inflated to compressed bytes"),
    Setting("limits.elements", count(1, 10**10), _LIMITS.elements, "maximum number of elements of one document"),
    Setting("limits.cpu_time", DURATION, _LIMITS.cpu_time, "maximum CPU time for reading one document"),
    Setting("limits.memory", SIZE, _LIMITS.memory, "maximum memory for reading one document"),
    Setting("limits.free_space", SIZE, _LIMITS.free_space, "space that must stay free on the disk"),
    Setting("limits.answer_time", DURATION, _LIMITS.answer_time, "maximum time for the whole response to one request"),
    Setting("limits.pages", count(1, 10**6), _LIMITS.pages, "maximum number of pages of one PDF"),
    Setting("limits.characters", count(1, 10**9), _LIMITS.characters, "maximum number of characters of one document"),
    Setting("limits.links", count(1, 10**7), _LIMITS.links, "maximum number of links of one page"),
    Setting("run.fetchers", count(0, 64), 0, "processes that fetch; 0: as many as suit the machine"),
    Setting("run.readers", count(0, 256), 0, "processes that read documents; 0: as many as suit the machine"),
    Setting(
        "run.sandbox", SWITCH, True, "whether the kernel restricts readers to reading, and fetchers to the archive"
    ),
    Setting("run.group_reads", SWITCH, False, "whether the group of the workspace's folders may read their new files"),
    Setting(
        "run.request_deadline",
        DURATION,
        "24 h",
        "time for the requests of each crawled collection; the next run requests the other addresses; 0: no limit",
    ),
    Setting("run.every", DURATION, 0, "run again after this time; 0: run once", "--every"),
    Setting("run.notify", COMMAND, "", "command that gets every session's summary, as JSON on standard input"),
)

_SITE = Site("")
SOURCE_SETTINGS = (
    Setting("url", TEXT, "", "its address: scheme, user, host, port and base folder; never a password"),
    Setting("collection", TEXT, "", "the collection for which it is harvested"),
    Setting(
        "state", choice("available", "maintenance", "removed"), "available", "only an available source is harvested"
    ),
    Setting("timeout", DURATION, _SITE.timeout, "maximum time without a reply or data from the server"),
    Setting("proxy", URL, _SITE.proxy, "HTTP proxy for connections to it"),
    Setting("ca_bundle", OPTIONAL_PATH, _SITE.ca_bundle, "certificates to trust instead of the system's"),
    Setting(
        "address_family", choice("any", "ipv4", "ipv6"), _SITE.address_family, "which of the host's IP addresses to use"
    ),
    Setting("usual_since", DAY, "", "day since which it gives what is usual now, if it gives far less than before"),
)
"""The settings of every source."""


ASKED = (
    Setting("delay", DURATION, 1.0, "minimum pause between two requests, if its robots.txt does not set one"),
    Setting(
        "max_requests_per_run",
        count(0, 10**9),
        100_000,
        "maximum number of requests to it in one run; 0: all that are due",
    ),
    Setting("private_hosts", TEXTS, [], "private hosts and networks to allow, besides an IP address in `url`"),
    Setting("secret", SECRET, "", "place of a secret to send with each request: env:NAME or file:PATH"),
    Setting("secret_header", TEXT, "", "header in which the secret is sent, such as X-Api-Key"),
    Setting("secret_query", TEXT, "", "URL parameter with the secret, such as api_key, if it is not sent in a header"),
    Setting("secret_prefix", TEXT, "", 'prefix of the secret in the header, such as "Bearer "'),
)
"""The settings of a source that windrow sends requests to, for a collection's `Configuration.source`."""


CAPTURED = (
    Setting("from", TEXTS, [], "collections whose captures are read, or their sources as collection:source"),
    Setting("cdx", PATHS, [], "CDX or CDXJ files, or folders of them, that select records in WARC files"),
    Setting("warc", PATHS, [], "WARC files, or folders of them; without `cdx` they are read completely"),
    Setting(
        "warc_urls", URLS, [], "folders of the files that `cdx` names, as https://HOST/PATH/ or s3://BUCKET/PREFIX/"
    ),
    Setting(
        "warc_secret", SECRET, "", "place of the secret for `warc_urls`: KEY:SECRET (s3) or a value for Authorization"
    ),
    Setting("warc_allow_private", SWITCH, False, "whether `warc_urls` may be in a private network"),
    Setting("s3_endpoint", URL, "", "the store for s3:// addresses, such as https://HOST; empty: Amazon's"),
    Setting("s3_region", TEXT, "us-east-1", "region of the store for s3:// addresses"),
)
"""The settings of a source that reads captures of others, for a collection's `Configuration.source`."""


def store_of(name: str) -> Setting:
    """Return the setting for the file with the records of the collection `name`, for `Configuration.settings`."""
    return Setting(f"{name}.store", PATH, f"{name}.db", "where its records are kept", written=True)
