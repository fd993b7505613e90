"""The pages in a real browser: they fit, they can be used without script and by keyboard, and load nothing from elsewhere."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import programs
from tests.house.tree import ROOT
from tests.web.farm import SITE
from tests.web.test_pages import FERRY, LONG_AGO

ZIP = "H.2026-01-12.1.impc.zip"
BROWSED = (
    f"/?{LONG_AGO}", f"/changes?{LONG_AGO}", f"/diff?name={FERRY}", f"/diff?name={FERRY}&form=sides", f"/why?name={FERRY}", "/why?name=H.2026-01-13.9.impc.zip",
    "/sessions", "/sessions/1", "/search?q=ferry&explain=1", "/nothing",
    "/help", "/help/howto/look-in-a-browser", "/openapi", "/collections?collection=drops", "/collections?collection=drops&view=zips", f"/collections?collection=drops&name={ZIP}",
    "/collections?collection=pages", "/collections?collection=pages&name=town", f"/collections?collection=pages&name={FERRY}&day=2026-11-21",
)  # fmt: skip

CHROMIUM = shutil.which("chromium")
AXE = ROOT / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: make servers"),
    pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make pouchdb"),
]


@pytest.fixture(scope="module")
def origin(farm) -> Iterator[str]:
    """Serve the workspace; the first line of the output is the address."""
    with programs.start_piped("-m", "windrow", "serve", "--port", "0", "--workspace", farm.config.root) as server:
        yield server.stdout.readline().strip().rstrip("/")
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 only this file drives a browser

    with (
        sync_playwright() as driver,
        closing(driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])) as started,
    ):
        yield started


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_page_fits_is_accessible_and_stays_at_home(browser, origin: str, width: int, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"
    )
    page, requested, dialogs = context.new_page(), [], []
    page.on("request", lambda request: requested.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    axe, wrong = Path(AXE).read_text(), {}
    for path in BROWSED:
        page.goto(origin + path)
        page.evaluate(axe)
        violations = page.evaluate("axe.run({resultTypes: ['violations']}).then(found => found.violations)")
        faults = [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in violations]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            faults.append(("wider than the screen", []))
        if page.title() == "pwned":
            faults.append(("a script ran", []))
        if faults:
            wrong[path] = faults
    context.close()
    assert wrong == {}
    assert dialogs == []
    assert [url for url in requested if not url.startswith(origin)] == []


def test_pages_can_be_used_by_keyboard_without_script(browser, origin: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(origin)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the link that skips to the content
    assert page.url.endswith("#content")
    page.get_by_label("Address, file, record or source").focus()
    page.keyboard.type(f"{SITE}/ferry.html")
    page.keyboard.press("Enter")
    page.wait_for_url("**/why?**")
    assert page.get_by_role("heading", level=1).inner_text() == f"{SITE}/ferry.html"
    page.goto(f"{origin}/changes?{LONG_AGO}")
    page.get_by_label("words").focus()
    page.keyboard.type("ferry")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=ferry**")
    assert "2 changes" in page.content()
    context.close()


def test_a_capture_does_nothing_in_a_browser(browser, origin: str) -> None:
    page = browser.new_page()
    page.goto(f"{origin}/why?name={FERRY}")
    page.get_by_role("link", name="capture").first.click()
    page.get_by_role("link", name="Look at it as text").click()
    assert "<script>" in page.inner_text("body")
    assert page.title() != "pwned"
    page.close()
