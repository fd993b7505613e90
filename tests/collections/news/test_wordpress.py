"""A WordPress site from its REST API to the tree of articles: all pages, windows of time, skipped posts."""

import hashlib
import io
import json
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.clock import pass_time
from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.app.summary import summarise
from windrow.collections.news import standard
from windrow.collections.news.adapter import ADAPTER
from windrow.collections.news.collection import COLLECTION
from windrow.collections.news.wordpress import PostList, begin, follow
from windrow.collections.news.wordpress_gone import NUMBERS, follow_numbers
from windrow.contract import Answer, Request
from windrow.engine.frontier import frontier_of
from windrow.ledger import Ledger
from windrow.model import Site, Source
from windrow.reasons import Reason
from windrow.stores.records import RecordStore


@pytest.fixture
def press():
    served = Press(posts=23)
    yield served
    served.close()


def wordpress(root, press, **settings):
    return configured(root, {"press": {"url": press.url, "kind": "wordpress"} | settings})


def test_terms_that_are_not_embedded_are_taken_from_classes_and_from_yoast(tmp_path, press):
    """Sites refuse single taxonomies: an error then stands among the embedded terms, in the place of the tags."""
    press.posts = {}
    terms = [[{"name": "Sport &amp; Leisure", "slug": "sport"}, {"name": "Новости 24", "slug": "%d0%bd-24", "id": 12},
              {"name": "Year", "slug": "2024", "id": 57}], {"code": "rest_forbidden"}]  # fmt: skip
    graph = [{"@type": "Article", "keywords": ["Quay", "harbour"], "articleSection": ["News"]}, {"@type": "WebSite"}]
    embedded = {"author": [{"name": "Ann"}], "wp:term": terms}
    classes = ["post-1", "category-sport", "category--24", "category-57", "category-12", "tag-harbour", "tag-old-town"]
    press.post(1, _embedded=embedded, class_list=classes,
               yoast_head_json={"schema": {"@graph": graph}})  # fmt: skip
    run(wordpress(tmp_path, press))
    (article,) = articles(tmp_path).values()
    assert article["keywords"] == [
        "Sport & Leisure", "Новости 24", "Year", "harbour", "old town", "Quay", "News",
    ]  # fmt: skip


def test_every_post_of_every_page_becomes_a_file_that_is_exactly_valid_by_the_standard(tmp_path, press):
    before = int(time.time())
    run(wordpress(tmp_path, press))
    written = articles(tmp_path)
    assert len(written) == 23
    assert len([asked for asked in press.asked if "/posts" in asked]) == 3
    for url, article in written.items():
        path = tmp_path / "normalized_news" / "127.0.0.1" / f"{hashlib.md5(url.encode()).hexdigest()}.json"
        assert json.loads(path.read_text()) == article
        assert list(standard.problems(article)) == []
        assert before <= article["first_seen_timestamp_gmt"] <= time.time()
    article = written[f"{press.url}/2025/11/story-7/"]
    assert article["title"] == "Story \u201c7\u201d & more"
    assert article["article_text"] == "Body of **story** 7."
    assert (article["publication_date"], article["publication_timestamp_gmt"]) == ("2025-11-01T07:00:00Z", 1761980400)
    assert article["author"] == "In\u00e9s M\u00fcller"
    assert article["keywords"] == ["Sport & Leisure", "odd"]
    assert (article["image_url"], article["excerpt"], article["word_count"]) == (
        f"{press.url}/picture.jpg",
        "Short 7",
        4,
    )
    assert article["metadata"]["wp_post_id"] == 7
    assert "M\u00fcller" in next((tmp_path / "normalized_news").glob("*/*.json")).read_text()


@pytest.mark.parametrize("status", [302])
def test_a_page_of_a_list_whose_answer_is_not_used_is_told_and_requested_again(tmp_path, press, status):
    def refuse_page_2(path):
        if "&page=2&" in path:
            press.put(path, "[]", "-> http://wall.example/" if status == 302 else "application/json", status)

    press.before = refuse_page_2
    workspace = wordpress(tmp_path, press)
    reasons = []
    for _ in range(2):
        run(workspace)
        with closing(Ledger(workspace.ledger)) as ledger:
            left_out = summarise(ledger, ledger.sessions.latest(), {}).left_out
            reasons.append([{count.reason for count in counts} for counts in (left_out, status_of(ledger))])
        press.before = lambda path: press.pages.clear()
        pass_time(61)
    reason = "redirected" if status == 302 else "protocol_error"
    assert reasons == [[{reason}, {reason}], [set(), set()]]
    assert len(articles(tmp_path)) == 23


