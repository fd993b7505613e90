"""A run that is killed while it writes the trees, and repeated, leaves the tree of a run that was not."""

import signal
import subprocess
import sys

from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, configured, run, summaries
from tests.house.tree import ROOT

STRIDE = 6
"""Files between two at which a run is killed: every kind of them is met."""


def told(root):
    found = {url: one | {"first_seen_timestamp_gmt": 0} for url, one in articles(root).items()}
    left = [path for path in root.rglob("*.part") if "archive" not in str(path)]
    new = sum(one["statistics"]["articles_new"] for one in summaries(root))
    return found, left, new


def test_a_run_killed_at_any_file_and_repeated_leaves_the_same_tree_and_counts(tmp_path):
    press = Press(posts=5)
    try:
        whole = configured(tmp_path / "whole", {"press": {"url": press.url, "kind": "wordpress"}})
        run(whole)
        expected = told(tmp_path / "whole")
        number, cuts = 1, 0
        while True:
            root = tmp_path / f"cut{number}"
            workspace = configured(root, {"press": {"url": press.url, "kind": "wordpress"}})
            command = [sys.executable, "-m", "tests.collections.news.killed", str(root), str(number)]
            done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, timeout=120)
            assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
            run(workspace)
            assert told(root) == expected, f"killed at file {number}"
            if done.returncode == 0:
                break
            cuts += 1
            number += STRIDE
        assert cuts >= 3
    finally:
        press.close()
