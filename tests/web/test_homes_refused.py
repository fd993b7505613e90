"""What homes refuse: parameters that choose nothing on a page, and starts that no page gave."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from lxml import html

from tests.web.farm import SITE, get
from tests.web.homes import make_gazette
from windrow.web import app


@pytest.mark.parametrize(
    "query",
    [
        "pages&view=x", "pages&start=zzz", "pages&group=source:town", "pages&name=town&start=zzz",
        "pages&name=town&day=2026-11-21", f"pages&name={quote(SITE + '/ferry.html', safe='')}&start=1", "drops&start=zzz", "drops&q=a",
        "drops&day=2026-11-21", "drops&view=zips&day=2026-11-21",
    ],
)  # fmt: skip
def test_a_parameter_that_chooses_nothing_is_refused(view: Any, query: str) -> None:
    reply = get(view, f"/collections?collection={query}")
    assert reply.status == 400
    assert html.fromstring(reply.text).xpath("//h1/text()") == ["This cannot be asked so"]


def test_a_list_of_records_has_no_day_and_no_view(tmp_path: Any) -> None:
    view = app(make_gazette(tmp_path / "gazette"))
    for query in ("day=nonsense", "view=x", "name=article%202&start=5"):
        assert get(view, f"/collections?collection=news&{query}").status == 400
    assert get(view, "/collections?collection=news&q=ferries&group=").status == 200