def status_of(ledger):
    return frontier_of(ledger, COLLECTION).left_out("press", ())


def test_a_run_leaves_its_raw_replies_and_both_summaries_in_a_directory_of_its_own(tmp_path, press):
    run(wordpress(tmp_path, press))
    (folder,) = (tmp_path / "raw_news_data").glob("*/*")
    first_seen = {article["first_seen_timestamp_gmt"] for article in articles(tmp_path).values()}
    assert first_seen == {int(folder.name)}
    assert folder.parent.name == time.strftime("%Y-%m-%d", time.gmtime(int(folder.name)))
    (summary,) = summaries(tmp_path)
    assert summary["source"] == "wordpress"
    assert summary["statistics"] == {
        "files_processed": 1, "articles_new": 23, "articles_skipped": 0, "articles_skipped_image_type": 0, "errors": 0,
    }  # fmt: skip
    time.strptime(summary["timestamp"], "%Y-%m-%dT%H:%M:%S.%f")
    (collected,) = summaries(tmp_path, "_collection_summary.json")
    assert collected["collection_timestamp"] == folder.name
    (site,) = collected["results"]
    assert (site["status"], site["article_count"], site["pages_fetched"]) == ("success", 23, 3)
    raw = json.loads((folder / f"127_0_0_1_{press.server.server_port}.json").read_text())
    assert [post["id"] for post in raw] == list(range(1, 24))


def test_later_runs_ask_for_windows_and_find_new_edited_back_dated_and_scheduled_posts(tmp_path, press):
    workspace = wordpress(tmp_path, press)
    run(workspace)
    first = articles(tmp_path)
    press.asked.clear()
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    press.post(100, now)
    press.post(101, "2019-01-01T00:00:00", modified=now, modified_gmt=now)  # it was a draft for a long time
    press.post(103, "2019-01-02T00:00:00")  # back-dated: its time of change is old, too
    press.post(102, now, modified="2020-01-01T00:00:00", modified_gmt="2020-01-01T00:00:00")  # it was scheduled
    press.edit(3, now, content={"rendered": "<p>Corrected.</p>"})
    pass_time(1.1)
    run(workspace)
    written = articles(tmp_path)
    assert sorted(int(url.split("-")[-1][:-1]) for url in written.keys() - first.keys()) == [100, 101, 102, 103]
    assert {url: written[url] for url in first} == first  # skip if it exists
    asked = [path for path in press.asked if "/posts" in path and "_fields" not in path]
    assert len(asked) == 3
    assert any("&after=" in path for path in asked)
    assert any("modified_after=" in path for path in asked)
    statistics = summaries(tmp_path)[1]["statistics"]
    assert statistics["articles_new"] == 4
    assert statistics["articles_skipped"] >= 1


@pytest.mark.parametrize("overlap", ["48h", "0s"])
def test_runs_within_one_second_ask_for_a_window_each_since_one_that_has_an_answer_is_not_asked_again(
    tmp_path, press, overlap
):
    (source,) = wordpress(tmp_path, press, overlap=overlap).of("news")
    at = datetime(2026, 11, 22, 12, 0, 0, 500_000, UTC)
    learned = {"range": "..", "upto.date": at.isoformat(), "upto.modified": at.isoformat()}
    asked = []
    for _ in range(3):
        for request in begin(source, learned)[:2]:
            asked.append(request.url)
            learned |= follow(source, learned, Answer(request, 200, {}, io.BytesIO(b"[]"), at)).learned
    assert len(set(asked)) == 6


def test_the_end_of_a_list_says_why_no_further_page_is_requested(tmp_path, press):
    (source,) = wordpress(tmp_path, press).of("news")
    now = datetime(2026, 11, 22, tzinfo=UTC)

    def end_of(numbers, mode="all", fields=(), **progress):
        request = PostList(mode, **progress).request("https://a.example/wp-json/wp/v2/posts")
        body = io.BytesIO(json.dumps([{"id": number} for number in numbers]).encode())
        return follow(source, {}, Answer(request, 200, dict(fields), body, now)).end

    assert end_of([]) == "an empty page"
    assert end_of([7], last="7") == "the page has the posts of the previous one"
    assert end_of([7], "id", start="9.2026") == "the later pages are older or known"
    assert end_of([7]) == ""
    more_pages = {"x-wp-totalpages": "3", "x-wp-total": "250"}.items()
    assert (
        end_of([], "date", more_pages, start="2026-01-01T00:00:00") == ""
    )  # an empty page is not older than the window


