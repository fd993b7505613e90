"""Whether what the collection `pages` keeps agrees with the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.app.crawler import check_crawler
from windrow.config import Workspace
from windrow.engine.check import Fault
from windrow.engine.ledger import Ledger


def check(workspace: Workspace, ledger: Ledger) -> Iterator[Fault]:
    """Yield what does not agree."""
    yield from check_crawler(workspace.pages.crawler, ledger)
