"""Fetch a secret from the place that the configuration names."""

from __future__ import annotations

import os
from pathlib import Path

from windrow.errors import TerminalFailure
from windrow.model import Secret
from windrow.reasons import Reason

_LARGEST = 64 * 2**10


def reveal(secret: Secret) -> str:
    """Return the secret at `env:NAME` or in `file:PATH`, without the newline that ends a file.

    A place that is empty, missing, unreadable or larger than 64 kB is a TerminalFailure with
    NO_SECRET. The message names the place; what is there never enters a message.
    """
    kind, _, where = secret.place.partition(":")
    if kind == "env":
        value = os.environ.get(where, "")
    elif kind == "file":
        value = _text(secret, Path(where).expanduser())
    else:
        raise _missing(secret, "neither env:NAME nor file:PATH")
    if not value:
        raise _missing(secret, "nothing is there")
    return value


def _text(secret: Secret, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        text = content.decode()
    except OSError as error:
        raise _missing(secret, error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise _missing(secret, "it is not UTF-8 text") from None
    if len(content) > _LARGEST:
        raise _missing(secret, "it is too large for a secret")
    return text.removesuffix("\n").removesuffix("\r")


def _missing(secret: Secret, why: str) -> TerminalFailure:
    place = secret.place if secret.place.startswith(("env:", "file:")) else "(place not shown)"
    return TerminalFailure(f"no secret at {place}: {why}", Reason.NO_SECRET, hint="set it there, then: windrow run")
