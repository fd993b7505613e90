"""Passwords of databases, fetched from their places when they are needed."""

from __future__ import annotations

from windrow.settings.configuration import DatabaseAddress
from windrow.transports.secret import reveal


def password(database: DatabaseAddress) -> str | None:
    """Fetch a database's password from its place."""
    return reveal(database.secret) if database.secret else None
