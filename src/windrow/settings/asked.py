"""What a source that is asked by requests may say of how it is asked; its collection declares it with its own."""

from __future__ import annotations

from windrow.settings.kinds import DURATION, PATH, TEXTS
from windrow.settings.setting import Setting

ASKED = (
    Setting("delay", DURATION, 1.0, "least pause between two requests, where its robots.txt names none"),
    Setting("private", TEXTS, [], "hosts and networks that may be private, beside the one that `url` itself names"),
)
"""To be put into `Configuration.source`."""


def store_of(name: str) -> Setting:
    """Return the setting of where a collection's records are kept, to be put into `Configuration.settings`."""
    return Setting(f"{name}.store", PATH, f"{name}.db", "where its records are kept", written=True)
