"""A site that changes between crawls: why, diff and searches of the past are correct."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clock import pass_time, present
from windrow.app import Windrow
from windrow.app.begin import prepare


def page(title: str, text: str, *links: str) -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>{title}</title><main><h1>{title}</h1>{text}</main><nav>{anchors}</nav>"


def lay(village, turn: int) -> None:
    """Lay the site out as it is at the first, second and third crawl."""
    mayors = ("Smith", "Jones", "Jones")
    linked = ("mayor.html", "flip.html", "lost.html", "old.html", "back.html", "shut/x.html", "list?sort=1")
    village.put(0, "index.html", page("Home", "<p>Welcome.</p>", *linked, "twin.html", "other.html"))
    village.put(0, "mayor.html", page("Mayor", f"<p>The mayor is {mayors[turn]}.</p><p>It rains.</p>"))
    village.put(0, "flip.html", page("Flip", f"<p>Side {'AB'[turn % 2]} is up, as everybody can see.</p>"))
    village.put(0, "new.html", page("New place", "<p>This page has moved here.</p>"))
    for name in ("twin.html", "other.html"):
        village.put(0, name, page("Twin", "<p>Two pages with the very same words.</p>"))
    for name, here in (("lost.html", turn == 0), ("back.html", turn != 1)):
        if here:
            village.put(0, name, page(name, f"<p>Here is {name} with its own words.</p>"))
        else:
            (village.roots[0] / name).unlink(missing_ok=True)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory, village, real_clock_after_module) -> tuple[Path, list[str]]:
    """Crawl the site three times; return the workspace, and a moment after each crawl as queries have it."""
    village.clear()
    village.put(0, "robots.txt", "User-agent: *\nDisallow: /shut/\n")
    root = tmp_path_factory.mktemp("past")
    prepare(root)
    (root / "windrow.toml").write_text(
        '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\ndelay = "1 ms"\n'
        f'do_not_crawl = ["/private/"]\n[source.town]\ncollection = "pages"\nurl = "{village.origin(0)}/"\n'
    )
    moments = []
    for turn in range(3):
        lay(village, turn)
        summary = Windrow(root).run(["town"], again=turn > 0)
        assert (summary.exit_code, summary.errors) == (0, ())
        moments.append(present().strftime("%Y-%m-%dT%H:%M:%S"))
        pass_time(2)  # versions are told apart by seconds
        village.age()
    return root, moments


@pytest.fixture
def here(past, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(past[0])
    return past[1]


@pytest.fixture
def why(here, village, windrow):
    def tell(path: str):
        output = windrow("why", village.origin(0) + path, "--json")
        assert output.code == 0
        return output.of("page")[0], output.of("version"), output.of("page_attempt")

    return tell


def test_an_edited_page_has_two_versions_and_the_difference(why, windrow, village, here) -> None:
    page, versions, attempts = why("/mayor.html")
    assert (page["state"], page["source"], page["rule"]) == ("open", "town", "")
    assert page["via"] == [f"{village.origin(0)}/"]
    assert [version["changed"] for version in versions] == ["", "text: 1 line added, 1 line removed"]
    assert versions[0]["end"] == versions[1]["first_seen"]
    assert (versions[0]["crawls"], versions[1]["crawls"]) == (1, 2)
    assert [attempt["status"] for attempt in attempts] == [200, 200, 200]
    assert all(version["indexed"] and version["words"] == 6 for version in versions)
    output = windrow("diff", f"{village.origin(0)}/mayor.html").out.splitlines()
    assert output[2:5] == [" Mayor", "-The mayor is Smith.", "+The mayor is Jones."]
    same = windrow("diff", f"{village.origin(0)}/mayor.html", "--old", here[1], "--new", here[2], "--json").of("diff")
    assert (same[0]["summary"], same[0]["lines"]) == ("no difference", [])


def test_changes_show_changed_lines_if_asked(windrow, village, here) -> None:
    url = f"{village.origin(0)}/mayor.html"
    output = windrow("changes", "--since", "1h", "--kind", "changed", "--lines").out
    assert (
        f"{url}  Mayor\n    text: 1 line added, 1 line removed\n    -The mayor is Smith.\n    +The mayor is Jones.\n"
        in output
    )
    changes = windrow("changes", "--since", "1h", "--lines", "--json").of("source_change")
    lines = next(change["lines"] for change in changes if (change["key"], change["kind"]) == (url, "changed"))
    assert [(line["sign"], line["text"]) for line in lines if line["sign"] != "@"] == [
        ("-", "The mayor is Smith."),
        ("+", "The mayor is Jones."),
    ]
    assert "Smith" not in windrow("changes", "--since", "1h").out


def test_a_b_a_is_three_versions(why) -> None:
    page, versions, _ = why("/flip.html")
    assert page["state"] == "open"
    assert len(versions) == 3
    assert [version["end"] for version in versions] == [versions[1]["first_seen"], versions[2]["first_seen"], None]


def test_a_page_that_goes_ends_and_one_that_comes_back_goes_on(why) -> None:
    lost, versions, attempts = why("/lost.html")
    assert (lost["state"], [attempt["status"] for attempt in attempts]) == ("gone", [200, 404, 404])
    assert versions[0]["end"] == attempts[2]["at"][:19] + "Z"
    back, versions, attempts = why("/back.html")
    assert (back["state"], [attempt["status"] for attempt in attempts]) == ("open", [200, 404, 200])
    assert [(version["end"], version["crawls"]) for version in versions] == [(None, 2)]


def test_a_moved_page_leads_to_the_other(why, village) -> None:
    _, versions, attempts = why("/old.html")
    target = f"{village.origin(0)}/new.html"
    assert [version["redirect"] for version in versions] == [target]
    assert {attempt["location"] for attempt in attempts} == {target}
    assert why("/new.html")[0]["via"] == [f"{village.origin(0)}/old.html", f"{village.origin(0)}/"]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/shut/x.html", "robots.txt, line 2: Disallow: /shut/"),
        ("/list?sort=1", "query parameters that no rule allows: sort"),
        ("/private/z", "do_not_crawl: /private/"),
    ],
)
def test_what_is_not_asked_for_names_the_rule(why, windrow, village, path: str, rule: str) -> None:
    page, versions, attempts = why(path)
    assert (page["state"], page["rule"], versions, attempts) == ("refused", rule, [], [])
    assert f"  not requested: {rule}\n" in windrow("why", village.origin(0) + path).out


def test_what_nothing_named_is_told_apart_from_what_is_foreign(why, windrow, village) -> None:
    assert why("/never")[0]["state"] == "unknown"
    told = windrow("why", f"{village.origin(0)}/never").out
    assert "no page or list of its source links to it (those of other sources do not count)" in told
    output = windrow("why", "https://elsewhere.example/a")
    assert output.code == 1
    assert "is not known" in output.err


def test_equal_pages_are_told(why, village) -> None:
    second, twin = f"{village.origin(0)}/other.html", f"{village.origin(0)}/twin.html"
    assert why("/twin.html")[0]["alike"] == [second]
    assert why("/twin.html")[1][-1]["duplicate_of"] == second
    assert why("/other.html")[0]["alike"] == [twin]
    assert why("/other.html")[1][-1]["duplicate_of"] == ""


@pytest.mark.parametrize(
    ("turn", "name", "gone"), [(0, "Smith", "Jones"), (1, "Jones", "Smith"), (2, "Jones", "Smith")]
)
def test_a_search_of_a_day_finds_what_was_said_then(here, windrow, turn: int, name: str, gone: str) -> None:
    out = windrow("search", f"mayor as-of:{here[turn]}").out
    assert f"The mayor is {name}." in out
    assert f"The mayor is {gone}." not in out


def test_a_page_that_is_gone_is_found_in_its_time_only(here, windrow) -> None:
    words = '"here is lost.html"'
    assert windrow("search", words).out == ""
    assert windrow("search", f"{words} as-of:{here[2]}").out == ""
    assert "/lost.html" in windrow("search", f"{words} as-of:{here[0]}").out
    doubtful = windrow("search", f"{words} as-of:{here[1]}").out  # after the first 404, a page is not gone yet
    assert "/lost.html" in doubtful
    assert "uncertain: " in doubtful
    assert "/back.html" in windrow("search", f'"here is back.html" as-of:{here[1]}').out


def test_the_difference_of_a_page_that_went_says_since_when_it_is_gone(here, windrow, village) -> None:
    url = f"{village.origin(0)}/lost.html"
    latest = windrow("diff", url)
    assert latest.code == 0
    assert "+++" in latest.out
    assert "gone since 20" in latest.out
    assert "-Here is lost.html with its own words." in latest.out
    within = windrow("diff", url, "--old", here[0], "--new", here[2], "--json").of("diff")[0]
    assert (within["old"], within["old_gone"]) == (within["new"], None)
    assert within["new_gone"]
    assert within["summary"].startswith("gone since 20")
    assert windrow("diff", url, "--old", here[0], "--new", here[0]).err.strip() == "no difference"


def test_a_site_is_told_by_its_name_and_its_host(here, windrow, village) -> None:
    by_name, by_host = windrow("why", "town", "--json"), windrow("why", "127.0.0.1", "--json")
    (site,), (origin,) = by_name.of("site"), by_name.of("origin")
    assert site["seeds"] == [f"{village.origin(0)}/"]
    assert (origin["addresses"], origin["pages"], origin["failing"]) == (9, 8, 1)
    assert origin["robots"] == "1 of 1 rule for * forbids addresses"
    assert {row["outcome"]: row["attempts"] for row in origin["outcomes"]} == {"200": 24, "301": 3, "404": 3}
    assert by_host.of("origin") == [origin]
    assert by_name.of("story")[0]["kind"] == "source"
    text = windrow("why", "town").out
    assert "9 addresses: 8 returned a body to windrow, 1 failed at the last request" in text
    assert "crawl: done" in text


def test_each_failure_has_a_reason_in_its_session(here, windrow) -> None:
    for entry in Windrow(".").sessions():
        details = Windrow(".").session(entry.session)
        failed = sum(source.failed for source in details.summary.sources)
        assert sum(count.items for count in details.summary.reasons) == failed
        assert {count.reason for count in details.summary.reasons} == {*details.examples}


def test_dates_and_addresses_that_make_no_sense_are_told(here, windrow, village) -> None:
    url = f"{village.origin(0)}/mayor.html"
    assert windrow("diff", url, "--old", "yesterday").code == 2
    assert windrow("diff", "mayor").code == 2
    assert windrow("diff", url, "--old", "1999").code == 1
    assert windrow("diff", f"{village.origin(0)}/never").code == 1
    assert "only one version so far" in windrow("diff", f"{village.origin(0)}/new.html").err
    later = f"{int(here[2][:4]) + 1}"
    assert f"has not changed since {later}" in windrow("diff", url, "--old", later).err
    assert windrow("check").code == 0


def test_a_new_title_alone_is_a_version_in_why_diff_export_and_search(why, here, windrow, village) -> None:
    text = (village.roots[0] / "new.html").read_text()
    pass_time(10)  # after all that was crawled before
    village.put(0, "new.html", text.replace("<title>New place", "<title>Newer place"))
    assert windrow("run", "town", "--again").code == 0
    url = f"{village.origin(0)}/new.html"
    _, versions, _ = why("/new.html")
    assert [version["title"] for version in versions] == ["New place", "Newer place"]
    assert versions[0]["end"] == versions[1]["first_seen"]
    assert versions[0]["generation"] == versions[1]["generation"], "the text is the same"
    assert versions[1]["changed"] == "title 'New place' -> 'Newer place'"
    assert "-title: New place\n+title: Newer place" in windrow("diff", url).out
    assert "/new.html" in windrow("search", f"title:newer as-of:{versions[1]['first_seen']}").out
    assert "/new.html" not in windrow("search", f"title:newer as-of:{here[2]}").out, "it was called so later only"
    assert "New place" in windrow("search", f"title:new as-of:{here[2]}").out
    lines = [json.loads(line) for line in windrow("export", "pages", "--as", "jsonl").out.splitlines()]
    assert [line["title"] for line in lines if line["url"] == url] == ["New place", "Newer place"]


def test_changes_of_text_title_and_presence_are_listed_once_and_bytes_alone_are_not(here, windrow, village) -> None:
    origin = village.origin(0)
    text = (village.roots[0] / "new.html").read_text()
    pass_time(20)  # after all that was crawled before
    village.put(0, "new.html", text.replace("<title>New", "<title>Brand new"))
    old = text.partition("<title>")[2].partition("<")[0]
    village.put(0, "mayor.html", page("Mayor", "<p>The mayor is Jones.</p><p>It rains.</p><!-- token -->"))
    run = windrow("run", "town", "--again", "--json")
    assert run.code == 0
    (summary,) = run.of("summary")
    changes = windrow("changes", "--json").of("source_change")
    assert summary["changes"] == [{name: change[name] for name in change if name != "type"} for change in changes]
    assert [(change["kind"], change["key"], change["difference"]) for change in changes] == [
        ("changed", f"{origin}/new.html", f"title {old!r} -> {old.replace('New', 'Brand new')!r}")
    ]
    (town,) = (source for source in summary["sources"] if source["source"] == "town")
    assert (town["new"], town["changed"], town["gone"], town["same_text"]) == (0, 1, 0, 1)
    state = next(source for source in windrow("status", "--json").messages[0]["sources"] if source["source"] == "town")
    assert state["same"] == town["same"] + 1, "bytes alone are no change"
    gone = windrow("changes", "--since", "2020-01-01", "--kind", "gone").out
    assert gone.count("/lost.html") == 1
    assert "/back.html" not in gone, "one 404 is not the end of a page"
    assert windrow("changes", "--source", "nobody").code == 2
    assert "<feed" in windrow("changes", "--as", "atom").out


def test_nearly_equal_pages_are_told(why, here, windrow, village) -> None:
    """Of two long texts that differ in a word, each names the other."""
    words = " ".join(f"word{number} of the long story" for number in range(150))
    for name, more in (("long.html", "one"), ("longer.html", "two")):
        village.put(0, name, page(name, f"<p>{words}</p><p>And {more} at its end.</p>"))
    village.put(0, "index.html", page("Home", "<p>Welcome.</p>", "long.html", "longer.html"))
    assert windrow("run", "town", "--again").code == 0
    near = [why(f"/{name}.html")[0]["near"] for name in ("long", "longer")]
    assert [match[0]["url"].rpartition("/")[2] for match in near] == ["longer.html", "long.html"]
    assert 0.8 < near[0][0]["similarity"] <= 1
    assert "nearly the same text" in windrow("why", f"{village.origin(0)}/long.html").out
