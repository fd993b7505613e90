"""The text of a new windrow.toml."""

from __future__ import annotations

import json

from windrow.errors import ConfigError

_TEXT = """\
# A windrow workspace. Every setting, its default and its meaning: docs/reference/config.md,
# and `windrow config` shows what is in force and where it comes from.

name = {name}
contact = ""  # e-mail or page of the operator; servers are told

[archive]
folder = "archive"   # captures, as WARC files

[pages]
# operator = "example"  # the first word of the user agent; nothing is crawled without it and a contact
# contact = "https://example.org/our-crawler"  # a web page or a mailbox

[drops]
tracker = "tracker.sqlite"  # or "mysql+pymysql://user@host/phenodcc_tracker"
# tracker_secret = "env:TRACKER_PASSWORD"

# [[drops.centre]]
# short_name = "H"
# full_name = "MRC Harwell"

# A source is a file sources/NAME.toml, or a table here. Nothing is asked that is not named.
# [source.blog]
# collection = "pages"
# seeds = ["https://blog.example.org/"]
# [source.example]
# url = "sftp://user@host/base/"
# collection = "drops"
# centre = "H"
# secret = "env:EXAMPLE_PASSWORD"
"""


def default_toml(name: str) -> str:
    """Return what `windrow init` writes: minimal, commented, and valid as it stands."""
    if not name.isprintable():
        raise ConfigError("the name of a workspace is one line of printable text")
    return _TEXT.format(name=json.dumps(name, ensure_ascii=False))
