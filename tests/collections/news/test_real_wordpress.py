"""A real WordPress: posts added, back-dated, edited, moved, trashed and scheduled between runs.

WINDROW_WORDPRESS names the folder of one that runs on this machine and may be written to, with a file `env` that has
WP_URL, WP_ADMIN (user:application password) and 29 posts of 2024.
"""

import base64
import json
import os
import time
import urllib.request
from pathlib import Path

import pytest

from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.collections.news import standard


@pytest.fixture
def real():
    folder = os.environ.get("WINDROW_WORDPRESS")
    if not folder:
        pytest.skip("WINDROW_WORDPRESS names no WordPress")
    return dict(line.split("=", 1) for line in (Path(folder) / "env").read_text().splitlines() if "=" in line)


def call(real, method, path, **told):
    user = base64.b64encode(real["WP_ADMIN"].encode()).decode()
    asked = urllib.request.Request(
        f"{real['WP_URL']}/wp-json/wp/v2/{path}", json.dumps(told).encode(), method=method,
        headers={"Authorization": f"Basic {user}", "Content-Type": "application/json"},
    )  # fmt: skip
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def gmt(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + seconds))


def test_posts_of_a_real_wordpress_are_found_whatever_is_done_to_them_between_runs(tmp_path, real):
    workspace = configured(tmp_path, {"wp": {"url": real["WP_URL"]}}, "update = true")
    run(workspace)
    first = articles(tmp_path)
    assert len(first) >= 29
    assert not [one for each in first.values() for one in standard.problems(each)]
    crab = next(one for one in first.values() if "Crabs" in one["title"])
    assert crab["title"] == "\U0001f980 Crabs & \u201cquotes\u201d < 5 \u2014 caf\u00e9"
    assert {one["author"] for one in first.values()} == {"admin", "In\u00e9s M\u00fcller"}
    assert all(one["keywords"] for one in first.values())
    text = "<!-- wp:list --><ul><li>one<ul><li>two</li></ul></li></ul><p>Text &amp; <strong>more</strong>.</p>"
    made = [
        call(real, "POST", "posts", title="Added", content=text, status="publish"),
        call(real, "POST", "posts", title="Back-dated", content=text, status="publish", date_gmt="2019-05-05T05:05:05"),
        call(real, "POST", "posts", title="Scheduled", content=text, status="future", date_gmt=gmt(4)),
        call(real, "POST", "posts", title="Far", content=text, status="future", date_gmt=gmt(86_400)),
        call(real, "POST", "posts", title="Locked", content=text, status="publish", password="x"),
    ]
    kept = [url for url in first if "story-number-2" in url]
    edited, moved, trashed = (
        one for one in call(real, "GET", "posts?per_page=3&orderby=date&order=asc&after=2024-01-01T00:00:00")
    )
    said = f"Edited at {time.time():.0f}."
    call(real, "POST", f"posts/{edited['id']}", content=f"<p>{said}</p>")
    call(real, "POST", f"posts/{moved['id']}", slug=f"moved-{moved['id']}-{int(time.time())}")
    call(real, "DELETE", f"posts/{trashed['id']}")
    time.sleep(6)
    urllib.request.urlopen(f"{real['WP_URL']}/wp-cron.php?doing_wp_cron").read()
    run(workspace)
    found = articles(tmp_path)
    titles = {one["title"] for url, one in found.items() if url not in first}
    assert {"Added", "Back-dated", "Scheduled"} <= titles
    assert not {"Far", "Locked"} & titles
    added = next(one for one in found.values() if one["title"] == "Added")
    assert added["article_text"] == "- one\n  - two\n\nText & **more**."
    assert found[edited["link"]]["article_text"] == said
    assert found[edited["link"]]["metadata"]["revisions"]
    assert "moved-" in found[moved["link"]]["metadata"]["canonical_url"]
    assert trashed["link"] in found  # the standard keeps what was there
    assert len(found) == len(first) + 3
    assert summaries(tmp_path)[1]["details"]["error: protected"] >= 1
    assert kept
    for one in made:
        call(real, "DELETE", f"posts/{one['id']}?force=true")
