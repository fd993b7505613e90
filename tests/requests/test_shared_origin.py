"""Two sources of one collection at one origin: each has its own records, and they share the origin's pauses."""

import time
from contextlib import closing
from itertools import pairwise

from tests.requests.workshop import Workshop, collection, follow, send_parts


def test_two_sources_share_an_origin_and_its_pauses_and_each_has_its_own(tmp_path, serve):
    times = []

    def answer(asked):
        times.append(time.monotonic())
        name = asked.path.strip("/")
        return 200, b"common\n/one/own" if name == "one" else b"common" if name == "two" else name.encode(), {}

    api = serve(answer)
    service = serve(lambda asked: (200, asked.body, {}))
    shop = Workshop(
        tmp_path, api, service, collection(send_parts, follow=follow), paths=("one/", "two/"), delay="300ms"
    )
    shop.run()
    assert sorted(path for path in api.paths() if "robots" not in path) == sorted(
        ["/one/", "/two/", "/one/common", "/one/own", "/two/common"]
    )
    assert min(after - before for before, after in pairwise(times)) > 0.25
    with shop.adapter._store(shop.workspace) as store:
        assert {version.source for version in store.history("common")} == {"texts", "texts1"}
    with closing(shop.ledger()) as ledger:
        story = shop.adapter.explain(shop.workspace, ledger, f"{api.url}one/common")
    assert "source texts" in story.lines[0]
    api.asked.clear()
    shop.run()
    assert api.paths() == []
