"""Bad input, revisions, trees of other tools, exports and takedown of articles."""

import io
import json
import random
import re
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest
from lxml import etree

from tests.clock import pass_time
from tests.collections.news.paper import PROSE, article
from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, configured, run, summaries
from tests.house.tree import ROOT
from windrow.app.check import check_tree
from windrow.collections.news import standard
from windrow.collections.news.adapter import ADAPTER
from windrow.collections.news.adapter.tree_index import TreeIndex
from windrow.collections.news.article import parse_date
from windrow.collections.news.feed import RefusedResponse, parse_response
from windrow.content.article import read_article
from windrow.content.markdown import html_to_markdown
from windrow.engine.check import Fault
from windrow.engine.takedown import TakedownTarget
from windrow.errors import UsageError
from windrow.ledger import Ledger
from windrow.reasons import Reason
from windrow.stores.records import RecordStore

SCHEMA = "src/windrow/collections/news/article.schema.json"


@pytest.fixture
def press():
    served = Press(posts=3)
    yield served
    served.close()


def wordpress(root, press, news="", **settings):
    return configured(root, {"press": {"url": press.url, "kind": "wordpress"} | settings}, news)


def test_each_kind_of_bad_post_has_its_reason_is_counted_and_the_others_go_on(tmp_path, press):
    at = "2025-11-02T00:00:00"
    press.post(10, at, title={"rendered": "<script>x()</script> &nbsp;"})
    press.post(11, at, content={"rendered": "<script>x()</script>", "protected": False})
    press.post(12, at, content={"rendered": "", "protected": True})
    press.post(13, at, type="page")
    press.post(14, at, link="https://../../etc/passwd")
    press.post(15, at, link="javascript:alert(1)")
    press.post(16, at, title={"rendered": "<script>alert(1)</script>Title &lt;b&gt;"})
    press.post(17, at, date="9999-01-01T00:00:00", date_gmt="9999-01-01T00:00:00")
    press.post(18, "0000-00-00T00:00:00", modified=at, modified_gmt=at)
    press.post(19, at, title=None, content=7, _embedded=[1])
    press.post(20, at, id=3)
    press.post(21, at, link=f"{press.url}/%2e%2e/%2e%2e/x", content={"rendered": "<p>ok \ud83d\ude00 \\</p>"})
    run(wordpress(tmp_path, press))
    (summary,) = summaries(tmp_path)
    assert summary["details"].items() >= {
        "error: no_title": 2, "error: no_text": 1, "error: password_protected": 1, "its type is page, not post": 1, "error: bad_address": 2,
        "doubtful_date: in the future": 1,
    }.items()  # fmt: skip
    assert summary["statistics"]["errors"] == 6 + ("error: listed_twice" in summary["details"])
    assert summary["statistics"]["articles_skipped_image_type"] == 1
    tree = articles(tmp_path)
    assert not [problem for article in tree.values() for problem in standard.problems(article)]
    assert {"Title <b>"} <= {article["title"] for article in tree.values()}
    assert {path.parent.name for path in (tmp_path / "normalized_news").glob("*/*")} == {"127.0.0.1"}
    future = next(article for article in tree.values() if article["metadata"].get("date_doubt") == "in the future")
    assert future["publication_date"].startswith("9999")


@pytest.mark.parametrize(("body", "reason"), [
    (b"<html>Checking your browser", Reason.BOT_WALL),
    (b"", Reason.TRUNCATED),
    (b'[{"id": 1', Reason.NOT_WELL_FORMED),
    (b'[{"title": "\xff\xfe"}]', Reason.WRONG_ENCODING),
    (b'{"body": {"code": "rest_no_route"}, "status": 404, "headers": []}', Reason.NOT_FOUND),
    (b"[" * 100_000, Reason.NOT_WELL_FORMED),
])  # fmt: skip
def test_answers_that_are_no_list_of_posts_are_refused_for_a_reason(body, reason):
    parsed = parse_response(200, {"content-type": "application/json"}, body)
    assert isinstance(parsed, RefusedResponse)
    assert parsed.reason is reason


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_file_with_a_number_that_json_does_not_have_is_not_valid(number):
    problems = list(standard.check_file("a.example", "a.json", f'{{"word_count": {number}}}'.encode()))
    assert problems == [("", f"is not JSON: {number} is not a number in JSON, or is too large")]


def test_a_key_that_a_file_has_twice_is_a_fault():
    content = json.dumps(good()).replace("{", '{"title": "U", ', 1).encode()
    problems = list(standard.check_file("example.com", standard.file_name(good()["url"]), content))
    assert problems == [("", "has the key 'title' more than once")]


