"""Several workspaces share a crawl: each requests the hosts of its own part, and no other one requests them."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest

from tests.engine.site_crawl import CRAWL_ONLY, crawl_sites, faults, source
from tests.engine.two_hosts import HOSTS, two_hosts
from windrow.app.summary import is_damage
from windrow.config import load
from windrow.engine.crawl.part_exchange import UNKNOWN_SOURCE_RULE, UNREADABLE_RULE
from windrow.engine.frontier import FetchBounds, frontier_of, why_not_requested
from windrow.errors import ConfigError
from windrow.host_part import HostPart
from windrow.ledger import Ledger
from windrow.reasons import Reason


def test_parts_request_together_what_one_machine_requests(tmp_path):
    """A page to which only the other part's pages link is handed over."""
    with two_hosts() as (port, requested):
        site = source([f"http://{host}:{port}/" for host in HOSTS])
        assert crawl_sites(tmp_path / "whole" / "w", site) == 0
        of_one_machine = Counter(requested)
        requested.clear()
        by_part: list[Counter[str]] = [Counter(), Counter()]
        for number in (1, 2, 1, 2):
            part = replace(site, part=HostPart(number, 2))
            root = tmp_path / str(number)
            assert crawl_sites(root, part) == 0
            by_part[number - 1].update(requested)
            requested.clear()
            with closing(Ledger(root / "ledger.sqlite")) as ledger:
                frontier = frontier_of(ledger, CRAWL_ONLY)
                (count,) = frontier.left_out("site", ())
                assert not frontier.preview([part], FetchBounds(), None).waiting, "all its seeds are known"
            assert (count.reason, count.rule) == (Reason.OTHER_PART, f"part {3 - number}/2 requests the host")
            assert count.addresses == 2, "the other part's seed, and the page to which pages of this part link"
            assert not is_damage(count.reason)
            assert faults(root) == []
    for counts in (*by_part, of_one_machine):  # robots.txt is requested in each crawl
        for host in HOSTS:
            counts.pop(f"{host}/robots.txt", None)
    assert not by_part[0].keys() & by_part[1].keys()
    assert by_part[0] + by_part[1] == of_one_machine
    assert {path.partition("/")[0] for path in by_part[0]} == {HOSTS[0]}


def test_a_host_that_was_of_this_part_is_not_requested_after_a_division(tmp_path):
    with two_hosts() as (port, requested):
        site = source([f"http://{host}:{port}/" for host in HOSTS], every=0.001)
        crawl_sites(tmp_path / "w", site)
        requested.clear()
        part = replace(site, part=HostPart(2, 2))
        crawl_sites(tmp_path / "w", part)
        with closing(Ledger(tmp_path / "w" / "ledger.sqlite")) as ledger:
            preview = frontier_of(ledger, CRAWL_ONLY).preview([part], FetchBounds(again=True), None)
    assert {waiting.key.split("/")[2].partition(":")[0] for waiting in preview.waiting} == {HOSTS[1]}
    assert requested
    assert not [path for path in requested if path.startswith(HOSTS[0])]


def test_lines_from_other_parts_that_are_no_pages_are_counted(tmp_path):
    with two_hosts() as (port, requested):
        folder = tmp_path / "parts"
        (folder / "3-to-1.jsonl").mkdir(parents=True)
        handed = {"source": "site", "url": f"http://{HOSTS[0]}:{port}/d", "kind": 0, "order": 1}
        lines = [
            "{", "[]", "null", "[" * 5000, json.dumps(handed | {"kind": True}), json.dumps(handed | {"more": 1}),
            json.dumps(handed | {"url": f"http://{HOSTS[1]}:{port}/"}), json.dumps(handed | {"url": "file:///etc/passwd"}),
            json.dumps(handed | {"source": "other"}), json.dumps(handed), json.dumps(handed | {"url": "x" * 20_000}),
        ]  # fmt: skip
        (folder / "2-to-1.jsonl").write_text("\n".join(lines))
        site = source([f"http://{HOSTS[0]}:{port}/"], hosts=(f"*:{port}",))
        crawl_sites(tmp_path / "w", replace(site, part=HostPart(1, 2)))
    assert f"{HOSTS[0]}/d" in requested
    with closing(Ledger(tmp_path / "w" / "ledger.sqlite")) as ledger:
        counts = {count.rule: count for count in frontier_of(ledger, CRAWL_ONLY).left_out("site", ())}
    assert counts[UNREADABLE_RULE].addresses == 11  # with the folder, and twice for the line that is too long
    assert counts[UNREADABLE_RULE].example.endswith("2-to-1.jsonl:1")
    assert counts[UNKNOWN_SOURCE_RULE].addresses == 1


def test_a_run_of_one_source_keeps_what_others_left_for_the_other_parts(tmp_path):
    """Both sources have the host of the other part; it became that of the source that found it last."""
    with two_hosts() as (port, _):
        urls = [f"http://{host}:{port}/" for host in HOSTS]
        first = replace(source(urls), part=HostPart(1, 2))
        second = replace(source([urls[0]], hosts=(f"{HOSTS[1]}:{port}",)), name="second", part=HostPart(1, 2))
        files = []
        for sources in ((first, second), (second,)):
            crawl_sites(tmp_path / "w", *sources)
            lines = map(json.loads, (tmp_path / "parts" / "1-to-2.jsonl").read_text().splitlines())
            files.append(sorted((line["source"], line["url"]) for line in lines))
    assert [name for name, _ in files[0]] == ["second", "site", "site"]
    assert files[0] == files[1]


def test_a_host_belongs_to_the_same_part_with_any_scheme_port_and_www():
    part = HostPart(6, 8)
    origins = "https://example.org", "http://example.org:8080", "https://www.example.org"
    assert all(part.has_origin(origin) for origin in origins)
    assert sum(HostPart(number, 8).has_origin("https://example.org") for number in range(1, 9)) == 1
    assert part.has_origin(""), "folders of this machine belong to each workspace that names them"


CONFIGURATION = """
part = "{}"
contact = "x@example.org"
[source.a]
collection = "news"
url = "https://example.org/"
[source.b]
collection = "pages"
url = "https://example.org/"
"""


@pytest.mark.parametrize(("part", "is_own"), [("", True), ("6/8", True), ("5/8", False)])
def test_a_source_of_lists_belongs_to_one_part_as_a_whole(tmp_path, part, is_own):
    (tmp_path / "windrow.toml").write_text(CONFIGURATION.format(part))
    newspaper, site = load(tmp_path, environ={}).sources
    assert newspaper.active is is_own
    assert why_not_requested(newspaper) == ("" if is_own else "part 6/8 requests the host")
    assert site.active, "its hosts may belong to several parts"


@pytest.mark.parametrize("part", ["0/8", "9/8", "2", "2/", "8/2", "1/99999", " 1/2"])
def test_a_part_that_is_none_is_refused(tmp_path, part):
    (tmp_path / "windrow.toml").write_text(CONFIGURATION.format(part))
    with pytest.raises(ConfigError, match=r"part: expected the number of a part and the number of all parts"):
        load(tmp_path, environ={})
