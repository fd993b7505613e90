"""Messages and help for somebody who uses windrow for the first time."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime

import pytest
from click.shell_completion import ShellComplete
from tools.reference import codes

from tests.cli.conftest import OPERATOR, lay_out_workspace
from tests.waiting import PATIENCE, until
from windrow.cli.root import root as command_line
from windrow.collections.pages.discover import why_no_page
from windrow.collections.pages.policy import make_policy
from windrow.collections.pages.scope import make_scope
from windrow.contract.registry import names
from windrow.digest import digest
from windrow.formats.url import parts
from windrow.model import ArchivePlace, Attempt, KeptResponse, Site, Source
from windrow.reasons import Reason


def completed(*words: str) -> set[str]:
    """Return a shell's completions after some words, the last of which is incomplete."""
    *before, begun = words
    completer = ShellComplete(command_line, {}, "windrow", "_WINDROW_COMPLETE")
    return {completion.value for completion in completer.get_completions(before, begun)}


def test_again_in_a_dry_run_counts_all_that_a_listed_source_would_be_asked_for(harvested, windrow) -> None:
    assert [source["waiting"] for source in windrow("run", "--dry-run", "--json").of("would_ask")] == [0]
    output = windrow("run", "--again", "--dry-run", "--json")
    assert [source["waiting"] for source in output.of("would_ask")] == [3]
    assert len(output.of("would_fetch")) == 3
    fetched = windrow("run", "--again", "--json").of("summary")[0]["sources"][0]["fetched"]
    assert fetched == 3
    assert windrow("run", "--again", "--from", "xsd", "--dry-run").code == 2


def test_again_in_a_dry_run_counts_all_pages_of_a_crawl(crawled, small, windrow) -> None:
    assert [source["waiting"] for source in windrow("run", "one", "--dry-run", "--json").of("would_ask")] == [0]
    output = windrow("run", "one", "--again", "--dry-run", "--json")
    assert [source["waiting"] for source in output.of("would_ask")] == [9]
    assert len(output.of("would_fetch")) == 9


def test_all_sources_failed_is_3_as_the_table_of_exit_codes_says(workspace, partner, windrow) -> None:
    (workspace / "sources" / "harwell.toml").write_text(
        f'url = "file://{partner}/nowhere"\ncollection = "drops"\ncentre = "H"\n'
    )
    output = windrow("run")
    assert output.code == 3
    assert "1 of 1 source failed" in output.err
    assert "1 of 1 source failed" in windrow("status").err
    (row,) = [line for line in codes().splitlines() if line.startswith("| 3 ")]
    assert "some or all sources" in row


def test_all_well_is_not_said_where_something_was_refused_or_failed(workspace, partner, windrow) -> None:
    output = windrow("run")
    first = output.err.splitlines()[0]
    assert "all well" not in first
    assert first.endswith("done, 2 refused, 1 failed")
    for path in [*partner.rglob("*9*.zip"), *partner.rglob("*02-31*.zip"), *partner.rglob("XX*")]:
        path.unlink()
    assert windrow("run").err.splitlines()[0].endswith(": all well")


@pytest.mark.parametrize(
    "line", ['contact = "me"\n[pages]\noperator = "t"\n', '[pages]\noperator = "t"\ncontact = "me"\n']
)
def test_a_contact_that_reaches_nobody_is_called_wrong_and_not_missing(root, small, windrow, line) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace(OPERATOR, line))
    output = windrow("run")
    assert output.code == 4
    assert "contact: expected the address of a web page or a mailbox" in output.err
    assert "missing" not in output.err


def test_status_after_a_kill_does_not_say_running_now(root, small, windrow, start) -> None:
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace('"1 ms"', '"2 s"'))
    run = start("run", "one", cwd=root)
    until(lambda: "running now" in windrow("status").err)
    os.kill(run.pid, signal.SIGKILL)
    run.read_rest(PATIENCE)
    output = windrow("status").err
    assert "running now" not in output
    assert "session 1 was interrupted" in output


def test_sessions_are_numbered_from_1_wherever_they_are_shown(workspace, windrow) -> None:
    runs = [windrow("run") for _ in range(3)]
    assert [run.err.split()[1] for run in runs] == ["1", "2", "3"]
    assert "; session 3 ended" in windrow("status").err
    assert windrow("status", "--json").messages[0]["last"]["session"] == 3
    assert windrow("why", "2").out.startswith("session 2 ")
    story = windrow("why", "H.2026-01-13.9.impc.zip", "--json")
    assert {event["session"] for event in story.of("event")} == {1}
    assert {event["session"] for event in windrow("why", "harwell", "--json").of("event")} == {1, 2, 3}


