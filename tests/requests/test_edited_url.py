"""A source whose address is edited is asked at the new one alone; put back, it is asked at the old one again."""

import pytest

from tests.clock import pass_time
from tests.requests.glossary import ADAPTER, configured, opened, run
from tests.toy_collection.server import Glossary


@pytest.fixture
def servers():
    made = [Glossary(terms=2), Glossary(terms=3)]
    yield made
    for one in made:
        one.close()


def asked(server):
    """Return which pages were asked since this was called last."""
    found = [one.removeprefix("GET ") for one in server.asked if "terms" in one]
    server.asked.clear()
    return found


def edit(root, old, new):
    path = root / "windrow.toml"
    path.write_text(path.read_text().replace(f'"{old}"', f'"{new}"'))
    pass_time(1.1)  # all that was asked before is due again
    run(opened(root))


def test_a_source_whose_url_is_edited_is_not_asked_at_its_old_address(tmp_path, servers):
    first, second = servers
    run(configured(tmp_path, first))
    assert asked(first) == ["/terms?page=1"]
    edit(tmp_path, first.url, f"{first.url}sub/")
    assert asked(first) == ["/sub/terms?page=1"]
    edit(tmp_path, f"{first.url}sub/", second.url)
    assert asked(first) == []
    assert asked(second) == ["/terms?page=1"]
    edit(tmp_path, second.url, first.url)
    assert asked(first) == ["/terms?page=1"]
    assert asked(second) == []
    with ADAPTER._store(opened(tmp_path)) as store:
        assert {version.key for version in store.versions()} == {"t1", "t2", "t3"}