@pytest.mark.parametrize("text", [
    'a \\<b> \\&lt; `<b> &lt;` <https://a.example/?a&amp;b> [x](https://a.example/?a&amp;b "&amp;") 3 < 4 > 2 & c',
    "- a\n\n  ```html\n  <p>x</p>\n  ```\n\n> ````\n> &lt;\n> ````", "```\n<p>",
])  # fmt: skip
def test_code_and_addresses_in_an_article_are_not_taken_for_html(text):
    content = json.dumps(good(article_text=text)).encode()
    assert list(standard.check_file("example.com", standard.file_name(good()["url"]), content)) == []


def test_dates_that_lie_are_told_and_never_guessed():
    now = datetime(2025, 11, 20, tzinfo=UTC)
    assert parse_date("2025-11-20T14:30:00-06:00", "", now) == (1763670600, "")
    assert parse_date("Thu, 20 Nov 2025 14:30:00 -0600", "", now) == (1763670600, "")
    assert parse_date("2025-11-20T14:30:00", "America/Chicago", now) == (1763670600, "")
    assert parse_date("2025-11-20T14:30:00", "", now) == (None, "no time zone")
    assert parse_date("2025-11-25T14:30:00Z", "", now) == (1764081000, "in the future")
    assert parse_date("1969-01-01T00:00:00Z", "", now) == (None, "before 1990")
    assert parse_date("0000-00-00T00:00:00Z", "", now) == (None, "not a date")
    assert parse_date("", "", now) == (None, "")


def test_with_updates_a_changed_article_keeps_its_file_and_first_seen_and_tells_its_revisions(tmp_path, press):
    workspace = wordpress(tmp_path, press, "rewrite_changed = true")
    run(workspace)
    url = f"{press.url}/2025/11/story-2/"
    first = articles(tmp_path)[url]
    for number, text in enumerate(("Corrected.", "Corrected again."), 1):
        now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + number))
        press.edit(2, now, content={"rendered": f"<p>{text}</p>"})
        pass_time(1.1)
        run(workspace)
    last = articles(tmp_path)[url]
    assert last["article_text"] == "Corrected again."
    assert last["first_seen_timestamp_gmt"] == first["first_seen_timestamp_gmt"]
    revisions = last["metadata"]["revisions"]
    assert [revision["changed"] for revision in revisions] == [
        [],
        ["article_text", "word_count"],
        ["article_text", "word_count"],
    ]
    assert revisions[0]["seen"] == first["first_seen_timestamp_gmt"] < revisions[1]["seen"] < revisions[2]["seen"]
    assert len({revision["hash"] for revision in revisions}) == 3
    assert [summary["statistics"]["articles_new"] for summary in summaries(tmp_path)] == [3, 0, 0]
    assert summaries(tmp_path)[-1]["details"]["updated"] == 1
    assert list(standard.problems(last)) == []


def test_a_deleted_file_is_written_again_and_a_file_without_an_article_is_kept_and_counted(tmp_path, press):
    workspace = wordpress(tmp_path, press)
    folder = tmp_path / "normalized_news" / "127.0.0.1"
    folder.mkdir(parents=True)
    paths = [folder / standard.file_name(f"{press.url}/2025/11/story-{number}/") for number in (1, 2, 3)]
    broken = {paths[0]: "", paths[1]: '{"url": "trunc'}
    for path, text in broken.items():
        path.write_text(text)
    run(workspace)
    first = json.loads(paths[2].read_text())
    paths[2].unlink()
    pass_time(1.1)
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    for number in (1, 2, 3):
        press.edit(number, now)
    run(workspace)
    assert json.loads(paths[2].read_text())["first_seen_timestamp_gmt"] == first["first_seen_timestamp_gmt"]
    assert {path: path.read_text() for path in broken} == broken
    for summary, details in zip(summaries(tmp_path), ({}, {"file_missing": 1}), strict=True):
        assert summary["statistics"].items() >= {"articles_new": 1, "articles_skipped": 0, "errors": 2}.items()
        assert summary["details"].items() >= ({"error: file_not_valid": 2} | details).items()
    with closing(Ledger(workspace.ledger)) as ledger:
        _, count = next(ledger.sessions.rule_counts("press"))
    assert (count.addresses, count.reason) == (2, "not_well_formed")