def test_h_is_help(windrow) -> None:
    assert windrow("-h").out == windrow("--help").out
    assert windrow("run", "-h").out == windrow("run", "--help").out


def test_no_line_of_the_help_is_cut(windrow) -> None:
    for words in ((), ("new",), ("config",)):
        text = windrow(*words, "--help").out.partition("Examples:")[0].partition("\n")[2]
        assert [line for line in text.splitlines() if line.endswith("...") and "Usage" not in line] == []


def test_the_help_lists_the_kinds_of_collections(windrow) -> None:
    for words in (("new", "source"), ("try",)):
        assert f": {', '.join(names())}." in " ".join(windrow(*words, "--help").out.split())


def test_a_shell_completes_sources_and_reasons(workspace, windrow) -> None:
    assert "harwell" in completed("run", "--source", "")
    assert completed("retry", "--source", "har") == completed("cancel", "--source", "h") == {"harwell"}
    assert completed("changes", "--source", "") == {"harwell"}
    assert completed("retry", "--reason", "not_well") == {Reason.NOT_WELL_FORMED}
    assert completed("try", "--collection", "") == set(names())


def test_a_seed_that_leads_to_another_host_is_told_with_the_line_that_mends_it(root, small, windrow) -> None:
    text = (root / "windrow.toml").read_text().replace(f"{small.origin(0)}/", f"{small.origin(0)}/away")
    (root / "windrow.toml").write_text(text)
    output = windrow("run", "one")
    assert output.code == 3
    mend = f"the seed {small.origin(0)}/away redirects to {small.origin(1)}, which is not a host of this source"
    assert mend in output.err
    assert mend in windrow("status").out
    again = windrow("run", "one")
    assert (again.code, mend in again.err, mend in windrow("status").out) == (3, True, True)


def test_the_only_seed_that_is_not_there_is_told_and_gives_3(root, small, windrow) -> None:
    text = (root / "windrow.toml").read_text().replace(f"{small.origin(0)}/", f"{small.origin(0)}/nowhere")
    (root / "windrow.toml").write_text(text)
    output = windrow("run", "one")
    assert output.code == 3
    assert "/nowhere returned no page: the server answers 404" in output.err
    assert "1 of 1 source failed" in output.err
    assert "/nowhere returned no page" in windrow("status").out


def test_the_only_seed_without_a_readable_answer_is_told_and_one_that_rules_keep_out_is_not() -> None:
    options = {"seeds": ("https://example.org/",), "hosts": (), "paths": (), "do_not_crawl": (),
               "url_query_parameters": ()}  # fmt: skip
    source = Source("blog", "pages", Site("https", "example.org"), options=options)
    attempt = Attempt(1, "https://example.org/", 0, True, datetime.now(UTC), 0.1)
    for reason in (Reason.TIMEOUT, Reason.PROTOCOL_ERROR, Reason.CONNECT_FAILED, Reason.INTERRUPTED, Reason.TLS_FAILED):
        message = why_no_page(source, attempt._replace(reason=reason))
        assert message == f"the seed https://example.org/ returned no page: {reason.meaning}"
    for reason in (Reason.ROBOTS_DENIED, Reason.POLICY_DENIED, Reason.STOPPED, Reason.SITE_GIVEN_UP):
        assert why_no_page(source, attempt._replace(reason=reason)) == ""
    assert why_no_page(source, attempt._replace(target=0, reason=Reason.TIMEOUT)) == "", "it is asked once more at once"
    message = why_no_page(source, attempt._replace(status=300, location="mailto:us@example.org"))
    assert (
        "answers 300 with the location 'mailto:us@example.org', which is not a redirect to another web address"
        in message
    )


def test_a_seed_of_another_host_is_mended_by_naming_it() -> None:
    options = {"seeds": ("https://example.org/",), "hosts": (), "paths": (), "do_not_crawl": (),
               "url_query_parameters": ()}  # fmt: skip
    source = Source("blog", "pages", Site("https", "example.org"), options=options)
    moved = Attempt(1, "https://example.org/", 0, True, datetime.now(UTC), 0.1, 301, location="https://example.net/")
    assert why_no_page(source, moved).endswith(
        'if it belongs to the same site, add to the source: hosts = ["example.net"]'
    )
    for inside in ("https://www.example.org/", "http://example.org/", "/start"):
        assert why_no_page(source, moved._replace(location=inside)) == ""
    page = moved._replace(status=200, location="")
    assert why_no_page(source, page) == ""
    assert "the server answers 202" in why_no_page(source, page._replace(status=202)), "as firewalls do"
    empty = KeptResponse(digest(b""), 0, ArchivePlace("a.warc.gz", 0, 9))
    for status in (200, 304):
        assert why_no_page(source, page._replace(status=status, kept=empty)).endswith("the response is empty")


