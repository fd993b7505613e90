"""Draw the pictures of the web view that the README shows, from the workspace of the demo: `make pictures` runs this.

python tools/pictures.py build/demo pictures
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright

_MOST_BYTES = 200_000  # of all pictures together
_COLOURS = 256  # of each picture: letters stay smooth, and it takes a third of the bytes


class Picture(NamedTuple):
    """A picture: the name of its file, the page that it shows, the height of the window, and its colours."""

    name: str
    page: str
    height: int
    scheme: Literal["light", "dark"]


PICTURES = (
    Picture("today", "/", 1000, "light"),
    Picture("story", "/why?name=H.2026-01-12.7.impc.zip", 800, "dark"),
)


def draw(workspace: Path, folder: Path) -> int:
    """Draw each picture into a folder, and return how many bytes they have together."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Chromium is not installed: make servers")
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "windrow", "serve", "--port", "0", "--workspace", str(workspace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        origin = server.stdout.readline().strip().rstrip("/")
        try:
            with (
                sync_playwright() as driver,
                closing(driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])) as browser,
            ):
                for picture in PICTURES:
                    size = ViewportSize(width=1080, height=picture.height)
                    page = browser.new_page(viewport=size, color_scheme=picture.scheme)
                    page.goto(origin + picture.page)
                    drawn = Image.open(BytesIO(page.screenshot()))
                    drawn.quantize(_COLOURS).save(folder / f"{picture.name}.png", optimize=True)
        finally:
            server.terminate()
    return sum((folder / f"{picture.name}.png").stat().st_size for picture in PICTURES)


if __name__ == "__main__":
    total = draw(Path(sys.argv[1]), Path(sys.argv[2]))
    if total > _MOST_BYTES:
        raise SystemExit(f"the pictures have {total:,} bytes together, more than {_MOST_BYTES:,}")