def test_a_post_that_moved_keeps_the_file_of_its_first_address(tmp_path, press):
    workspace = wordpress(tmp_path, press, "rewrite_changed = true")
    run(workspace)
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    press.edit(2, now, link=f"{press.url}/2025/11/another-name/")
    run(workspace)
    tree = articles(tmp_path)
    assert len(tree) == 3
    assert tree[f"{press.url}/2025/11/story-2/"]["metadata"]["canonical_url"] == f"{press.url}/2025/11/another-name/"
    details = summaries(tmp_path)[-1]["details"]
    assert (details["moved"], details["updated"], details.get("gone")) == (1, 1, None)
    hits = {hit.url for hit in ADAPTER.search(workspace, "story", offset=0, limit=10, explain=False).results}
    assert hits == {f"{press.url}/2025/11/{name}/" for name in ("story-1", "another-name", "story-3")}


def good(**fields):
    url = "https://example.com/article1"
    return {
        "url": url, "title": "T", "article_text": "x", "source_domain": "example.com",
        "first_seen_timestamp_gmt": 1763670601, "publication_date": "2025-11-20T14:30:00-06:00",
        "publication_timestamp_gmt": 1763670600, "author": None, "keywords": ["a"],
    } | fields  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), [
    ({"title": " "}, "title: is missing"), ({"url": "/x"}, "url: is not an absolute"), ({"article_text": None}, "article_text"),
    ({"first_seen_timestamp_gmt": "1"}, "first_seen"), ({"first_seen_timestamp_gmt": 0}, "first_seen"),
    ({"publication_timestamp_gmt": 1763670600000}, "publication_timestamp_gmt"), ({"keywords": "a"}, "keywords"),
    ({"publication_timestamp_gmt": 1732132200}, "publication_timestamp_gmt: is 1732132200"), ({"author": ["x"]}, "author"),
    ({"article_text": "<p>Hello <b>x</b></p>"}, "article_text: contains HTML that is not converted: '<p>'"),
    ({"article_text": "A &lt; B"}, "converted: '&lt;'"), ({"title": "\u200b"}, "title: has only invisible"),
    ({"title": "a\ud83d"}, "title: contains half of a surrogate pair"), ({"url": "https://example.com/a b"}, "url: contains spaces"),
    ({"url": "https://else.example/x"}, "source_domain: is not the domain of the url, 'else.example'"),
    ({"source_domain": "www.example.com"}, "should be in the folder 'www.example.com'"), ({"metadata": []}, "metadata"),
])  # fmt: skip
def test_a_tree_of_another_tool_is_judged_file_by_file(tmp_path, changes, words):
    folder = tmp_path / "example.com"
    folder.mkdir()
    path = folder / standard.file_name("https://example.com/article1")
    path.write_text(json.dumps(good(**changes)))
    faults = [fault for fault in check_tree(("news", str(tmp_path)))[1] if isinstance(fault, Fault)]
    assert any(words in fault.problem for fault in faults), faults


def test_a_good_tree_has_no_fault_and_strange_files_are_told(tmp_path):
    folder = tmp_path / "example.com"
    folder.mkdir()
    path = folder / standard.file_name("https://example.com/article1")
    path.write_text(json.dumps(good()))
    assert [fault for fault in check_tree((str(tmp_path),))[1] if isinstance(fault, Fault)] == []
    (folder / "a1b2.json").write_bytes(b"\xff")
    (folder / "deep").mkdir()
    (folder / "deep" / "x.json").write_text("{}")
    (folder / "notes.txt").write_text("x")
    problems = {fault.location: fault.problem for fault in check_tree((str(tmp_path),))[1] if isinstance(fault, Fault)}
    assert len(problems) == 3
    assert problems["example.com/a1b2.json"] == "is not UTF-8"


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("a/b.warc.gz", "windrow run {}, "), ("add/H.2026-01-12.1.impc.zip", "windrow run --from unzip {}, "),
        ("papers.parquet", "windrow check, which checks the workspace"), ("", "windrow check, "),
    ],
)  # fmt: skip
def test_a_folder_without_articles_is_not_checked_and_the_right_command_is_named(tmp_path, file, command):
    if file:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(b"x")
    with pytest.raises(UsageError, match="which the standard of news describes") as caught:
        check_tree((str(tmp_path),))
    assert caught.value.hint.startswith(command.format(tmp_path))


