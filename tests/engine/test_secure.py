"""Crawls over https: certificates are checked, by the site's own authority if it names one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engine.site_crawl import crawl_sites, faults, query_ledger, source


@pytest.fixture
def site(nginx):
    """Write two pages, and return their source with the server's certificate authority."""
    folder = nginx.root / "secure"
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text("<a href='other.html'>the other</a>")
    (folder / "other.html").write_text("<a href='index.html'>back</a>")
    page_source = source([f"https://127.0.0.1:{nginx.open.port}/drop/secure/index.html"])
    return replace(
        page_source, site=replace(page_source.site, scheme="https", ca_bundle=nginx.open.ca_bundle, timeout=60.0)
    )


def test_pages_are_asked_over_https(site, tmp_path):
    assert crawl_sites(tmp_path, site) == 0
    rows = query_ledger(
        tmp_path, "SELECT a.url, v.status FROM attempt v JOIN address a ON a.digest = v.address ORDER BY a.url"
    )
    assert [(url.rpartition("/")[2], status) for url, status in rows] == [("index.html", 200), ("other.html", 200)]
    assert faults(tmp_path) == []


def test_a_certificate_of_a_stranger_is_refused(site, certificates, tmp_path):
    stranger = replace(site, site=replace(site.site, ca_bundle=str(certificates.stranger)))
    assert crawl_sites(tmp_path, stranger) == 3
    assert query_ledger(tmp_path, "SELECT reason, status FROM attempt") == [("tls_failed", None)]
    assert query_ledger(tmp_path, "SELECT due FROM address") == [(0,)]
