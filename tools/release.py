"""Build a release with its bill of materials and provenance, or audit the locked dependencies.

    .venv/bin/python tools/release.py audit
    .venv/bin/python tools/release.py build KEY [--folder dist]

`build` writes the wheel, the source archive, a bill of materials (CycloneDX), the provenance (an in-toto statement with
SLSA's predicate) and SHA256SUMS of them, signed with an SSH key. Two builds of one commit have the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mirror import translated_environment

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "windrow-release"
"""The namespace of the signature, which `ssh-keygen -Y verify -n` needs too."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BUILD_TYPE = "https://windrow.example/release/v1"

_PIN = re.compile(r"^([a-z0-9][^\s=]*==\S+(?: ; [^\\\n]*)?)", re.MULTILINE)
_HASHED_PIN = re.compile(r"^([a-z0-9][^\s=]*)==(\S+)[^\n]*((?:\n\s+--hash=\S+(?: \\)?)+)", re.MULTILINE)
_NOT_REACHED = ("error sending request", "dns error", "Request failed", "timed out")


def main(words: Sequence[str]) -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    audit_parser = commands.add_parser("audit", help="fail if a locked dependency has a known vulnerability")
    audit_parser.add_argument("--service", help="the address of another service with OSV's API")
    build_parser = commands.add_parser("build", help="build and sign a release of the commit that is checked out")
    build_parser.add_argument("key", type=Path, help="the SSH key to sign with")
    build_parser.add_argument("--folder", type=Path, default=ROOT / "dist", help="where the files are written")
    arguments = parser.parse_args(words)
    if arguments.command == "audit":
        return audit(arguments.service)
    commit = checked_out_commit()
    build(arguments.folder, arguments.key, commit, time_of_commit(commit))
    return 0


def audit(service: str | None = None) -> int:
    """Look up the locked dependencies in OSV's database; return 1 if one is vulnerable, 0 if it cannot be reached."""
    with locked_project() as project:
        options = ["--service-url", service] if service else []
        result = _uv("audit", "--frozen", "--no-default-groups", *options, folder=project, check=False)
    print(result.stdout, result.stderr, sep="", end="")
    if result.returncode and any(text in result.stderr for text in _NOT_REACHED):
        print("NOT AUDITED: the database of vulnerabilities cannot be reached from this machine")
        return 0
    return result.returncode


def build(folder: Path, key: Path, commit: str, commit_time: str) -> None:
    """Write a release of the files that are checked out into `folder`, signed with an SSH key.

    `commit_time`, in seconds since 1970, is the time of all files in the archives, so that builds can be compared.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        files = Path(scratch)
        build_options = ["--no-build-isolation", "--python", sys.executable, "--out-dir", str(files)]
        _uv("build", "--quiet", *build_options, folder=ROOT, environ={"SOURCE_DATE_EPOCH": commit_time})
        (files / ".gitignore").unlink(missing_ok=True)  # uv writes one
        version = PROJECT["version"]
        (files / f"windrow-{version}.cdx.json").write_text(bill_of_materials())
        subjects = {path.name: _sha256(path) for path in sorted(files.iterdir())}
        statement = provenance(subjects, commit, (ROOT / "requirements" / "build.txt").read_text())
        (files / f"windrow-{version}.provenance.json").write_text(json.dumps(statement, indent=1) + "\n")
        sums = [f"{_sha256(path)}  {path.name}\n" for path in sorted(files.iterdir())]
        (files / "SHA256SUMS").write_text("".join(sums))
        sign = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE, str(files / "SHA256SUMS")]
        subprocess.run(sign, check=True)
        for path in files.iterdir():
            shutil.copy2(path, folder / path.name)
            print(folder / path.name)


def bill_of_materials() -> str:
    """Return the dependencies of windrow and all its extras, in the locked versions, as CycloneDX (JSON)."""
    with locked_project() as project:
        options = ["--format", "cyclonedx1.5", "--all-extras", "--no-default-groups", "--frozen"]
        bill = json.loads(_uv("export", "--quiet", *options, folder=project).stdout)
    del bill["serialNumber"], bill["metadata"]["timestamp"]  # they differ between two builds of one commit
    return json.dumps(bill, indent=1) + "\n"


def provenance(subjects: Mapping[str, str], commit: str, build_lock: str) -> dict[str, Any]:
    """Return from which commit and with which tools `subjects` (SHA-256 by file name) were built: SLSA provenance 1."""
    tools = [
        {"uri": f"pkg:pypi/{name}@{version}", "annotations": {"hashes": re.findall(r"sha256:\w+", hashes)}}
        for name, version, hashes in _HASHED_PIN.findall(build_lock)
    ]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"command": "make release"},
                "resolvedDependencies": [
                    {"uri": f"git+{PROJECT['urls']['Source']}", "digest": {"gitCommit": commit}},
                    *tools,
                ],
            },
            "runDetails": {"builder": {"id": f"{BUILD_TYPE}/python-{sys.version_info.major}.{sys.version_info.minor}"}},
        },
    }


def checked_out_commit() -> str:
    """Return the commit that is checked out; exit with a message if a file differs from it."""
    if changed := _git("status", "--porcelain"):
        sys.exit(f"a release is built from a commit, but these files differ from it:\n{changed}")
    return _git("rev-parse", "HEAD")


def time_of_commit(commit: str) -> str:
    """Return when a commit was made, in seconds since 1970."""
    return _git("show", "--no-patch", "--format=%ct", commit)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def locked_project() -> Iterator[Path]:
    """Yield a folder with windrow's dependencies as uv's own lock file, in the versions of requirements/dev.txt."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        pins = [pin.strip() for pin in _PIN.findall((ROOT / "requirements" / "dev.txt").read_text())]
        constraints = ", ".join(json.dumps(pin) for pin in pins)
        declaration = (ROOT / "pyproject.toml").read_text()
        (project / "pyproject.toml").write_text(
            f"{declaration}\n[tool.uv]\nconstraint-dependencies = [{constraints}]\n"
        )
        _uv("lock", "--quiet", folder=project)
        yield project


def _uv(
    *words: str, folder: Path, check: bool = True, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run uv with pip's settings; if it fails and `check` is true, exit with its message."""
    environment = {**translated_environment(sys.executable), **(environ or {})}
    uv = Path(sys.executable).with_name("uv")
    result = subprocess.run([str(uv), *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if check and result.returncode:
        sys.exit(f"uv {words[0]} failed:\n{result.stderr}")
    return result


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