def test_the_published_schema_and_the_rules_agree_on_what_is_required():
    schema = json.loads((ROOT / SCHEMA).read_text())
    assert tuple(schema["required"]) == (*standard.REQUIRED_TEXT_FIELDS, "first_seen_timestamp_gmt")
    assert tuple(sorted(schema["properties"])) == tuple(sorted(standard.FIELDS))
    chance = random.Random(7)
    strange = ["", " ", None, 0, -1, 1763670600, 10**15, 1.5, True, [], ["a"], [1], {}, "text", "https://a.example/"]
    for _ in range(2000):
        article = good()
        article[chance.choice(standard.FIELDS)] = chance.choice(strange)
        assert bool(list(standard.problems(article))) == (not fits(schema, article)), article


def fits(schema, article):
    """Tell whether an article fits the published JSON Schema; only the keywords that it uses are checked."""
    types = {"string": str, "integer": int, "null": type(None), "array": list, "object": dict}
    for name in schema["required"]:
        if name not in article:
            return False
    for name, value in article.items():
        rule = schema["properties"][name]
        types_allowed = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        if not any(
            isinstance(value, types[name_of_type]) and not isinstance(value, bool) for name_of_type in types_allowed
        ):
            return False
        if isinstance(value, str) and "pattern" in rule and not re.search(rule["pattern"], value):
            return False
        if isinstance(value, int) and not (
            rule.get("exclusiveMinimum", -1) < value < rule.get("exclusiveMaximum", 10**30)
            and value >= rule.get("minimum", 0)
        ):
            return False
        if isinstance(value, list) and not all(isinstance(text, str) for text in value):
            return False
    return True


def written(workspace, form):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    count = ADAPTER.EXPORTS[0].write(workspace, form, out)
    out.flush()
    return count, out.buffer.getvalue()


def test_news_is_exported_as_lines_feed_table_and_warc_and_found_by_search(tmp_path, press):
    workspace = wordpress(tmp_path, press)
    run(workspace)
    count, lines = written(workspace, "jsonl")
    assert count == 3
    assert {json.loads(line)["url"] for line in lines.splitlines()} == set(articles(tmp_path))
    feed = etree.fromstring(written(workspace, "atom")[1])
    titles = [entry.findtext("{*}title") for entry in feed.findall("{*}entry")]
    assert titles == ["Story \u201c3\u201d & more", "Story \u201c2\u201d & more", "Story \u201c1\u201d & more"]
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(written(workspace, "parquet")[1]))
    assert table.column("keywords").to_pylist()[0] == ["Sport & Leisure", "odd"]
    fastwarc = pytest.importorskip("fastwarc")
    records = list(fastwarc.ArchiveIterator(io.BytesIO(written(workspace, "warc")[1])))
    assert any("/wp/v2/posts" in record.headers["WARC-Target-URI"] for record in records)
    hits = ADAPTER.search(workspace, "story", offset=0, limit=10, explain=False)
    assert len(hits.results) == 3
    assert list(ADAPTER.check_tree(tmp_path / "normalized_news"))
    assert not [fault for fault in ADAPTER.check_tree(tmp_path / "normalized_news") if isinstance(fault, Fault)]


def test_exports_take_the_valid_articles_of_a_tree_that_other_tools_wrote_to_and_leave_out_what_is_none(
    tmp_path, press
):
    workspace = wordpress(tmp_path, press)
    run(workspace)
    folder = tmp_path / "normalized_news" / "example.com"
    folder.mkdir()
    others = [
        good(publication_timestamp_gmt=999_999_999_999, publication_date=None, word_count=10**30, title="Far \u0000 off \U0001f680"),
        good(title=None), good(publication_timestamp_gmt="soon"), good(keywords="a"), good(word_count="many"), [], "x",
    ]  # fmt: skip
    for number, foreign in enumerate(others):
        (folder / f"{number:032}.json").write_text(json.dumps(foreign))
    (folder / f"{'8' * 32}.json").write_bytes(b"\xff")
    (folder / f"{'9' * 32}.json").write_text("[" * 100_000)
    assert written(workspace, "jsonl")[0] == 4
    feed = etree.fromstring(written(workspace, "atom")[1])
    assert feed.find("{*}entry/{*}updated").text == "9999-12-31T23:59:59Z"
    assert feed.find("{*}entry/{*}title").text == "Far \ufffd off \U0001f680"
    if pytest.importorskip("pyarrow"):
        assert written(workspace, "parquet")[0] == 4


