"""`make bare` runs the tests in a new Debian; here its message is tested if it cannot."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.house.tree import ROOT


def test_the_bare_debian_is_refused_to_others_than_root(tmp_path: Path) -> None:
    user = tmp_path / "id"
    user.write_text("#!/bin/sh\necho 1000\n")
    user.chmod(0o755)
    environ = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [ROOT / "tools" / "bare.sh"], env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bare: only root can make a Debian and run commands in it: sudo make bare\n"