@pytest.mark.parametrize("old", [False, True])
def test_a_site_that_answers_every_page_with_the_first_is_read_by_time_to_its_last_post(tmp_path, press, old):
    """It was taken for read after its first page: also later runs did not request the other posts."""
    press.old, press.ignored = old, frozenset({"page"})
    workspace = wordpress(tmp_path, press)
    assert run(workspace).failed == 0
    assert len(articles(tmp_path)) == 23
    for number in range(24, 40):
        press.post(number, at=f"2027-01-01T{number - 20:02}:00:00")
    run(workspace)
    assert len(articles(tmp_path)) == 39


def test_a_list_with_more_pages_than_the_limit_is_continued_by_time(tmp_path, press):
    (source,) = wordpress(tmp_path, press).of("news")
    at = datetime(2026, 11, 22, tzinfo=UTC)

    def follow_last_page(mode):
        request = PostList(mode, page=100_000, last="6").request("https://a.example/wp-json/wp/v2/posts")
        posts = [{"id": 7, "date": "2026-03-01T10:00:00", "modified": "2026-04-01T10:00:00"}]
        return follow(source, {}, Answer(request, 200, {}, io.BytesIO(json.dumps(posts).encode()), at))

    assert "page=1&orderby=date&order=asc&after=2026-03-01T09:59:59&" in follow_last_page("all").requests[0].url
    assert "&before=2026-03-01T10:00:01&" in follow_last_page("date").requests[0].url
    assert "&modified_before=2026-04-01T10:00:01&" in follow_last_page("modified").requests[0].url
    refused = follow_last_page("id")
    assert (refused.skip, refused.requests) == (Reason.CRAWLER_TRAP, ())
    assert "more than 100,000 pages" in refused.findings[0].message


def test_a_site_whose_other_pages_cannot_be_requested_has_failed_until_a_run_reads_them(tmp_path, press):
    press.ignored = frozenset({"page", "after"})
    workspace = wordpress(tmp_path, press)
    assert run(workspace).failed == 1
    assert len(articles(tmp_path)) == 10
    press.ignored = frozenset()
    assert run(workspace).failed == 0
    assert len(articles(tmp_path)) == 23


def test_an_empty_page_in_the_middle_of_a_list_is_no_end_of_it(tmp_path, press, monkeypatch):
    answer, is_broken = press._list, [True]

    def answer_without_posts(asked):
        status, fields, body = answer(asked)
        return status, fields, b"[]" if is_broken[0] and asked.get("page") == "2" else body

    monkeypatch.setattr(press, "_list", answer_without_posts)
    workspace = wordpress(tmp_path, press)
    assert run(workspace).failed == 1
    is_broken[0] = False
    assert run(workspace).failed == 0
    assert len(articles(tmp_path)) == 23


@pytest.mark.parametrize(("status", "page", "reason"), [
    (203, 1, Reason.PROTOCOL_ERROR), (200, 2, Reason.CRAWLER_TRAP), (200, 3, None),
])  # fmt: skip
def test_a_page_that_lacks_the_posts_that_its_header_states_or_is_not_read_ends_no_list(
    tmp_path, press, status, page, reason
):
    (source,) = wordpress(tmp_path, press).of("news")
    fields = {"x-wp-totalpages": "2", "x-wp-total": "4"}
    answer = Answer(PostList("all", page=page).request(press.url), status, fields, io.BytesIO(b"[]"), datetime.now(UTC))
    followed = follow(source, {}, answer)
    assert (followed.skip, "top" in followed.learned) == (reason, status == 200)
    assert ("upto.date" in followed.learned) == (reason is None)


def test_a_list_that_loses_posts_at_every_reading_is_counted_with_the_cap(tmp_path, press):
    (source,) = wordpress(tmp_path, press).of("news")
    fields = {"x-wp-totalpages": "1", "x-wp-total": "1"}

    def left_out(total):
        request = PostList("all", round=3, total=total).request("https://a.example/wp-json/wp/v2/posts")
        answer = Answer(request, 200, fields, io.BytesIO(b'[{"id": 7}]'), datetime(2026, 11, 22, tzinfo=UTC))
        return [(count.reason, count.rule, count.addresses) for count in follow(source, {}, answer).left_out]

    assert left_out(5) == [("capped", "more than 3 readings of a list that gets shorter", 1)]
    assert left_out(1) == []


