"""Lists of a CouchDB behind proxies that have a limit of their own, or do not pass on where a page begins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.servers.couch import serving_couch
from windrow.errors import StoreError
from windrow.stores.couchdb import CouchDocuments
from windrow.stores.documents import DocumentDatabase, DocumentView

VIEWS = (DocumentView("all", ("at",)),)


def test_lists_are_whole_behind_a_proxy_with_a_limit_of_its_own_and_end_behind_one_without_pages() -> None:
    with serving_couch() as couch:
        store = CouchDocuments(couch.url, [DocumentDatabase("a", VIEWS)])
        store.write("a", [{"_id": f"{number:02}"} for number in range(7)])
        names = [f"{number:02}" for number in range(7)]

        def cap(method: str, path: str, answer: Any) -> Any:
            return (200, {"rows": answer[1]["rows"][:3]}) if "limit=" in path else answer

        couch.change = cap
        assert [*store.ids("a")] == names
        rows = [document["_id"] for document in store.view("a", VIEWS[0].name)]
        assert rows == names
        couch.change = lambda method, path, answer: couch.answer(method, path.partition("?")[0], None)
        with pytest.raises(StoreError, match="has rows of the page before"):
            [*store.ids("a")]
        with pytest.raises(StoreError, match="has rows of the page before"):
            [*store.view("a", VIEWS[0].name)]
        couch.change = lambda _method, _path, answer: answer
        store.close()
