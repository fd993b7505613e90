"""The pages in a real browser: they fit, they can be used without script and by keyboard, and load nothing from elsewhere."""

from __future__ import annotations

import asyncio
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from tests import programs
from tests.house.tree import ROOT
from tests.web.farm import SITE
from tests.web.homes import PAPER, make_council, make_gazette, make_library
from tests.web.test_pages import FERRY, LONG_AGO
from windrow.app.listening import Address, listen
from windrow.web import app

ZIP = "H.2026-01-12.1.impc.zip"
BROWSED = (
    f"/?{LONG_AGO}", f"/changes?{LONG_AGO}", f"/diff?name={FERRY}", f"/diff?name={FERRY}&form=sides", f"/why?name={FERRY}", "/why?name=H.2026-01-13.9.impc.zip",
    "/sessions", "/sessions/1", "/search?q=ferry&explain=1", "/nothing",
    "/help", "/help/howto/look-in-a-browser", "/openapi", "/collections?collection=drops", "/collections?collection=drops&view=zips", f"/collections?collection=drops&name={ZIP}",
    "/changes?kind=gone&since=2026-01-01", "/search", "/search?q=unheardof", "/why?name=town", "/why?name=3",
    "/collections?collection=pages", "/collections?collection=pages&name=town", f"/collections?collection=pages&name={FERRY}&day=2026-11-21",
)  # fmt: skip

HOMES = (
    "/council/collections?day=2026-11-01", "/council/collections?view=month&day=2026-11-01", "/council/collections?name=council/1",
    "/council/", "/gazette/collections", "/gazette/collections?name=article%202", "/gazette/diff?name=article%202",
    "/library/collections", f"/library/collections?name=sha1:{PAPER}", "/library/changes",
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
def mounted(tmp_path_factory) -> Iterator[str]:
    """Serve three small workspaces, with events, news and papers, as parts of another application."""
    makers = {"council": make_council, "gazette": make_gazette, "library": make_library}
    routes = [Mount(f"/{name}", app(make(tmp_path_factory.mktemp(name) / name))) for name, make in makers.items()]
    with closing(listen(Address("127.0.0.1", 0))) as listener:
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), lifespan="off", log_level="error", ws="none"))
        serving = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        serving.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        serving.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 only this file drives a browser

    with (
        sync_playwright() as driver,
        closing(driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])) as started,
    ):
        yield started


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_page_fits_is_accessible_and_stays_at_home(
    browser, origin: str, mounted: str, width: int, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"
    )
    page, requested, dialogs = context.new_page(), [], []
    page.on("request", lambda request: requested.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    axe, wrong = Path(AXE).read_text(), {}
    for address in (*(origin + path for path in BROWSED), *(mounted + path for path in HOMES)):
        page.goto(address)
        violations = []
        if width < 1280 or address.startswith(origin):  # axe takes most of the time
            page.evaluate(axe)
            violations = page.evaluate("axe.run({resultTypes: ['violations']}).then(found => found.violations)")
        faults = [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in violations]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            faults.append(("wider than the screen", []))
        if page.title() == "pwned":
            faults.append(("a script ran", []))
        if faults:
            wrong[address] = faults
    context.close()
    assert wrong == {}
    assert dialogs == []
    assert [url for url in requested if not url.startswith((origin, mounted))] == []


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