def test_a_wordpress_that_knows_neither_windows_of_change_nor_totals_is_read_to_its_true_end(tmp_path, press):
    press.old = True
    workspace = wordpress(tmp_path, press)
    for number in range(24, 31):
        press.post(number)  # three full pages; the fourth does not exist
    run(workspace)
    assert len(articles(tmp_path)) == 30
    press.asked.clear()
    run(workspace)
    assert len([path for path in press.asked if "/posts" in path and "_fields" not in path]) <= 4


def test_a_back_fill_that_is_cut_goes_on_in_its_middle_and_leaves_the_same_tree(tmp_path, press):
    run(wordpress(tmp_path / "whole", press))
    workspace = wordpress(tmp_path / "cut", press)
    press.asked.clear()
    run(workspace, limit=1)
    assert len(articles(tmp_path / "cut")) == 10
    run(workspace)
    assert len([path for path in press.asked if "/posts" in path]) == 3
    cut, whole = (
        {url: article | {"first_seen_timestamp_gmt": 0} for url, article in articles(tmp_path / name).items()}
        for name in ("cut", "whole")
    )
    assert cut == whole
    assert [summary["results"][0]["status"] for summary in summaries(tmp_path / "cut", "_collection_summary.json")] == [
        "pending", "success",
    ]  # fmt: skip


def test_a_range_of_days_is_read_and_nothing_else(tmp_path, press):
    for number, at in enumerate(
        ("2025-11-01T00:00:00", "2025-11-01T23:59:59", "2025-10-31T23:59:59", "2025-11-02T00:00:00")
    ):
        press.post(24 + number, at)  # the site excludes the times that `after` and `before` name
    workspace = wordpress(tmp_path, press, since="2025-11-01", until="2025-11-01")
    run(workspace)
    assert {article["metadata"]["wp_post_id"] for article in articles(tmp_path).values()} == {*range(1, 26)}
    press.asked.clear()
    run(workspace)
    assert press.asked == []


def test_a_range_that_was_read_before_is_read_again_after_another_one(tmp_path, press):
    """Its address had been requested, so a site with such a range was not read any more."""
    learned, addresses = {}, []
    for since in ("", "2025-11-02", "", "2025-11-02"):
        (source,) = wordpress(tmp_path, press, since=since).of("news")
        (request,) = begin(source, learned)
        addresses.append(request.url)
        answer = Answer(request, 200, {"x-wp-totalpages": "1"}, io.BytesIO(b"[]"), datetime(2026, 11, 22, tzinfo=UTC))
        learned |= follow(source, learned, answer).learned
    assert len(set(addresses)) == 4


def test_a_post_that_goes_while_pages_are_read_hides_no_other_one(tmp_path, press):
    def trash(path):
        if "page=2" in path and "round" not in path:
            press.posts.pop(1, None)

    press.before = trash
    run(wordpress(tmp_path, press))
    assert len(articles(tmp_path)) == 23  # the deleted one was read before


def test_a_second_run_without_changes_writes_nothing_and_tells_so(tmp_path, press):
    workspace = wordpress(tmp_path, press)
    run(workspace)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "normalized_news").glob("*/*")}
    run(workspace)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "normalized_news").glob("*/*")} == before
    assert summaries(tmp_path)[-1]["statistics"]["articles_new"] == 0


def test_a_tree_of_another_tool_is_kept_and_counted_as_skipped(tmp_path, press):
    url = f"{press.url}/2025/11/story-7/"
    path = tmp_path / "normalized_news" / "127.0.0.1" / standard.file_name(url)
    path.parent.mkdir(parents=True)
    path.write_text('{"url": "theirs"}')
    run(wordpress(tmp_path, press))
    assert path.read_text() == '{"url": "theirs"}'
    statistics = summaries(tmp_path)[0]["statistics"]
    assert (statistics["articles_new"], statistics["articles_skipped"]) == (22, 1)


def test_posts_that_were_trashed_or_made_private_are_told_as_gone_and_keep_their_files(tmp_path, press):
    workspace = wordpress(tmp_path, press, full_listing_every="0s")
    run(workspace)
    first = articles(tmp_path)
    press.posts.pop(23)
    press.posts.pop(1)
    press.posts[12]["status"] = "private"
    pass_time(1.1)
    run(workspace)
    assert articles(tmp_path) == first
    assert summaries(tmp_path)[-1]["details"]["gone"] == 3
    hits = ADAPTER.search(workspace, "story", offset=0, limit=50, explain=False).results
    assert len(hits) == 20
    press.posts[12]["status"] = "publish"
    press.asked.clear()
    pass_time(1.1)
    run(workspace)
    assert len([path for path in press.asked if "include=" in path]) == 1  # only the restored post is requested
    assert "gone" not in summaries(tmp_path)[-1]["details"]
    assert len(ADAPTER.search(workspace, "story", offset=0, limit=50, explain=False).results) == 21


