"""The Summary Database of a workspace, opened to be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from windrow.collections.pages.settings import pages_of
from windrow.config import Workspace
from windrow.errors import WindrowError
from windrow.reasons import Reason
from windrow.stores.connect import READS, connect, guarded

_THERE = "SELECT count(*) FROM sqlite_master WHERE name IN ('entity_generation', 'full_text_entity_index')"


@contextmanager
def there(workspace: Workspace) -> Iterator[sa.Engine | None]:
    """Open the Summary Database; None where there is none yet, or nothing in it."""
    path = pages_of(workspace.sections).summary
    if not path.is_file():
        yield None
        return
    engine = connect(f"sqlite:///{path}")
    try:
        with guarded(engine), engine.connect().execution_options(**READS) as link:
            found = link.exec_driver_sql(_THERE).scalar()
        yield engine if found == 2 else None
    finally:
        engine.dispose()


@contextmanager
def summaries(workspace: Workspace) -> Iterator[sa.Engine]:
    """Open the Summary Database; where there is none yet, a WindrowError names what makes it."""
    with there(workspace) as engine:
        if engine is None:
            raise WindrowError(
                f"there are no pages to look into yet: {pages_of(workspace.sections).summary} is not there, or empty",
                hint="windrow run pages",
                reason=Reason.NOT_FOUND,
            )
        yield engine
