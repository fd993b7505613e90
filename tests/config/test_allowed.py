"""The addresses that each kind of source allows beside public ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from windrow.config import load
from windrow.contract import inputs
from windrow.contract.registry import collection
from windrow.engine.captures.shared_answers import may_share
from windrow.engine.requests.services import service_sources
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import read_allowed, refusal
from windrow.model import ONLY_PUBLIC, Allowed, Site, Source
from windrow.reasons import Reason

ALL = Allowed(everything=True)
HEAD = 'contact = "a@b.example"\n[pages]\nprivate_hosts = ["10.0.0.0/8"]\n[events]\nbranches = ["Other"]\n'


def allowed(tmp_path: Path, kind: str, lines: str) -> Allowed:
    """Return the addresses that a source with these lines allows."""
    (tmp_path / "windrow.toml").write_text(f'{HEAD}[source.a]\ncollection = "{kind}"\n{lines}\n')
    (source,) = load(tmp_path, {}).sources
    return source.site.allowed


@pytest.mark.parametrize(
    ("kind", "lines", "expected"),
    [
        ("pages", 'url = "http://10.0.0.5/"', read_allowed(["10.0.0.0/8"])),
        ("pages", 'url = "http://a.example/"\nprivate_hosts = ["[::1]"]', read_allowed(["10.0.0.0/8", "::1"])),
        ("drops", 'url = "ftp://10.0.0.5/"', ALL),
        ("drops", 'url = "ftp://10.0.0.5/"\nallow_private = false', ONLY_PUBLIC),
        ("news", 'url = "https://a.example/"', ONLY_PUBLIC),
        ("news", 'url = "http://10.0.0.5/"', read_allowed(["10.0.0.5"])),
        (
            "news",
            'url = "http://localhost/"\nprivate_hosts = [".lan.example"]',
            read_allowed([".lan.example", "localhost"]),
        ),
        ("papers", 'warc = ["a.warc"]', ONLY_PUBLIC),
    ],
)
def test_what_a_source_allows(tmp_path: Path, kind: str, lines: str, expected: Allowed) -> None:
    assert allowed(tmp_path, kind, lines) == expected


def test_a_line_that_cannot_be_read_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"windrow\.toml: source\.a\.private_hosts: '10\.0\.0\.0/99' is neither"):
        allowed(tmp_path, "news", 'url = "https://a.example/"\nprivate_hosts = ["10.0.0.0/99"]')


@pytest.mark.parametrize(("private", "expected"), [(True, ALL), (False, ONLY_PUBLIC), (None, ONLY_PUBLIC)])
def test_warc_files_elsewhere_may_be_private_where_the_source_says_so(private: bool | None, expected: Allowed) -> None:
    options = {"warc_urls": ("https://a.example/", "s3://bucket/x"), "warc_allow_private": private}
    remote = inputs(Source("a", "papers", Site(""), options=options)).remote
    assert [folder.site.allowed for folder in remote] == [expected] * 2


def test_a_service_may_be_at_a_private_number_since_its_setting_names_it(tmp_path: Path) -> None:
    papers = collection("papers")
    for url, host in (("http://127.0.0.1:8070/", "127.0.0.1"), ("http://grobid:8070/", "grobid")):
        values = {"papers.grobid": url, "papers.grobid_connections": 1, "papers.grobid_timeout": 60.0}
        names = {setting.name: setting.default for setting in papers.configuration.settings}
        (source,) = service_sources(papers, {**names, **values}, tmp_path, "windrow")
        assert refusal(host, "127.0.0.1", source.site.allowed) is None
        assert refusal("elsewhere.example", "127.0.0.1", source.site.allowed) is Reason.PRIVATE_ADDRESS


def test_an_answer_is_not_lent_to_a_source_that_may_not_ask_its_host() -> None:
    lender = Source("a", "events", Site("http", "10.0.0.5", allowed=read_allowed([], "10.0.0.5")))
    borrower = Source("b", "pages", Site("http", "10.0.0.5"))
    assert not may_share(borrower, lender)
    assert may_share(lender, borrower)
    assert may_share(replace(borrower, site=replace(borrower.site, allowed=read_allowed(["10.0.0.5"]))), lender)
    assert may_share(replace(borrower, site=replace(borrower.site, allowed=ALL)), lender)
