"""A small collection that crawls the pages below the folder of its first page."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from windrow.collections.pages.policy import make_policy
from windrow.collections.pages.redirect import compute_interval
from windrow.collections.pages.references import PageReferences
from windrow.collections.pages.scope import make_scope
from windrow.collections.pages.site_rules import CrawlOptions, SiteRules, schedule_attempt
from windrow.contract import Collection, Crawl
from windrow.digest import hash64
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.formats.url import parts
from windrow.model import Allowed, Attempt, FoundUrl, Limits, Site, Source
from windrow.reasons import Reason

HREF = re.compile(rb'href="([^"]*)"')
WEEK = 7 * 86_400


def references(url: str, fields: Mapping[str, str], body: bytes) -> PageReferences:
    html = fields.get("content-type", "").startswith("text/html")
    return PageReferences(url, [href.decode() for href in HREF.findall(body)] if html else [])


def seeds(source: Source, options: Mapping[str, Any]) -> list[FoundUrl]:
    url = source.options["seed"]
    return [FoundUrl(hash64(url), parts(url).origin, url)]


def rules(source: Source, origin: str, options: Mapping[str, Any]) -> SiteRules:
    crawl_policy = make_policy(
        make_scope([source.options["seed"]], paths=[source.options["below"]]), do_not_crawl=["/drop/*/private/*"]
    )
    crawl_options = CrawlOptions(crawl_policy, "windrow-test", float(options.get("delay", 0)), polite=False)
    return SiteRules(crawl_options, origin, references)


def next_times(source: Source, attempt: Attempt, pause: int, failures: int) -> tuple[int, int]:
    due, rest = schedule_attempt(attempt, float(pause), failures, WEEK)
    return int(due), int(rest)


def revisit_interval(source: Source, changes: Any) -> int:
    return int(compute_interval(changes, WEEK))


def outcome(status: int | None, reason: Reason | None, _location: str) -> str:
    return reason or str(status)


FOLDER_CRAWL = Collection(
    name="stroll",
    phases=("get",),
    discovery=Crawl(seeds, rules, next_times, outcome, str, 0, 1, interval=revisit_interval),
    steps=(),
)


def crawl_folder(root: Path, origin: str, folder: str, delay: float = 0.0) -> int:
    """Crawl a folder of a server into a workspace, and return the exit code."""
    address = parts(f"{origin}/")
    site = Site(address.scheme, address.host, address.port, timeout=60, allowed=Allowed(everything=True))
    below = f"{folder}*"
    source = Source("site", "stroll", site, options={"seed": f"{origin}{folder}index.html", "below": below})
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits()), "test")
    session.run_harvest(Harvest(FOLDER_CRAWL, (source,), options={"delay": delay}))
    code = session.close()
    session.ledger.close()
    return code


if __name__ == "__main__":
    sys.exit(crawl_folder(Path(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])))
