"""Which source a page belongs to."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from windrow.collections.pages.adapter.page_sources import PageSources
from windrow.config import load
from windrow.digest import hash64
from windrow.ledger import Ledger
from windrow.model import ArchivePlace, Attempt, FoundUrl, KeptResponse

ORIGIN = "https://a.example"
URL = f"{ORIGIN}/removed"


@pytest.mark.parametrize(
    ("declared", "answers", "owner"),
    [
        (["old"], [("old", 200)], "old"),
        (["new"], [("old", 200)], "old"),
        (["new"], [("old", 200), ("new", 404)], "new"),
        (["old", "new"], [("old", 200), ("new", 404)], "old"),
        (["new"], [("old", 200), ("new", 200)], "new"),
    ],
)
def test_a_page_belongs_to_the_declared_source_that_requests_it(tmp_path, declared, answers, owner):
    """A removal after a source was renamed was told under the former name, which nobody watches."""
    tables = "".join(f'[source.{name}]\ncollection = "pages"\nseeds = ["{ORIGIN}/"]\n' for name in declared)
    head = '[pages]\noperator = "x"\ncontact = "https://x.example/"\n'
    (tmp_path / "windrow.toml").write_text(head + tables)
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        with ledger.writing() as writer:
            hosts = {name: writer.addresses.add_host(1, "pages", name, ORIGIN) for name in ("old", "new")}
            for name, status in answers:
                writer.addresses.add(hosts[name], 0, [FoundUrl(hash64(URL), ORIGIN, URL)])
                kept = KeptResponse("sha256:x", 20, ArchivePlace("w.warc.gz", 1, 2)) if status == 200 else None
                attempt = Attempt(hash64(URL), URL, 0, True, datetime(2026, 1, 1, tzinfo=UTC), 0.1, status, kept)
                writer.attempts.record_attempt(1, hosts[name], attempt)
        assert PageSources(load(tmp_path), ledger).of_page(URL) == owner
