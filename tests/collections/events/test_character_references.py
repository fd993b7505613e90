"""Character references in the plain texts of sources, such as `&#8217;`."""

from __future__ import annotations

import pytest

from tests.collections.events.reader import read

JSON = """{"items": [{"id": 1, "title": "Mayor&#8217;s Tea &amp; Talk", "start": "2026-10-05",
  "location": "A &amp;amp; B", "description": "Cakes &amp; pies", "tag": "Arts &amp; Crafts"}]}"""
XML = """<l><items><id>1</id><title>Mayor&amp;#8217;s Tea &amp;amp; Talk</title><start>2026-10-05</start>
  <location>A &amp;amp; B</location><description>Cakes &amp;amp; pies</description><tag>Arts &amp;amp; Crafts</tag></items></l>"""
CALENDAR = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:1
DTSTART:20261005
SUMMARY:Mayor&#8217;s Tea &amp; Talk
LOCATION:A &amp; B
END:VEVENT
END:VCALENDAR"""
PAGE = """<script type="application/ld+json">{"@type": "Event", "name": "Mayor&amp;#8217;s Tea &amp; Talk",
  "startDate": "2026-10-05", "location": "A &amp; B"}</script>"""
RULES = {
    "items": "items", "fields": {name: name for name in ("id", "title", "start", "location", "description")},
    "extra": {"tag": "tag"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("reader", "content"), [("json", JSON), ("xml", XML), ("icalendar", CALENDAR), ("schema.org", PAGE)]
)
def test_they_are_decoded_in_titles_and_places(reader, content):
    (event,), unread = read(content, reader, **(RULES if reader in {"json", "xml"} else {}))
    assert unread == []
    assert (event.value["title"], event.value["location"]) == ("Mayor\u2019s Tea & Talk", "A & B")
    if reader in {"json", "xml"}:
        assert (event.value["description"], event.value["tag"]) == ("Cakes & pies", "Arts & Crafts")


def test_a_description_that_may_be_html_keeps_them():
    content = JSON.replace("Cakes &amp; pies", "<p>1 &lt; 2</p>")
    (event,), _ = read(content, "json", **RULES)
    assert event.value["description"] == "<p>1 &lt; 2</p>"
