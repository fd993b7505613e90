"""A source whose URL is edited is requested only at the new URL; edited back, at the old one again."""

import pytest

from tests.clock import pass_time
from tests.requests.glossary import ADAPTER, configure, load_workspace, run
from tests.toy_collection.server import Glossary


@pytest.fixture
def servers():
    glossaries = [Glossary(terms=2), Glossary(terms=3)]
    yield glossaries
    for server in glossaries:
        server.close()


def pages_asked(server):
    """Return the pages requested since the last call."""
    pages = [request.removeprefix("GET ") for request in server.asked if "terms" in request]
    server.asked.clear()
    return pages


def edit(root, old, new):
    path = root / "windrow.toml"
    path.write_text(path.read_text().replace(f'"{old}"', f'"{new}"'))
    pass_time(1.1)  # all earlier requests are due again
    run(load_workspace(root))


def test_a_source_whose_url_is_edited_is_not_asked_at_its_old_address(tmp_path, servers):
    first, second = servers
    run(configure(tmp_path, first))
    assert pages_asked(first) == ["/terms?page=1"]
    edit(tmp_path, first.url, f"{first.url}sub/")
    assert pages_asked(first) == ["/sub/terms?page=1"]
    edit(tmp_path, f"{first.url}sub/", second.url)
    assert pages_asked(first) == []
    assert pages_asked(second) == ["/terms?page=1"]
    edit(tmp_path, second.url, first.url)
    assert pages_asked(first) == ["/terms?page=1"]
    assert pages_asked(second) == []
    with ADAPTER._store(load_workspace(tmp_path)) as store:
        assert {version.key for version in store.versions()} == {"t1", "t2", "t3"}