def test_www_and_apex_of_a_name_are_one_site_unless_said() -> None:
    for seed in ("https://example.org/", "https://www.example.org/"):
        scope_ = make_scope([seed])
        assert scope_.contains(parts("https://example.org/a"))
        assert scope_.contains(parts("http://www.example.org/a"))
        assert not scope_.contains(parts("https://other.example.org/a"))
    apart = make_policy(make_scope(["https://example.org/"]), do_not_crawl=["www.example.org"])
    assert apart.judge_without_robots("https://www.example.org/", 2026).reason is Reason.POLICY_DENIED


def test_addresses_that_rules_leave_out_are_counted_by_source_and_rule(root, small, windrow) -> None:
    output = windrow("run", "one", "--json")
    rules = {
        rule["rule"]: (rule["source"], rule["reason"], rule["addresses"])
        for rule in output.of("summary")[0]["left_out"]
    }
    assert rules["robots.txt, line 2: Disallow: /shut/"] == ("one", "robots_denied", 1)
    assert rules["query parameters that no rule allows: sort"] == ("one", "query_denied", 1)
    assert rules["files whose names end in .png are not read"] == ("one", "unsupported", 1)
    assert rules["the page asks not to be indexed"] == ("one", "noindex", 1)
    assert rules["a page or a link asks not to be followed (nofollow)"][1] == "nofollow"
    assert len(rules) == 5
    shown = windrow("why", "1").out
    assert f"{small.origin(0)}/shut/x.html" in shown
    windrow("run", "one")
    standing = windrow("status")
    assert "files whose names end in .png are not read" in standing.out
    assert len(windrow("status", "--json").messages[0]["left_out"]) == 5


def test_a_search_before_anything_was_harvested_names_no_single_collection(tmp_path, windrow) -> None:
    windrow("init", str(tmp_path / "farm"))
    output = windrow("search", "tea", "--workspace", str(tmp_path / "farm"))
    assert output.code == 1
    assert "nothing has been harvested yet" in output.err
    assert [name for name in names() if name in output.err] == []


def test_an_address_without_its_scheme_is_refused_with_one_that_has_it(tmp_path, windrow) -> None:
    windrow("init", str(tmp_path / "farm"))
    output = windrow(
        "new", "source", "blog", "blog.example.org", "--collection", "pages", "--workspace", str(tmp_path / "farm")
    )
    assert output.code == 2
    assert "'blog.example.org' is not a web address, such as https://" in output.err


def test_a_source_that_may_read_captures_names_all_settings_of_which_one_is_missing(tmp_path, windrow) -> None:
    farm = tmp_path / "farm"
    windrow("init", str(farm))
    (farm / "sources" / "library.toml").write_text('collection = "papers"\n')
    output = windrow("run", "--workspace", str(farm))
    assert output.code == 4
    assert "source.library needs the setting `url` or one of `from`, `cdx`, `warc`, `warc_urls`" in output.err


def test_why_of_a_source_names_an_address_that_failed(crawled, small, windrow) -> None:
    output = windrow("why", "one").out
    (missing,) = [line for line in output.splitlines() if line.split()[1:2] == ["404;"]]
    assert missing.endswith(f"; the latest: {small.origin(0)}/missing.html")
    assert [line for line in output.splitlines() if " 200" in line and "the latest" in line] == []


def test_a_dry_run_sets_the_collections_apart(root, partner, small, windrow) -> None:
    lay_out_workspace(root, partner)
    lines = windrow("run", "--dry-run").out.splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("source ")]
    assert len(heads) == 2
    assert lines[heads[1] - 1] == ""


def test_a_mistyped_name_of_a_source_is_guessed(workspace, windrow) -> None:
    output = windrow("run", "harwel")
    assert output.code == 2
    assert "no source or collection 'harwel'; did you mean harwell? the names are: " in output.err


def test_why_of_a_name_that_drops_would_leave_out_says_that_it_speaks_of_drops(workspace, windrow) -> None:
    output = windrow("why", "ferry@council.example")
    assert output.code == 1
    assert "runs ignore files of this name at sources of drops" in output.err
