from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.conftest import Windrow, page
from tests.servers.village import Village
from windrow.formats.http import CUT_BODY


def test_a_page_that_was_cut_is_open_until_its_whole_body_came(root: Path, small: Village, windrow: Windrow) -> None:
    whole = gzip.compress(page("packed", *(f"a.html?{number**7}" for number in range(300))).encode())
    small.put(0, "index.html", page("home", "packed.html"))
    small.put(0, "packed.html", whole[:-500])
    output = windrow("run", "one")
    assert "still open: 1 failed, not fetched or not read" in output.err + output.out
    url = f"{small.origin(0)}/packed.html"
    output = windrow("why", url)
    assert CUT_BODY in output.out

    output = windrow("run", "one")
    assert "all well" not in output.out + output.err
    assert "1 still open" in windrow("status").err

    small.put(0, "packed.html", whole)
    assert "1 item put back" in windrow("retry", "--reason", "truncated").err
    output = windrow("run", "one")
    assert "all well" in output.out + output.err
    assert "all well" in windrow("status").err
    assert "still open" not in output.out + output.err


def test_a_run_that_left_a_page_unread_does_not_say_that_all_is_well(
    root: Path, small: Village, windrow: Windrow
) -> None:
    small.put(0, "index.html", page("home", "report.pdf"))
    small.put(0, "report.pdf", b"%PDF-1.4\nbroken")
    output = windrow("run", "one")
    assert "still open: 1 failed, not fetched or not read" in output.out + output.err
    assert "all well" not in output.out + output.err
    assert "all well" not in windrow("status").err


def test_a_site_that_only_a_script_fills_has_failed(root: Path, small: Village, windrow: Windrow) -> None:
    small.put(0, "index.html", "<title>App</title><div id=root></div><script src=/app.js></script>")
    output = windrow("run", "one", "--json")
    (source,) = output.of("summary")[0]["sources"]
    assert (output.code, source["failed"], source["new"]) == (3, 0, 1)
    assert "none of the documents read in this run was usable: no_text 1" in output.of("summary")[0]["errors"][0]
    small.put(0, "index.html", page("home"))
    assert windrow("run", "one", "--again").code == 0


@pytest.mark.parametrize("keep", [-500, 10])
def test_an_answer_that_ends_too_early_does_not_replace_the_page(
    root: Path, small: Village, windrow: Windrow, keep: int
) -> None:
    words = " ".join(f"number{number**7}" for number in range(300))
    whole = gzip.compress(page("packed").replace("</p>", f" {words} marigold</p>", 1).encode())
    small.put(0, "index.html", page("home", "packed.html"))
    small.put(0, "packed.html", whole)
    assert windrow("run", "one").code == 0
    assert "packed.html" in windrow("search", "marigold").out
    small.put(0, "packed.html", whole[:keep] + (b"" if keep < 0 else b"\xff" * 99))
    assert "1 failed" in windrow("run", "one", "--again").err
    assert "packed.html" in windrow("search", "marigold").out, "the whole page stays"
    assert "removed" not in windrow("changes").out
