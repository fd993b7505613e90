"""How tests are handed to the processes that run them: by whole files, since a module's harvest is made once."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

TOGETHER = {
    "tests/requests/test_toy_wheel.py": "wheels",
    "tests/requests/test_quotes_wheel.py": "wheels",
    "tests/requests/test_new_collection_wheel.py": "wheels",
    **{
        f"tests/house/test_{name}.py": "syntax trees"
        for name in ("collections", "dialling", "caps", "frontier", "ledger", "packages", "size", "word")
    },
    "tests/cli/test_convention.py": "syntax trees",
    "tests/collections/papers/test_wide.py": "hbase",
    "tests/collections/papers/test_harvest.py": "hbase",
    "tests/collections/papers/test_existing.py": "hbase",
    "tests/web/test_api.py": "web view",
    "tests/web/test_pages.py": "web view",
    "tests/web/test_homes.py": "web view",
    "tests/web/test_browser.py": "web view",
    "tests/captures/test_remote_records.py": "s3",
    "tests/collections/papers/test_remote.py": "s3",
}
"""Files to run in one process, since what they share is slow: an environment, a server in Java, a workspace, all source files parsed."""

LONGEST = (
    "tests/requests/test_quotes_wheel.py",
    "tests/requests/test_toy_wheel.py",
    "tests/requests/test_new_collection_wheel.py",
    "tests/app/test_changes_of_cut_runs.py",
    "tests/benchmarks/test_smoke.py",
    "tests/web/test_browser.py",
    "tests/cli/test_forget.py",
    "tests/crash/test_kill.py",
    "tests/collections/papers/test_outcomes.py",
    "tests/collections/papers/test_harvest.py",
    "tests/collections/papers/test_wide.py",
    "tests/cli/test_pages.py",
    "tests/benchmarks/test_cost.py",
    "tests/engine/test_unread.py",
    "tests/faults/test_disk.py",
    "tests/app/test_checkup.py",
    "tests/collections/drops/database/test_history.py",
    "tests/faults/test_host.py",
    "tests/faults/test_death.py",
    "tests/collections/news/test_killed.py",
    "tests/captures/test_forgetting.py",
    "tests/captures/test_both.py",
    "tests/captures/test_killed.py",
    "tests/collections/news/test_real_wordpress.py",
    "tests/house/test_snippets.py",
)
"""Files that take longest, by the clock. A file may be missing here: then a run takes a little longer."""


def rank(nodeid: str) -> int:
    """Return the place of a test's file among those that take longest."""
    path = nodeid.partition("::")[0]
    return LONGEST.index(path) if path in LONGEST else len(LONGEST)


class FileScheduling(LoadScopeScheduling):
    """Hands out the tests of a file, or of files that belong together, to one process."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return TOGETHER.get(path, path)
