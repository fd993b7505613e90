"""Which version of its readers makes what the pages say."""

from __future__ import annotations

from windrow.formats import language
from windrow.formats import pdf as portable

_VERSION = "4"


def version() -> str:
    """Return the version of these readers on this machine: an extra that is or is not there makes another one."""
    extras = (("pdf", portable.known()), ("language", language.known()))
    return "+".join([_VERSION, *(name for name, there in extras if there)])
