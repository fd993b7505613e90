"""The text of a new windrow.toml."""

from __future__ import annotations

import json

from windrow import registry
from windrow.errors import ConfigError

_TEXT = """\
# A windrow workspace. Every setting, its default and its meaning: docs/reference/config.md,
# and `windrow config` shows what is in force and where it comes from.

name = {name}
contact = ""  # e-mail or page of the operator; servers are told

[archive]
folder = "archive"   # captures, as WARC files

# A source is a file sources/NAME.toml, or a table here. Nothing is asked that is not named.

"""


def default_toml(name: str) -> str:
    """Return what `windrow init` writes: minimal, commented, and valid as it stands."""
    if not name.isprintable():
        raise ConfigError("the name of a workspace is one line of printable text")
    parts = [made.configuration.template for made in registry.installed().values() if made.configuration.template]
    return _TEXT.format(name=json.dumps(name, ensure_ascii=False)) + "\n".join(parts)
