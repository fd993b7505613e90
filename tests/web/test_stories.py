"""What the page of a story says: what is failed at a source, in which order things happened, and in which words."""

from __future__ import annotations

import shutil
from urllib.parse import quote
from zipfile import ZipFile

from lxml import html

import windrow
from tests.web.farm import SITE, get, warc_record
from tests.web.homes import make_gazette
from windrow.adapters.adapter import Explanation, Message
from windrow.caps import WHY_ENTRIES
from windrow.web import app, markup, pages

FERRY = quote(f"{SITE}/ferry.html", safe="")


def test_a_source_says_first_what_is_failed_there_now(view) -> None:
    """A card of Today led to green dots and to no name."""
    page = html.fromstring(get(view, "/why?name=harwell").text)
    assert page.xpath("//h2/text()")[:2] == ["Failed now", "What happened"]
    items = page.xpath("//h2[. = 'Failed now']/following-sibling::ul[@class = 'cards']/li")
    assert [" ".join(item.text_content().split()) for item in items] == [
        "bad_dateadd/H.2026-02-31.1.impc.zip zip_name: failed", "not_a_zipadd/H.2026-01-13.9.impc.zip unzip: failed",
    ]  # fmt: skip
    assert {get(view, link).status for item in items for link in item.xpath("p/a/@href")} == {200}
    assert page.xpath("//dd/span[@class = 'status failed']"), "it is not done"
    assert "windrow retry --source harwell" in page.text_content()


def test_what_was_cancelled_is_not_failed_and_what_is_not_listed_is_counted(tmp_path, farm) -> None:
    workspace = windrow.open(shutil.copytree(farm.config.root, tmp_path / "farm"))
    story = workspace.why("harwell", limit=1).story
    assert (len(story.members), story.more, story.status) == (1, 1, "failed")
    workspace.retry(source="harwell")
    workspace.cancel(source="harwell")
    story = workspace.why("harwell").story
    assert (story.members, story.more, story.status) == ((), 0, "done")


def test_what_happened_within_a_minute_is_in_order() -> None:
    """Attempts and versions of one minute were sorted by their kinds."""
    times = {
        "version": "2026-01-02T03:04:05.2Z",
        "attempt": "2026-01-02T03:04:05.1Z",
        "changed": "2026-01-02T03:04:59Z",
    }
    messages = tuple(Message(kind, {"at": time, "every": 7 * 86_400, "gone": None}) for kind, time in times.items())
    described = markup.describe(Explanation("a", messages, ()))
    assert [(entry.type, entry.at) for entry in described] == [
        (kind, "2026-01-02 03:04") for kind in ("attempt", "version", "changed")
    ]
    assert described[2].fields == (("at", "2026-01-02 03:04:59"), ("every", "7 d"))


def test_stories_use_the_words_of_the_command_line_and_say_what_changed(view, tmp_path) -> None:
    """Seconds, empty fields and the names of messages were shown, and of a record only that it changed."""
    page = html.fromstring(get(view, f"/why?name={FERRY}").text)
    words = page.xpath("string(//p[@class = 'words'])")
    assert words.startswith(f"{SITE}/ferry.html (page of town)\n  state: open; present at the last request")
    assert "attempt" not in words
    assert all(page.xpath("//ol[@class = 'story']/li/span[@class = 'meta']/text()"))
    gazette = make_gazette(tmp_path / "gazette")
    page = html.fromstring(get(app(gazette), "/why?name=article%202").text)
    assert page.xpath("//summary/text()") == [
        "fields of the record", "new: 2 ferries", 'changed: headline 2 ferries -> Two ferries; tags ["harbour"] -> nothing',
    ]  # fmt: skip


def test_a_card_says_why_the_numbers_of_its_reasons_are_more_than_what_failed(farm) -> None:
    source = next(each for each in farm.status().sources if each.source == "harwell")
    assert "several reasons" not in pages._describe_source(source)
    reasons = (*source.reasons, source.reasons[0])
    assert pages._describe_source(source._replace(reasons=reasons)).endswith("; some failed for several reasons")


def test_each_reason_has_its_share_of_what_failed_and_a_document_is_named_with_its_zip(tmp_path) -> None:
    (tmp_path / "add").mkdir()
    for day in range(1, 5):
        with ZipFile(tmp_path / "add" / f"H.2026-01-0{day}.1.impc.zip", "w") as archive:
            archive.writestr("x.xml", "<x/>")
    workspace = windrow.init(tmp_path / "farm")
    workspace.new_source("harwell", f"file://{tmp_path}", collection="drops", centre="H")
    workspace.run()
    story = workspace.why("harwell", limit=4).story
    assert [(member.reason, member.kind) for member in story.members] == [
        ("empty_archive", "zip"), ("empty_archive", "zip"), ("bad_name", "xml"), ("bad_name", "xml"),
    ]  # fmt: skip
    assert story.more == 4
    page = html.fromstring(get(app(workspace), "/why?name=harwell").text)
    cards = page.xpath("//h2[. = 'Failed now']/following-sibling::ul[@class = 'cards']/li")
    assert [card.xpath("string(strong)") for card in cards] == ["bad_name", "empty_archive"]
    assert "H.2026-01-01.1.impc.zip/x.xml" in cards[0].text_content()


def test_a_site_of_many_origins_shows_the_first_and_says_what_was_never_requested(tmp_path) -> None:
    workspace = windrow.init(tmp_path / "farm")
    workspace.new_source("many", "http://s0.example/", collection="pages")
    count = WHY_ENTRIES.number + 2
    urls = [f"http://s{number}.example/" for number in range(count)]
    records = (warc_record(url, f"<title>{url}</title><p>A page of {url}</p>".encode(), "21") for url in urls)
    (tmp_path / "many.warc").write_bytes(b"".join(records))
    workspace.run(str(tmp_path / "many.warc"), source="many")
    page = html.fromstring(get(app(windrow.open(tmp_path / "farm")), "/why?name=many").text)
    words = page.xpath("string(//p[@class = 'words'])")
    assert words.count("(of the source many)") == WHY_ENTRIES.number
    assert words.endswith("and 2 more origins: windrow why ORIGIN for one, --json for all")
    assert "allows everything" not in words
    assert words.count("robots.txt: not requested yet") == WHY_ENTRIES.number
    assert len(page.xpath("//summary[starts-with(., 'fields of')]")) == WHY_ENTRIES.number