def test_posts_that_a_cut_response_lacks_are_requested_again_and_not_gone(tmp_path, press):
    workspace = wordpress(tmp_path, press, full_listing_every="0s")
    for number in (3, 4, 5):
        press.posts[number]["status"] = "draft"
    run(workspace)
    for number in (3, 4, 5):
        press.posts[number]["status"] = "publish"
    press.posts.pop(1)
    press.most_included = 2
    press.asked.clear()
    pass_time(1.1)
    run(workspace)
    assert len([path for path in press.asked if "include=" in path]) == 2
    assert summaries(tmp_path)[-1]["details"]["gone"] == 1
    assert {f"{press.url}/2025/11/story-{number}/" for number in (3, 4, 5)} <= {*articles(tmp_path)}
    press.asked.clear()
    pass_time(1.1)
    run(workspace)
    assert not [path for path in press.asked if "include=" in path]


def test_a_post_that_every_window_missed_is_found_by_its_number(tmp_path, press):
    workspace = wordpress(tmp_path, press, full_listing_every="0s")
    press.posts[12]["status"] = "draft"
    run(workspace)
    assert len(articles(tmp_path)) == 22
    press.posts[12]["status"] = "publish"  # an old number, and old dates
    pass_time(1.1)
    run(workspace)
    assert len(articles(tmp_path)) == 23


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [(401, b'{"code": "rest_forbidden"}', "permission_denied"), (200, b"[]", ""), (200, b'{"id": 1}', "protocol_error"),
     (200, b'[{"id": 3}, {"id": 2}]', "protocol_error"), (200, b"<html>Robot?", "bot_wall")],
)  # fmt: skip
def test_a_list_of_numbers_that_cannot_be_used_is_counted(status, body, reason):
    request = Request("http://a.example/wp-json/wp/v2/posts", NUMBERS, context='["http://a.example/api", 1, 0]')
    result = follow_numbers(
        Source("press", "news", Site("")),
        {},
        Answer(request, status, {}, io.BytesIO(body), datetime(2026, 1, 1, tzinfo=UTC)),
    )
    assert [count.reason for count in result.left_out] == [reason] * bool(reason)


def test_posts_with_one_number_of_two_sites_on_one_host_are_two_articles(tmp_path, press):
    posts = {f"{press.url}/{name}": Press._list(press, {"page": "1"})[2] for name in ("a", "b")}
    for site, body in posts.items():
        name = site.rpartition("/")[2]
        renamed = body.replace(b"/2025/", f"/{name}/2025/".encode())
        query = PostList("all").query()
        press.put(f"/{name}/wp-json/wp/v2/posts?{query}", renamed, "application/json")
        press.put(f"/{name}/wp-json/wp/v2/posts?{query.replace('page=1', 'page=2')}", b"[]", "application/json")
    run(configured(tmp_path, {url[-1]: {"url": f"{url}/", "kind": "wordpress"} for url in posts}))
    assert len(articles(tmp_path)) == 20


def test_posts_with_one_address_are_articles_of_their_own_in_every_run(tmp_path, press):
    """Posts of a site without a page for each were one article: the text of one had the file of another."""
    for number in range(1, 4):
        press.posts[number]["link"] = f"{press.url}/{'#/post' * (number == 3)}"
    workspace = wordpress(tmp_path, press, full_listing_every="0s")
    run(workspace)
    first = articles(tmp_path)
    assert len(first) == 23
    texts = {article["metadata"]["wp_post_id"]: article["article_text"] for article in first.values()}
    assert texts == {number: f"Body of **story** {number}." for number in range(1, 24)}
    press.edit(2, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()), title={"rendered": "Edited"})
    pass_time(1.1)
    run(workspace)
    assert articles(tmp_path) == first
    assert "gone" not in summaries(tmp_path)[-1]["details"]
    with closing(RecordStore(tmp_path / "news.db", read_only=True)) as store:
        titles = {version.key: version.value["title"] for version in store.versions()}
    edited = f"{press.url}/#wordpress:{press.url.partition('://')[2]}/2"
    assert [url for url, title in titles.items() if title == "Edited"] == [edited]
