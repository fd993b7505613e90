"""Modules that are imported late, by name, since they are heavy or optional: only a test notices a wrong name."""

import subprocess
import sys
from importlib.util import find_spec

from windrow.engine.runtime import PRELOADED_MODULES
from windrow.fetch.transports import TRANSPORTS

BLOCKED = """
import sys
sys.modules["asyncssh"] = None
import windrow.engine.fetchers.fetcher, windrow.engine.sample, windrow.adapters.records, windrow.cli.run
from windrow.fetch.transports import TRANSPORTS
for transport in set(TRANSPORTS.values()):
    if not transport.extra:
        __import__(transport.module)
print(sorted(TRANSPORTS))
"""


def test_modules_that_are_imported_before_processes_are_forked_exist() -> None:
    for name in {*PRELOADED_MODULES, *(transport.module for transport in TRANSPORTS.values())}:
        assert find_spec(name) is not None, name


def test_without_the_extra_sftp_all_but_sftp_can_be_used() -> None:
    process = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == "['file', 'ftp', 'ftps', 'http', 'https', 'sftp']"
