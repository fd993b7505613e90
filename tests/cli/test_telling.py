"""What is told of pages that were cancelled, had in vain, or are no pages; in workspaces of sites on a real nginx."""

from __future__ import annotations


def test_why_tells_what_was_cancelled_and_what_was_not_had_again(crawled, small, windrow) -> None:
    kept, lost = f"{small.origin(0)}/a.html", f"{small.origin(0)}/b.html"
    assert windrow("cancel", kept).code == 0
    assert "stands cancelled: not asked for until windrow retry" in windrow("why", kept).out
    assert windrow("retry", kept).code == 0
    assert "stands open: there when it was last looked at" in windrow("why", kept).out
    (small.roots[0] / "b.html").unlink()
    assert windrow("run", "one", "--again").code == 0
    said = windrow("why", lost)
    assert "stands open: there when it was last had, and asked for in vain since" in said.out
    assert "failed 1 time in a row" in said.out
    assert "seen by 1 crawl until" in said.out


def test_a_sitemap_is_no_failure(root, small, windrow) -> None:
    where = f"{small.origin(0)}/sitemap.xml"
    small.put(0, "robots.txt", f"User-agent: *\nDisallow: /shut/\nSitemap: {where}\n")
    small.put(0, "sitemap.xml", f"<urlset><url><loc>{small.origin(0)}/a.html</loc></url></urlset>")
    assert windrow("run", "one").code == 0
    (told,) = windrow("why", where, "--json").of("page")
    assert (told["state"], told["reason"]) == ("had", "")


def test_try_undoes_what_a_body_is_packed_in(root, small, windrow) -> None:
    said = windrow("try", f"{small.origin(0)}/packed.html", "--as", "pages", "--json")
    assert said.code == 0, said.err
    assert "All about packed" in said.of("record")[0]["fields"]["text"]


def test_an_export_of_a_tracker_that_is_not_there_writes_nothing(root, windrow) -> None:
    said = windrow("export", "tracker", "--as", "sqlite")
    assert (said.code, said.out) == (1, "")
    assert "there is no tracker yet" in said.err
    assert not (root / "tracker.sqlite").exists()
    (root / "tracker.sqlite").touch()
    said = windrow("export", "tracker", "--as", "sqlite")
    assert (said.code, said.out) == (1, "")
    assert "the tracker is empty" in said.err


def test_a_packed_robots_txt_is_read_and_an_origin_named_by_its_port(crawled, small, windrow) -> None:
    for name in (small.origin(0).removeprefix("http://"), f"{small.origin(0)}/robots.txt"):
        said = windrow("why", name)
        assert "robots.txt: 1 of 1 rules for * refuse something" in said.out
        assert "7 versions of 7 pages; 7 are there now" in said.out
    assert [one["versions"]["versions"] for one in windrow("why", "two", "--json").of("site")] == [0]
