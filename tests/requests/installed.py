"""An environment with windrow's wheel and those of collections beside it, and commands that are run there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

ROOT = Path(__file__).parent.parent.parent
UV = [sys.executable, str(ROOT / "tools" / "mirror.py"), str(Path(sys.executable).parent / "uv")]


def build(project: Path, into: Path) -> None:
    command = [*UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*command, "--out-dir", str(into), str(project)], check=True, cwd=ROOT, timeout=PATIENCE)


class InstalledWindrow:
    """A workspace, and windrow's commands run in it as a user runs them."""

    def __init__(self, environment: Path, root: Path) -> None:
        self.environment, self.root = environment, root

    def start(self, *words: str) -> subprocess.Popen[str]:
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.root), "LANG": "C.UTF-8"}
        return subprocess.Popen(
            [str(self.environment / "bin" / "windrow"), *words], cwd=self.root, env=environ, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def __call__(self, *words: str, code: int = 0) -> str:
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, f"{words}: {process.returncode}\n{out}\n{err}"
        return out + err if code else out
