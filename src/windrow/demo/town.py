"""The town of the demo: a newspaper with a feed, and a council with a calendar, on the first day and on the second."""

from __future__ import annotations

from windrow.demo.site import HTML, Addresses, SiteAnswer

GAZETTE, COUNCIL = "gazette", "council"

TOML = {
    GAZETTE: 'collection = "news"\nurl = "{origin}/"\nkind = "feed"\naddresses = ["/feed.xml"]\n',
    COUNCIL: (
        'collection = "events"\nurl = "{origin}/calendar.ics"\nreader = "icalendar"\nevery = "1 s"\n'
        'branch = "Town"\nentity = "Harbour Council"\ntimezone = "Europe/London"\n'
    ),
}
"""What the source of each says; `{origin}` is where it is."""

_TEXTS = {
    "ferry-repair": (
        "Old ferry goes to the yard", "Ada Tern", "2026-11-16T08:30:00Z",
        (("The old ferry left the pier on Monday morning for the yard, where her hull is to be painted and her engine"
         " taken apart. The council expects her back before the spring tides."),
         "Until then a smaller boat carries passengers across the bay. Carts and cattle must take the coast road."),
    ),
    "keeper-retires": (
        "Keeper of the light retires after thirty years", "Bela Knot", "2026-11-16T10:00:00Z",
        (("The keeper of the lighthouse gave back his keys after thirty years of service. He climbed the stair of 217"
         " steps some twenty thousand times, as he told this paper."),
         "His place is taken by his daughter, who has helped him since she could carry the oil."),
    ),
    "compass": (
        "Museum is given a compass", "Ada Tern", "2026-11-17T07:15:00Z",
        (("The compass of the old ferry, thought lost since the storm of 1911, was found in an attic and given to the"
         " museum of small boats, where it can be seen from Wednesday."),
         "It still points north."),
    ),
}  # fmt: skip
_CORRECTED = "2026-11-17T09:00:00Z"
_CORRECTION = "Correction: the keeper served for thirty-one years, not thirty."

_MEETINGS = (
    ("budget", "Budget of the harbour", "20261124T180000", "CONFIRMED"),
    ("pier", "Repair of the pier", "20261126T170000", "CONFIRMED"),
    ("lamps", "Lamps for the sea wall", "20261201T180000", "CONFIRMED"),
)
_CHANGED = (
    ("budget", "Budget of the harbour", "20261125T190000", "CONFIRMED"),  # moved by a day and an hour
    ("pier", "Repair of the pier", "20261126T170000", "CANCELLED"),
    ("lamps", "Lamps for the sea wall", "20261201T180000", "CONFIRMED"),
    ("ferry", "The ferry in winter", "20261203T180000", "CONFIRMED"),
)


def answer(name: str, path: str, at: Addresses, day: int) -> SiteAnswer:
    """Return what the newspaper or the council answers at a path on a day, counted from 1."""
    if name == COUNCIL:
        return _calendar(day) if path == "/calendar.ics" else SiteAnswer(status=404)
    slug = path.removeprefix("/").removesuffix(".html")
    if path == "/feed.xml":
        return SiteAnswer(_feed(at[GAZETTE], _printed(day), day), type="application/atom+xml")
    return _article(slug, day) if slug in _printed(day) else SiteAnswer(status=404)


def _printed(day: int) -> tuple[str, ...]:
    """Return the articles that are out on a day, the newest first."""
    return ("compass", "keeper-retires", "ferry-repair")[0 if day > 1 else 1 :]


def _feed(origin: str, slugs: tuple[str, ...], day: int) -> bytes:
    entries = ""
    for slug in slugs:
        title, _, published, _ = _TEXTS[slug]
        updated = _CORRECTED if slug == "keeper-retires" and day > 1 else published
        entries += (
            f'<entry><title>{title}</title><link href="{origin}/{slug}.html"/><id>{origin}/{slug}</id>'
            f"<published>{published}</published><updated>{updated}</updated></entry>"
        )
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>The Gazette</title><id>{origin}/</id>'
        f"<updated>{updated}</updated>{entries}</feed>"
    ).encode()


def _article(slug: str, day: int) -> SiteAnswer:
    title, author, published, printed = _TEXTS[slug]
    paragraphs: tuple[str, ...] = printed
    if slug == "keeper-retires" and day > 1:
        paragraphs = (*paragraphs, _CORRECTION)
    text = "".join(f"<p>{one}</p>" for one in paragraphs)
    head = (
        f'<title>{title} - The Gazette</title><meta name="author" content="{author}">'
        f'<meta property="og:title" content="{title}"><meta property="article:published_time" content="{published}">'
    )
    body = f"<nav><a href='/'>Front page</a></nav><article><h1>{title}</h1>{text}</article>"
    page = f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
    return SiteAnswer(page.encode(), type=HTML)


def _calendar(day: int) -> SiteAnswer:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Harbour Council//Calendar//EN"]
    for uid, title, start, status in _MEETINGS if day == 1 else _CHANGED:
        lines += [
            "BEGIN:VEVENT", f"UID:{uid}@council.example", f"DTSTAMP:2026111{5 + day}T060000Z",
            f"DTSTART;TZID=Europe/London:{start}", f"SUMMARY:{title}", f"STATUS:{status}",
            "LOCATION:Town hall", "END:VEVENT",
        ]  # fmt: skip
    return SiteAnswer("\r\n".join((*lines, "END:VCALENDAR", "")).encode(), type="text/calendar")
