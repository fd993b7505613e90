"""What an installation has: README, metadata, the manual in the wheel, the man page, the image's recipe."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from tests.house.page import links
from tests.house.tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()


def run_installed(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "windrow", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_begins_with_the_demo_and_the_tests_and_how_to_install() -> None:
    demo, test, output, install = re.findall(r"(?ms)^```\w*\n(.*?)^```", README)[:4]
    assert (demo, test) == ("make demo\n", "make test\n")
    assert output.startswith("workspace demo in ")
    assert re.findall(r"(?m)^(\S+ install windrow)\b", install) == ["pipx install windrow", "pip install windrow"]


def test_links_of_the_readme_hold_on_a_package_index() -> None:
    assert [link for link in links(ROOT / "README.md") if not link.startswith("https://")] == []


def test_the_readme_shows_two_pictures_of_the_web_view() -> None:
    pictures = re.findall(r'<img src="(pictures/\w+\.png)" width="\d+" alt="[^"]{40,}">', README)
    assert len(pictures) == len({*pictures}) == README.count("<img") == 2
    assert sum((ROOT / name).stat().st_size for name in pictures) < 200_000


def test_pages_that_the_readme_names_are_in_the_manual() -> None:
    names = set(re.findall(r"windrow help ([a-z/-]+)", README))
    assert names > {"first-crawl", "first-harvest", "python"}
    for name in names:
        assert run_installed("help", name).startswith("# "), name


def test_every_extra_and_its_licences_are_in_the_readme() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for extra, needs in extras.items():
        (row,) = re.findall(rf"(?m)^\| `{extra}` \|.*$", README)
        for need in needs:
            name = re.split(r"[\[>]", need)[0]
            shared = extra == "demo" and any(
                name in requirement for each in ("sftp", "events", "pdf", "web") for requirement in extras[each]
            )
            assert shared or name in row.lower(), (extra, name)
    assert "asyncssh (EPL-2.0 or GPL-2.0-or-later)" in README
    assert "psycopg (LGPL-3.0-only)" in README


def test_the_project_has_addresses() -> None:
    urls = PROJECT["project"]["urls"]
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(urls)
    assert all(url.startswith("https://") for url in urls.values())


def test_the_wheel_has_the_manual_and_the_man_page() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"docs": "windrow/manual"}
    assert wheel["shared-data"] == {"man/windrow.1": "share/man/man1/windrow.1"}
    pages = run_installed("help")
    assert all(f"{folder}/" in pages for folder in ("tutorial", "howto", "reference", "explanation"))
    assert run_installed("help", "run").startswith("Usage: windrow run")


def test_the_man_page_is_current(tmp_path) -> None:
    page = tmp_path / "windrow.1"
    subprocess.run([sys.executable, ROOT / "tools" / "man_page.py", page], check=True)
    assert page.read_text() == (ROOT / "man" / "windrow.1").read_text(), "run: make docs"


def test_the_dockerfile_copies_what_is_there_and_installs_by_hashes() -> None:
    text = (ROOT / "Dockerfile").read_text()
    bases = re.findall(r"(?m)^FROM python:(\d+)\.(\d+)-slim", text)
    assert bases
    assert all((int(major), int(minor)) >= (3, 11) for major, minor in bases)
    locks = re.findall(r"--require-hashes.* -r (\S+)", text)
    assert locks == ["requirements/build.txt", "requirements/demo.txt"]
    assert all((ROOT / lock).is_file() for lock in locks)


def test_contributors_and_finders_of_holes_are_told_where_to_go() -> None:
    assert "make check" in (ROOT / "CONTRIBUTING.md").read_text()
    assert "privately" in (ROOT / "SECURITY.md").read_text()