@pytest.mark.parametrize("first", ["its own site", "a site that has it among its origins"])
def test_with_updates_an_article_is_changed_by_its_own_site_and_by_no_other_that_tells_of_its_address(
    tmp_path, press, first
):
    second_press = Press()
    try:
        own = press.url.replace("127.0.0.1", "localhost")
        url = f"{own}/2025/11/story-1/"

        def tell(served, text, at):
            served.post(1, at, link=url, content={"rendered": f"<p>{text}</p>", "protected": False})

        def article():
            return articles(tmp_path)[url]["article_text"]

        owner = {"owner": {"url": own, "kind": "wordpress"}}
        stranger = {"stranger": {"url": second_press.url, "kind": "wordpress", "full_listing_every": "0s"}}
        tell(press, "What the paper wrote.", "2025-11-01T10:00:00")
        tell(second_press, "What another site makes of it.", "2025-11-01T10:00:00")
        if first == "its own site":
            run(configured(tmp_path, owner))
        else:
            stranger["stranger"]["origins"] = [own]
            run(configured(tmp_path, stranger))
            assert article() == "What another site makes of it."
        pass_time(1.1)
        run(configured(tmp_path, owner | stranger))
        assert article() == "What the paper wrote."
        pass_time(1.1)
        now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 2))
        second_press.edit(1, now, content={"rendered": "<p>Something else again.</p>", "protected": False})
        workspace = configured(tmp_path, owner | stranger, "rewrite_changed = true")
        run(workspace)
        assert article() == "What the paper wrote."
        pass_time(1.1)
        press.edit(1, now, content={"rendered": "<p>What the paper corrected.</p>", "protected": False})
        if first == "its own site":  # the other one removes it
            second_press.posts.clear()
            second_press.post(2)
        run(workspace)
        assert article() == "What the paper corrected."
        assert [address for address in articles(tmp_path) if address.endswith("/story-1/")] == [url]
        if first == "its own site":
            _check_that_nothing_of_the_owner_is_lost(workspace, url, second_press)
    finally:
        second_press.close()


def _check_that_nothing_of_the_owner_is_lost(workspace, url, second_press):
    """Check the records of an article and of one that another site listed at its address; forget the other site."""
    claim = f"{url}#wordpress:{second_press.url.partition('://')[2]}/1"
    with closing(RecordStore(workspace.root / "news.db")) as store:
        history = store.history(url)
        assert {version.source for version in history} == {"owner"}
        changes = [version.change for version in history if version.change != "same"]
        assert changes == ["new", "changed"]
        claims = store.history(claim)
        assert [version.change for version in claims if version.change != "same"] == ["new", "changed", "gone"]
    assert articles(workspace.root)[claim]["article_text"] == "Something else again."

    def forget(attempts):
        target = TakedownTarget("the requests of a source", host=1, collection="news")
        ADAPTER.remove_taken_down(workspace, target, attempts)

    def check():
        with closing(Ledger(workspace.ledger)) as ledger:
            return [fault.location for fault in ADAPTER.check(workspace, ledger)]

    assert check() == []
    forget([version.attempt for version in claims])
    assert articles(workspace.root).keys() & {url, claim} == {url}
    latest = [version.attempt for version in history if version.change == "changed"]
    forget([*latest, *(version.attempt for version in history if version.attempt > latest[0])])
    assert url not in articles(workspace.root), "the file had a version that was forgotten"
    assert check() == []
    ADAPTER.harvest(workspace).derivations["publish"](lambda: True)
    assert articles(workspace.root)[url]["article_text"] == "What the paper wrote."
    with closing(TreeIndex(workspace.root / "news.db")) as index, index.writing_run():
        index.remove(index.find(url, ()).id)
    assert check() == [url], "a record has no file"


def test_a_subdomain_that_anybody_may_have_cannot_name_an_article_of_its_parent():
    assert not standard.is_same_site("https://ann.blogs.example/a", "https://blogs.example/a")
    assert not standard.is_same_site("https://blogs.example/a", "https://ann.blogs.example/a")
    for host in ("m", "www", "mobile", "amp", "touch"):
        assert standard.is_same_site(f"https://{host}.paper.example/a", "https://www.paper.example/a")
    assert not standard.is_same_site("https://m.example/a", "https://example/a")


def test_a_caption_stands_by_its_picture_in_the_text_of_an_article():
    figure = (
        "<figure><img src='/p.jpg' alt='A quay'><figcaption>The quay at dawn, from the bridge.</figcaption></figure>"
    )
    body = article("https://a.example", 1, text=PROSE + figure + PROSE).encode()
    page = read_article(body, "text/html", "https://a.example/news/the-quay-story-1.html", ())
    text = html_to_markdown(page.markup, "https://a.example/")
    assert "![A quay](https://a.example/p.jpg)" in text
    assert "*The quay at dawn, from the bridge.*" in text
    assert not [block for block in page.blocks if "dawn" in block]
