"""Shared by all tests: the folder of their files, the shared data, the servers, and the rule that CI skips nothing."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule

HERE = Path(__file__).parent
if str(HERE.parent) not in sys.path:  # so that `tests.servers` can be imported however pytest is started
    sys.path.insert(0, str(HERE.parent))

RARE_GC = 50_000
"""The number of new objects after which garbage is collected: with Python's 700, that takes a tenth of the time."""

MEMORY = Path("/dev/shm")
ENOUGH = 4 << 30
"""Bytes that must be free in memory: three times the need of all tests of a run."""

# Thousands of processes are started: the bytecode of what they import is made once, and not in each of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(HERE.parent / "build" / "bytecode"))
sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]


def is_roomy(folder: Path) -> bool:
    """Return whether there is a folder in which files can be written and run, and enough of it."""
    if not folder.is_dir() or not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free > ENOUGH


# Files of tests and of servers lie in memory where there is room; `tests/crash` keeps a disk. The first process of a run
# makes one folder for all, and removes it at the end.
if "TMPDIR" not in os.environ and is_roomy(MEMORY):
    OWN = tempfile.mkdtemp(prefix="windrow-tests-", dir=MEMORY)
    Path(OWN).chmod(0o1777)  # as /dev/shm itself: servers that are other users' make files in it
    tempfile.tempdir = os.environ["TMPDIR"] = OWN
    Finalize(None, shutil.rmtree, (OWN, True), exitpriority=-200)  # after multiprocessing removed its own, at -100

from hypothesis import HealthCheck, settings  # noqa: E402 its bytecode is kept now: pytest rewrites all its modules

# Examples have no time limit: a busy machine makes any of them slow.
settings.register_profile("windrow", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("windrow")

pytest.register_assert_rewrite("tests.faults.workspace")  # so that its assertions show their values

from tests import distribution  # noqa: E402 `tests` can be imported now

# a file stands after those it imports
SERVERS = ("tls", "ftp", "sftp", "web", "village", "sites", "mariadb", "postgresql", "hbase", "s3", "wordpress")
pytest_plugins = [f"tests.servers.{name}" for name in SERVERS]

SHARED = Path(os.environ.get("WINDROW_SHARED", HERE.parent.parent / "shared"))
NO_SHARED_DATA = f"no shared data at {SHARED}: set WINDROW_SHARED"


def fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """On CI, where all servers are installed, count a skipped test as failed; only shared data may be missing, and only all of it."""
    if os.environ.get("CI") and report.skipped and isinstance(report.longrepr, tuple):
        path, line, reason = report.longrepr
        if SHARED.exists() or NO_SHARED_DATA not in reason:
            report.outcome = "failed"
            report.longrepr = f"{path}:{line}: on CI no test may be skipped. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """On CI, fail a test that was skipped."""
    report = yield
    fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """On CI, fail a file of tests that was skipped."""
    report = yield
    fail_if_skipped(report)
    return report


def has_examples(path: Path) -> bool:
    return b">>>" in path.read_bytes()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Pass over modules without tests and without examples in docstrings: each process that runs tests would import them."""
    if collection_path.suffix != ".py" or collection_path.name.startswith("test_"):
        return None
    return None if has_examples(collection_path) else True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Collect without the garbage collector: all that is made is kept."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(RARE_GC)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples only in modules that have some: `--doctest-modules` looks through all names of each module."""
    collectors = yield
    return (
        collectors if has_examples(file_path) else [each for each in collectors if not isinstance(each, DoctestModule)]
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest tests first, so that they do not delay the end of the run."""
    items.sort(key=lambda test: distribution.rank(test.nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> distribution.FileScheduling:
    """Hand out whole files of tests."""
    return distribution.FileScheduling(config, log)


def pytest_xdist_setupnodes() -> None:
    """Start the fork server that all processes share before they are started: it loads windrow while they collect."""
    from tests.programs import start_server  # noqa: PLC0415 it loads windrow, and where bytecode goes is said above

    start_server()


@pytest.fixture(scope="session", autouse=True)
def _preloaded() -> None:
    """Use the fork server that all runs of all processes share."""
    from tests.programs import server  # noqa: PLC0415 as above

    server()


@pytest.fixture
def closed_at_end() -> Generator[Callable[[Any], Any]]:
    """Return a function that returns its argument, and closes it when the test ends."""
    with ExitStack() as stack:
        yield lambda opened: stack.enter_context(closing(opened))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared data (WINDROW_SHARED, else beside the repository), or skip."""
    if not (SHARED / "data").is_dir():
        pytest.skip(NO_SHARED_DATA)
    return SHARED


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a new database, on each of the three engines."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return str(request.getfixturevalue(f"{request.param}_url"))
