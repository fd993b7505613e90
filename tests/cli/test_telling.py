"""What `why`, `try` and `export` print of pages that were cancelled, failed, or are not pages."""

from __future__ import annotations


def test_why_tells_what_was_cancelled_and_what_was_not_had_again(crawled, small, windrow) -> None:
    kept, lost = f"{small.origin(0)}/a.html", f"{small.origin(0)}/b.html"
    assert windrow("cancel", kept).code == 0
    assert "state: cancelled; not requested until windrow retry" in windrow("why", kept).out
    assert windrow("retry", kept).code == 0
    output = windrow("why", kept)
    assert "state: open; present at the last request" in output.out
    assert "\n  due in the next run, expected to change every" in output.out
    (small.roots[0] / "b.html").unlink()
    assert windrow("run", "one", "--again").code == 0
    output = windrow("why", lost)
    assert "state: open; present at the last successful request, but later ones failed" in output.out
    assert "failed 1 time in a row" in output.out
    assert "seen by 1 crawl until" in output.out


def test_a_sitemap_is_no_failure(root, small, windrow) -> None:
    where = f"{small.origin(0)}/sitemap.xml"
    small.put(0, "robots.txt", f"User-agent: *\nDisallow: /shut/\nSitemap: {where}\n")
    small.put(0, "sitemap.xml", f"<urlset><url><loc>{small.origin(0)}/a.html</loc></url></urlset>")
    assert windrow("run", "one").code == 0
    (page,) = windrow("why", where, "--json").of("page")
    assert (page["state"], page["reason"]) == ("had", "")


def test_try_undoes_what_a_body_is_packed_in(root, small, windrow) -> None:
    output = windrow("try", f"{small.origin(0)}/packed.html", "--collection", "pages", "--json")
    assert output.code == 0, output.err
    assert "All about packed" in output.of("record")[0]["fields"]["text"]


def test_an_export_of_a_tracker_that_is_not_there_writes_nothing(root, windrow) -> None:
    output = windrow("export", "tracker", "--as", "sqlite")
    assert (output.code, output.out) == (1, "")
    assert "the tracker does not exist yet" in output.err
    assert not (root / "tracker.sqlite").exists()
    (root / "tracker.sqlite").touch()
    output = windrow("export", "tracker", "--as", "sqlite")
    assert (output.code, output.out) == (1, "")
    assert "the tracker has no tables yet" in output.err


def test_a_packed_robots_txt_is_read_and_an_origin_named_by_its_port(crawled, small, windrow) -> None:
    for name in (small.origin(0).removeprefix("http://"), f"{small.origin(0)}/robots.txt"):
        output = windrow("why", name)
        assert "robots.txt: 1 of 1 rule for * forbids addresses" in output.out
        assert "7 versions of 7 pages; 7 are present" in output.out
    assert [site["versions"]["versions"] for site in windrow("why", "two", "--json").of("site")] == [0]
