"""The conformance suite of document stores, run on SQLite and on CouchDB's API."""

import json
import os
import secrets
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, islice
from pathlib import Path

import pytest

from tests.servers.couch import serving_couch
from tests.servers.pouchdb import couchdb, refusing_above
from windrow.errors import ConfigError, StoreError, StoreUnreachable
from windrow.stores.couchdb import DESIGN_ID, CouchDocuments, _map_function
from windrow.stores.documents import ALL_DOCUMENTS, DocumentDatabase, DocumentView, ViewRange
from windrow.stores.sqlite_documents import SqliteDocuments

NUMBERS = count()
VIEWS = (
    DocumentView("all", ("at",)),
    DocumentView("kind", ("kind", "at")),
    DocumentView("wrong", ("at",), without=("result", "success")),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with couchdb(tmp_path_factory.mktemp("couchdb")) as running:
        yield running


class StoreOpener:
    """A store that a test opens several times with `make`; `names` are its two databases."""

    def __init__(self, make, names):
        self.make, self.names = make, names


@pytest.fixture(params=["sqlite", "couchdb"])
def opener(request, tmp_path):
    prefix = f"w{os.getpid()}_{secrets.token_hex(3)}_{next(NUMBERS)}"
    names = (f"{prefix}_a", f"{prefix}_b")
    declared = (DocumentDatabase(names[0], VIEWS, texts=("title",)), DocumentDatabase(names[1], VIEWS, once="text"))
    if request.param == "sqlite":
        yield StoreOpener(lambda: SqliteDocuments(tmp_path / "a.db", declared), names)
        return
    url, secret = request.getfixturevalue("server")
    yield StoreOpener(lambda: CouchDocuments(url, declared, secret), names)
    store = CouchDocuments(url, declared, secret)
    for name in names:
        store._request("DELETE", f"/{name}", good=(200, 202, 404))
    store.close()


def document(number, **more):
    return {
        "_id": f"d{number}",
        "at": f"2026-01-{number:02}T00:00:00Z",
        "kind": "ab"[number % 2],
        "title": f"t{number}",
    } | more


def ids(documents):
    return [document["_id"] for document in documents]


def test_documents_come_back_as_they_were_written_and_writing_them_again_is_no_news(opener):
    store, (first, _) = opener.make(), opener.names
    documents = [document(1, nested={"a": [1, None, True, "ä😀"]}, empty="", nothing=None), document(2)]
    for written in (documents, documents, [document(2, title="new"), document(3)]):
        assert store.write(first, written) == {}
    assert store.get(first, ["d1", "d2", "none"]) == {"d1": documents[0], "d2": document(2, title="new")}
    assert store.count(first) == 3
    assert sorted(store.ids(first)) == ["d1", "d2", "d3"]
    store.close()
    store = opener.make()
    assert store.get(first, ["d1"]) == {"d1": documents[0]}
    store.close()


def test_a_view_that_is_read_while_documents_move_has_each_of_the_others_once(opener, monkeypatch):
    monkeypatch.setattr("windrow.stores.couchdb._PAGE_SIZE", 2)
    with closing(opener.make()) as store, closing(opener.make()) as writer:
        store.write(name := opener.names[0], [document(number) for number in range(1, 9)])
        reading = store.view(name, "all", ViewRange(limit=ALL_DOCUMENTS, descending=True))
        writer.write(name, [document(9, at="2027-01-01T00:00:00Z")], read := ids(islice(reading, 2)))
        assert [*read, *ids(reading)] == [f"d{number}" for number in range(8, 0, -1)]


def test_changes_since_a_state_are_those_that_any_client_made_and_unknown_after_another_mark(opener):
    with closing(opener.make()) as store, closing(opener.make()) as other_client:
        store.write(name := opener.names[0], [document(number) for number in range(1, 4)])
        assert store.changed_since(name, None) is None
        store.set_checkpoint(5, 17)
        state = store.state(name)
        assert store.changed_since(name, state) == set()
        other_client.write(name, [document(4, title="theirs")], ["d2"])
        other_client.write(name, [document(5)])
        assert store.changed_since(name, state) in ({"d2", "d4", "d5"}, None)
        assert (store.changed_since(name, state) is None) == isinstance(store, SqliteDocuments)
        state = store.state(name)
        store.set_checkpoint(5, 17)  # another mark, as an older copy of the database has
        assert store.state(name) != state
        assert store.changed_since(name, state) is None


def test_views_are_in_order_from_a_start_on_and_before_an_end_both_ways(opener):
    store, (first, _) = opener.make(), opener.names
    store.write(first, [document(number) for number in range(1, 11)])
    span = ViewRange(start="2026-01-03", end="2026-01-06T00:00:00Z")
    assert ids(store.view(first, "all", span)) == ["d3", "d4", "d5"]
    assert ids(store.view(first, "all", span._replace(descending=True))) == ["d5", "d4", "d3"]
    assert ids(store.view(first, "all", span._replace(descending=True, limit=1, skip=1))) == ["d4"]
    assert ids(store.view(first, "all", ViewRange(limit=2, skip=8))) == ["d9", "d10"]
    assert ids(store.view(first, "kind", ViewRange(("b",), start="2026-01-05"))) == ["d5", "d7", "d9"]
    assert ids(store.view(first, "kind", ViewRange(("a",), end="2026-01-04T00:00:00Z", descending=True))) == ["d2"]
    assert ids(store.view(first, "kind", ViewRange(("none",)))) == []
    whole_key = ViewRange(("b", "2026-01-05T00:00:00Z"), end="2026-01-01")  # no field is left for the end
    assert ids(store.view(first, "kind", whole_key)) == ["d5"]
    store.close()


def test_a_view_leaves_out_what_it_is_told_and_what_has_no_text_to_sort_by(opener):
    store, (first, _) = opener.make(), opener.names
    results = [document(1, result="success"), document(2, result="NotFound"), document(3, at=None, result="X")]
    store.write(first, [*results, document(4), document(5, result=None)])
    assert ids(store.view(first, "wrong")) == ["d2", "d4", "d5"]
    assert ids(store.view(first, "all")) == ["d1", "d2", "d4", "d5"]
    store.close()


def test_a_document_that_gets_another_id_goes_with_the_old_one_in_one_write(opener):
    store, (first, _) = opener.make(), opener.names
    store.write(first, [document(1)])
    assert store.write(first, [document(2)], ["d1", "never"]) == {}
    assert ids(store.view(first, "all")) == ["d2"]
    store.write(first, [document(1)])  # one that was removed may come back
    assert ids(store.view(first, "all")) == ["d1", "d2"]
    store.close()


def test_a_long_text_is_whole_in_every_document_and_a_checkpoint_only_rises(opener):
    store, (_, second) = opener.make(), opener.names
    text = "x" * 100_000 + "\u2028\x00ä"
    store.write(second, [document(1, text=text), document(2, text=text), document(3, text="")])
    assert store.identities() == set()
    store.set_checkpoint(5, 17)
    assert store.identities() == {17}
    assert [len(document["text"]) for document in store.view(second, "all")] == [len(text), len(text), 0]
    assert store.get(second, ["d2"])["d2"] == document(2, text=text)
    store.write(second, (), ["d1"])
    store.set_checkpoint(3, 17)
    assert store.get(second, ["d2"])["d2"]["text"] == text
    assert store.checkpoints() == (5, 5)
    store.close()
    store = opener.make()
    assert store.checkpoints() == (5, 5)
    store.rewind(18)
    assert (store.checkpoints(), store.count(second), store.identities()) == ((0, 0), 2, {18})
    store.close()


def test_many_documents_are_written_in_several_requests_and_seen_in_pages(opener):
    store, (first, _) = opener.make(), opener.names
    documents = [{"_id": f"n{number:04}", "at": f"{number:04}", "kind": "k"} for number in range(1203)]
    assert (store.write(first, documents), store.count(first)) == ({}, 1203)
    assert ids(store.view(first, "all", ViewRange(limit=2000))) == ids(documents)
    assert list(store.ids(first)) == ids(documents)
    store.close()


def test_each_database_has_a_checkpoint_so_that_a_new_one_is_filled_from_the_first_attempt(opener):
    store, (_, second) = opener.make(), opener.names
    store.set_checkpoint(7, 17)
    assert store.checkpoints() == (7, 7)
    if isinstance(store, SqliteDocuments):
        store._connection.execute(f'DROP TABLE "{second}"')
    else:
        store._request("DELETE", f"/{second}", good=(200, 202))
    store.close()
    store = opener.make()
    assert store.checkpoints() == (0, 7)
    store.set_checkpoint(7, 17)
    store.set_checkpoint(6, 17)
    assert store.checkpoints() == (7, 7)
    store.close()


def test_a_name_that_not_every_store_takes_is_refused(tmp_path):
    for name in ("Events", "a-b", "_x", 'a"b', ""):
        with pytest.raises(ConfigError):
            SqliteDocuments(tmp_path / "a.db", [DocumentDatabase(name)])


# Of SQLite alone, or of a server alone.


def test_sqlite_keeps_a_long_text_once_and_removes_it_with_its_last_document(tmp_path):
    store = SqliteDocuments(tmp_path / "a.db", [DocumentDatabase("a", VIEWS, once="text")])
    store.write("a", [document(number, text="long " * 1000) for number in range(1, 6)])
    texts = "SELECT count(*) FROM a_text"
    assert store._connection.execute(texts).fetchone() == (1,)
    store.write("a", [document(5, text="another")], ["d1", "d2", "d3"])
    assert store._connection.execute(texts).fetchone() == (2,)
    store.write("a", (), ["d4"])
    assert store._connection.execute(texts).fetchone() == (1,)
    assert not list(store.faults())
    store.close()


def test_sqlite_sorts_nothing_for_a_view_since_its_index_is_in_order(tmp_path):
    store = SqliteDocuments(tmp_path / "a.db", [DocumentDatabase("a", VIEWS)])
    requests = []
    store._connection.set_trace_callback(requests.append)
    for span in (ViewRange(("b",), start="2026"), ViewRange(("b",), end="2027", descending=True)):
        list(store.view("a", "kind", span))
    list(store.view("a", "all", ViewRange(descending=True)))
    store._connection.set_trace_callback(None)
    for query in requests:
        assert not any("TEMP B-TREE" in row[3] for row in store._connection.execute(f"EXPLAIN QUERY PLAN {query}"))
    assert len(requests) == 3
    store.close()


def test_sqlite_finds_documents_by_words_whatever_is_searched_for(tmp_path):
    store = SqliteDocuments(tmp_path / "a.db", [DocumentDatabase("a", VIEWS, texts=("title", "kind"))])
    store.write("a", [document(1, title="Board of Ethics"), document(2, title="Budget board"), document(3, title=None)])
    assert set(ids(store.search("a", "board"))) == {"d1", "d2"}
    assert ids(store.search("a", 'ETHICS "')) == ["d1"]
    assert ids(store.search("a", "")) == []
    assert ids(store.search("a", "Ethics\0")) == ["d1"]
    store.write("a", [document(1, title="moved")], ["d2"])
    assert ids(store.search("a", "board")) == []
    store.close()


def test_sqlite_finds_titles_first_then_the_newest_within_a_span_and_page_by_page(tmp_path):
    store = SqliteDocuments(tmp_path / "a.db", [DocumentDatabase("a", VIEWS, texts=("title", "place"), newest="at")])
    documents = [document(number, title="Board", place="Hall") for number in (5, 1, 9, 3)]
    documents += [document(number, title="Other", place="board room") for number in (7, 2)]
    store.write("a", documents)
    assert ids(store.search("a", "board")) == ["d9", "d5", "d3", "d1", "d7", "d2"]
    assert ids(store.search("a", "board", bounds=ViewRange(limit=2, skip=3))) == ["d1", "d7"]
    assert ids(store.search("a", "board hall", "kind", ViewRange(("b",), start="2026-01-03", end="2026-01-09"))) == [
        "d5",
        "d3",
    ]
    assert ids(store.search("a", "board", "kind", ViewRange(("a",)))) == ["d2"]
    store.write("a", [document(1, title="Board", at="2026-01-30T00:00:00Z"), document(9, title="gone")])
    assert ids(store.search("a", "board"))[:2] == ["d1", "d5"]
    assert ids(store.search("a", "gone")) == ["d9"]
    documents = [document(number, at="2026-02-01T00:00:00Z") | {"_id": f"x{number}"} for number in range(2, 25)]
    store.write("a", documents)
    assert len(set(ids(store.search("a", "t2")))) == 1
    assert not list(store.faults())
    store.close()


def test_a_conflict_with_who_writes_at_the_same_time_is_written_over_and_those_of_a_replication_are_removed(server):
    url, secret = server
    name = f"w{os.getpid()}_conflict_{next(NUMBERS)}"
    store = CouchDocuments(url, [DocumentDatabase(name, VIEWS)], secret)
    store.write(name, [document(1)])
    known = store._read_existing

    def known_then_changed(database, wanted):
        known_documents = known(database, wanted)
        store._read_existing = known
        second_store = CouchDocuments(url, [DocumentDatabase(name, VIEWS)], secret)
        second_store.write(name, [document(1, title="theirs")])
        second_store.close()
        return known_documents

    store._read_existing = known_then_changed
    store.write(name, [document(1, title="ours")])
    assert store.get(name, ["d1"])["d1"]["title"] == "ours"
    replicated = {"_id": "d1", "_rev": "1-abc", "title": "elsewhere", "_revisions": {"start": 1, "ids": ["abc"]}}
    store._request("POST", f"/{name}/_bulk_docs", {"docs": [replicated], "new_edits": False}, good=(201,))
    assert store._read_existing(name, ["d1"])["d1"].get("_conflicts")
    store.write(name, [document(1, title="settled")])
    stored = store._read_existing(name, ["d1"])["d1"]
    assert (stored["title"], stored.get("_conflicts", [])) == ("settled", [])
    store._request("DELETE", f"/{name}", good=(200, 202))
    store.close()


VALIDATION = """function (doc) { if (doc.title === 'forbidden') { throw({forbidden: 'no such title'}); } }"""


def test_documents_that_a_server_refuses_are_returned_with_the_reason_and_the_others_are_written(server):
    url, secret = server
    name = f"w{os.getpid()}_{secrets.token_hex(3)}_refused"
    with refusing_above(20_000, url) as limited_url:
        store = CouchDocuments(limited_url, [DocumentDatabase(name, VIEWS)], secret)
        store._request("PUT", f"/{name}/_design/theirs", {"validate_doc_update": VALIDATION}, good=(201, 202))
        documents = [document(number, text="x" * 3000) for number in range(1, 15)]
        documents[4] = document(5, title="forbidden")
        documents[9] = document(10, text="y" * 30_000)
        documents[11] = document(12, _hidden="CouchDB keeps names with this beginning for itself")
        refused = store.write(name, documents)
        assert sorted(refused) == ["d10", "d12", "d5"]
        assert refused["d10"] == "larger than the server accepts: document_too_large d10"
        assert refused["d5"] == "forbidden no such title"
        assert "_hidden" in refused["d12"]
        assert sorted(store.ids(name)) == sorted({f"d{number}" for number in range(1, 15)} - {*refused})
        store._request("DELETE", f"/{name}", good=(200, 202))
        store.close()


MALFORMED_ROWS = [
    [7], [{"id": 7}], [{}], [{"id": "a", "doc": "text"}], [{"id": "a", "doc": {}}], [{"id": "a", "value": "text"}],
    [{"id": "a", "doc": {"_id": "a"}}], [{"id": "a", "doc": {"_id": "a", "_rev": "1-a", "_conflicts": 7}}],
]  # fmt: skip


@pytest.mark.parametrize("rows", MALFORMED_ROWS)
def test_rows_that_are_not_of_a_couchdb_are_an_error_that_names_the_setting(rows):
    with answering(lambda _method, _path: (200, {"rows": rows, "total_rows": 1})) as url:
        store = CouchDocuments(url, [DocumentDatabase("a", VIEWS)])
        for read in (
            lambda: list(store.view("a", "all")),
            lambda: list(store.ids("a")),
            lambda: store.get("a", ["a"]),
            lambda: store.write("a", [document(1)]),
            lambda: store.count("a"),
        ):
            with pytest.raises(StoreError) as refused:
                read()
            assert refused.value.hint == "check the setting events.documents"
        store.close()


@pytest.mark.parametrize("rows", [[7], [None], [{}], [{"id": 7, "ok": True}], [], [{"id": "other", "ok": True}]])
def test_an_answer_to_a_write_that_is_not_of_a_couchdb_is_an_error(rows):
    with answering(lambda _method, path: (201, rows) if path.endswith("_bulk_docs") else (200, {"rows": []})) as url:
        store = CouchDocuments(url, [DocumentDatabase("a", VIEWS)])
        with pytest.raises(StoreError, match="not from CouchDB"):
            store.write("a", [document(1)])
        store.close()


def test_a_design_document_that_is_never_taken_is_an_error():
    """After five conflicts the store was used with the views of the other client, or none."""
    with serving_couch() as couch, pytest.raises(StoreError, match="keeps writing the design document of a"):
        couch.change = lambda method, path, answer: (
            (409 if method == "PUT" else 404, {}) if path.endswith(DESIGN_ID) else answer
        )
        CouchDocuments(couch.url, [DocumentDatabase("a", VIEWS)])


@contextmanager
def answering(answer):
    """Yield the address of a server whose answers are (status, JSON) by `answer`, and whose designs are CouchDB's."""

    class Handler(BaseHTTPRequestHandler):
        def respond(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_plain = self.path == "/a" or self.path.endswith(DESIGN_ID)
            status = 201 if self.command == "PUT" else 200
            status, content = (status, {}) if is_plain else answer(self.command, self.path)
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = respond  # noqa: N815 as the library calls them

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        threading.Thread(target=http_server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{http_server.server_port}/"
        http_server.shutdown()


def test_views_of_others_in_a_couchdb_are_not_counted_and_half_a_surrogate_pair_is_no_error(server):
    url, secret = server
    name = f"w{os.getpid()}_{secrets.token_hex(3)}_designs"
    store = CouchDocuments(url, [DocumentDatabase(name, VIEWS)], secret)
    store._request("PUT", f"/{name}/_design/theirs", {"views": {}}, good=(201, 202))
    store.write(name, [document(1, title="a\ud800b")])
    assert (store.count(name), store.get(name, ["d1"])["d1"]["title"]) == (1, "a?b")
    store._request("DELETE", f"/{name}", good=(200, 202))
    store.close()


def test_a_view_of_a_couchdb_answers_a_plain_query_with_its_rows_as_any_client_asks(server):
    """VotersDaily's own web application requests `_view/NAME?descending=true&startkey=...&endkey=...`."""
    url, secret = server
    name = f"w{os.getpid()}_{secrets.token_hex(3)}_plain"
    store = CouchDocuments(url, [DocumentDatabase(name, VIEWS)], secret)
    design = store._request("GET", f"/{name}/{DESIGN_ID}").content
    counting = {view_name: {**view, "reduce": "_count"} for view_name, view in design["views"].items()}
    store._request("PUT", f"/{name}/{DESIGN_ID}", {**design, "views": counting}, good=(201,))  # of an earlier windrow
    store.close()
    store = CouchDocuments(url, [DocumentDatabase(name, VIEWS)], secret)
    store.write(name, [document(number) for number in range(1, 5)])
    view = f"/{name}/{DESIGN_ID}/_view"
    rows = store._request("GET", f"{view}/all").content["rows"]
    assert [(row["id"], row["key"]) for row in rows] == [(f"d{n}", document(n)["at"]) for n in range(1, 5)]
    newest = "descending=true&endkey=%222026-01-02%22&startkey=%222026-01-04%22"
    assert [row["id"] for row in store._request("GET", f"{view}/all?{newest}").content["rows"]] == ["d3", "d2"]
    of_a = "startkey=%5B%22a%22%5D&endkey=%5B%22a%22,%7B%7D%5D&include_docs=true"
    assert [row["doc"]["title"] for row in store._request("GET", f"{view}/kind?{of_a}").content["rows"]] == ["t2", "t4"]
    store._request("DELETE", f"/{name}", good=(200, 202))
    store.close()


@pytest.mark.parametrize("views", [{"map": None}, {"map": None, "reduce": "_count"}])
def test_who_may_not_make_databases_in_a_couchdb_uses_those_that_there_are(views):
    requests = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            requests.append((self.command, self.path))
            views_now = {view.name: {**views, "map": _map_function(view)} for view in VIEWS}
            design = {"_id": DESIGN_ID, "language": "javascript", "views": views_now}
            body = json.dumps(design if self.path.endswith(DESIGN_ID) else {"doc_count": 1}).encode()
            self.send_response(200 if self.command == "GET" else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_PUT(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        threading.Thread(target=http_server.serve_forever, args=(0.02,), daemon=True).start()
        store = CouchDocuments(
            f"http://127.0.0.1:{http_server.server_port}/", [DocumentDatabase("a", VIEWS)], "member:word"
        )
        store.close()
        http_server.shutdown()
    assert requests[:2] == [("GET", "/a"), ("GET", f"/a/{DESIGN_ID}")]
    assert all(where == ("PUT", f"/a/{DESIGN_ID}") for where in requests[2:])


def test_a_server_that_is_away_and_one_that_is_none_are_said(tmp_path, monkeypatch):
    monkeypatch.setattr("windrow.stores.couchdb.time.sleep", lambda _: None)
    with pytest.raises(StoreUnreachable):
        CouchDocuments("http://127.0.0.1:9/", [DocumentDatabase("a")])
    for url in (str(Path("a.db")), "http://h:99999/", "http://[::1/"):
        with pytest.raises(ConfigError, match="is not the address of a CouchDB server"):
            CouchDocuments(url, [DocumentDatabase("a")])
    assert issubclass(StoreUnreachable, StoreError)


@pytest.mark.parametrize("body", [b"[]", b"null", b"7", b"[" * 100_000, b"<html>", b'{"rows": 7, "doc_count": "many"}'])
def test_an_answer_that_is_none_of_a_couchdb_is_said(body):
    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            is_design = self.path.endswith(DESIGN_ID) and body.startswith(b"{")
            content = b"{}" if is_design else body
            self.send_response(201 if self.command == "PUT" and is_design else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = answer  # noqa: N815 as the library calls them

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        threading.Thread(target=http_server.serve_forever, args=(0.02,), daemon=True).start()
        with pytest.raises(StoreError) as refused:
            CouchDocuments(f"http://127.0.0.1:{http_server.server_port}/", [DocumentDatabase("a", VIEWS)]).count("a")
        http_server.shutdown()
    assert "CouchDB" in str(refused.value)


@pytest.mark.parametrize("url", ["http://u:hidden@127.0.0.1:1/", "http://hidden@127.0.0.1:99999/", "ftp://u:hidden@h/"])
def test_an_address_with_a_password_is_refused_and_not_shown(url):
    with pytest.raises(ConfigError) as caught:
        CouchDocuments(url, [DocumentDatabase("a", VIEWS)])
    assert "may not contain a user" in str(caught.value)
    assert "hidden" not in f"{caught.value} {caught.value.hint}"
