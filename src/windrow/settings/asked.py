"""What a source may say of how it is asked by requests, or whose captures it takes; its collection declares it too."""

from __future__ import annotations

from windrow.settings.kinds import DURATION, PATH, PATHS, SECRET, SWITCH, TEXT, TEXTS, count
from windrow.settings.setting import Setting

ASKED = (
    Setting("delay", DURATION, 1.0, "least pause between two requests, where its robots.txt names none"),
    Setting("max_requests_per_run", count(0, 10**9), 100_000, "most requests to it in one run; 0: all that are due"),
    Setting("private", TEXTS, [], "hosts and networks that may be private, beside the one that `url` itself names"),
    Setting("secret", SECRET, "", "where a secret is that is sent with each request: env:NAME or file:PATH"),
    Setting("secret_header", TEXT, "", "header that it goes into, such as X-Api-Key"),
    Setting("secret_query", TEXT, "", "or parameter of the address, such as api_key"),
    Setting("secret_prefix", TEXT, "", 'what stands before it in the header, such as "Bearer "'),
)
"""To be put into `Configuration.source`."""


CAPTURED = (
    Setting("from", TEXTS, [], "whose captures are read: collections, or sources of theirs as collection:source"),
    Setting("cdx", PATHS, [], "CDX or CDXJ files, or folders of them, that say what to read of WARC files"),
    Setting("warc", PATHS, [], "WARC files, or folders of them: those that `cdx` names, or to be read from end to end"),
    Setting("warc_at", TEXTS, [], "where else the files of `cdx` lie: https://HOST/PATH/ or s3://BUCKET/PREFIX/"),
    Setting("warc_secret", SECRET, "", "where its secret is: KEY:SECRET for s3, else the header Authorization"),
    Setting("warc_private", SWITCH, False, "whether `warc_at` may lie in a private network"),
    Setting("s3_endpoint", TEXT, "", "the store of s3:// addresses, such as https://HOST; none: Amazon's"),
    Setting("s3_region", TEXT, "us-east-1", "its region"),
)
"""To be put into `Configuration.source` by a collection that takes captures of others."""


def store_of(name: str) -> Setting:
    """Return the setting of where a collection's records are kept, to be put into `Configuration.settings`."""
    return Setting(f"{name}.store", PATH, f"{name}.db", "where its records are kept", written=True)
