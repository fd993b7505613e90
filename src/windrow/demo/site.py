"""The web sites of the demo: their pages on the first and second day, with faults like those of real sites."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from windrow.clock import now

HARBOUR, MUSEUM, SHOP, MANOR = "harbour", "museum", "shop", "manor"
PAGE_SITES = (HARBOUR, MUSEUM, SHOP, MANOR)

HTML = "text/html; charset=utf-8"


class SiteResponse(NamedTuple):
    """A site's response. `type` is its Content-Type, `location` is the target of a redirect."""

    body: bytes = b""
    status: int = 200
    type: str = HTML
    location: str = ""


Origins = Mapping[str, str]
"""A dict from the name of each site to its origin, such as `http://127.0.0.1:8001`."""


def page_site_response(name: str, path: str, origins: Origins, day: int) -> SiteResponse:
    """Return the response of one of `PAGE_SITES` for a path (with its query) on a day, counted from 1."""
    if name == SHOP and path.startswith("/calendar/"):
        return _calendar(path)
    page = _SITES[name](origins, day).get(path)
    return page if page is not None else SiteResponse(_page("Not found", "<p>There is nothing here."), 404)


def _page(title: str, body: str, head: str = "") -> bytes:
    text = f'<!doctype html><html lang="en"><head><title>{title}</title>{head}</head><body>{body}</body></html>'
    return text.encode()


def _article(title: str, body: str, head: str = "", menu: str = "") -> SiteResponse:
    return SiteResponse(
        _page(title, f"<nav>{menu}</nav><main><h1>{title}</h1>{body}</main><footer>Made up.</footer>", head)
    )


LIGHTHOUSE_TEXT = (
    "<p>The lighthouse was lit in 1832 and has been looked after by eleven keepers. Its lamp is seen from twenty-one"
    " sea miles away, and its stair has 217 steps.<p>Visitors may climb it in summer."
)


def _front_page_links(origins: Origins) -> tuple[tuple[str, str], ...]:
    return (
        ("/lighthouse.html", "The lighthouse and its keepers"), ("/tides.html", "Tides"), ("/ferry.html", "Ferry"),
        ("/light.html", "The old address of the lighthouse"), ("/keepers/list.html", "For the keepers only"),
        ("/drafts.html", "Drafts"), (f"{origins[MUSEUM]}/", "The museum"), (f"{origins[SHOP]}/", "The shop"),
        (f"{origins[MANOR]}/", "The manor"), ("https://example.org/elsewhere", "Elsewhere"),
        ("/ferry.html?utm_source=front", "Ferry, once more"), ("/missing.html", "A page that is not there"),
    )  # fmt: skip


def _harbour(origins: Origins, day: int) -> dict[str, SiteResponse]:
    """Return the harbour's pages by path, among them a redirect, a copy, a page that changes, and one with noindex."""
    menu = '<a href="/">Harbour</a> <a href="/tides.html">Tides</a> <a href="/lighthouse.html">Lighthouse</a>'
    times = "Every hour from eight to eighteen." if day == 1 else "Every two hours, since the old boat is under repair."
    links = "".join(f'<li><a href="{href}">{text}</a>' for href, text in _front_page_links(origins))
    paths = ("/", "/lighthouse.html", "/tides.html", "/ferry.html", "/attic.html")
    sitemap = "".join(f"<url><loc>{origins[HARBOUR]}{path}</loc></url>" for path in paths)
    return {
        "/robots.txt": SiteResponse(
            f"User-agent: *\nDisallow: /keepers/\nSitemap: {origins[HARBOUR]}/sitemap.xml\n".encode(), type="text/plain"
        ),
        "/sitemap.xml": SiteResponse(
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{sitemap}</urlset>'.encode(),
            type="application/xml",
        ),
        "/": _article("The harbour", f"<p>All about our harbour, its boats and its light.<ul>{links}</ul>"),
        "/lighthouse.html": _article("The lighthouse", LIGHTHOUSE_TEXT, menu=menu),
        "/light.html": SiteResponse(status=301, location="/lighthouse.html"),
        "/lighthouse-print.html": _article(
            "The lighthouse", LIGHTHOUSE_TEXT, '<link rel="canonical" href="/lighthouse.html">', menu
        ),
        "/tides.html": _article(
            "Tides",
            '<p>High water is at six, low water at noon. <a href="/lighthouse-print.html">To print</a>',
            menu=menu,
        ),
        "/ferry.html": _article("The ferry", f"<p>{times} The crossing takes twenty minutes.", menu=menu),
        "/attic.html": _article("The attic", "<p>No page links here; only the sitemap knows of it.", menu=menu),
        "/drafts.html": _article(
            "Drafts", "<p>Not to be found by searching.", '<meta name="robots" content="noindex">', menu
        ),
        "/keepers/list.html": _article("Keepers", "<p>robots.txt asks crawlers to stay away."),
    }


def _museum(origins: Origins, day: int) -> dict[str, SiteResponse]:
    """Return the museum's pages by path, some with faults; on day 2, one is removed, and the feed has other news."""
    news_path, title = (
        ("/news/whale.html", "A whale in the bay") if day == 1 else ("/news/compass.html", "A compass was given")
    )
    feed = (
        f'<rss version="2.0"><channel><title>Museum</title><item><title>{title}</title>'
        f"<link>{origins[MUSEUM]}{news_path}</link></item></channel></rss>"
    )
    broken_page = (
        "<html><title>Ships in bottles</title><p>Twelve ships <b>stand <i>in bottles</b></i> on <a href=/boat.html>one"
        ' shelf<p><table><tr><div>The <a href="map.html#top">map</a> was drawn by hand'
    )
    old_page = (
        '<html lang="fr"><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>Musée'
        "</title></head><body><main><h1>Musée</h1><p>Le musée est ouvert l\u2019été, de mai à août, tous les jours"
        " sauf le lundi.</main></body></html>"
    )
    removed_page = SiteResponse(_page("Gone", "<p>This report was taken back."), 410)
    return {
        "/robots.txt": SiteResponse(b"User-agent: *\nAllow: /\n", type="text/plain"),
        "/": _article(
            "The museum of small boats",
            '<p>Boats, maps and bottles. <a href="/bottles.html">Bottles</a> <a href="/fr.html">En français</a>'
            f' <a href="{origins[HARBOUR]}/lighthouse.html">The lighthouse</a> <a href="/report.html">The report</a>',
            '<link rel="alternate" type="application/rss+xml" href="/feed.xml">',
        ),
        "/feed.xml": SiteResponse(feed.encode(), type="application/rss+xml"),
        "/bottles.html": SiteResponse(broken_page.encode(), type="text/html"),
        "/fr.html": SiteResponse(old_page.encode("cp1252"), type="text/html"),
        "/map.html": _article("The map", "<p>It shows the coast as it was in 1790, with the lighthouse added later."),
        "/boat.html": _article("The smallest boat", "<p>It is as long as a thumb, and it floats."),
        "/news/whale.html": _article("A whale in the bay", "<p>On Monday a whale was seen from the lighthouse."),
        "/news/compass.html": _article("A compass was given", "<p>The museum was given the compass of the old ferry."),
        "/report.html": _article("The report", "<p>Our numbers.") if day == 1 else removed_page,
    }


def _shop(origins: Origins, _day: int) -> dict[str, SiteResponse]:
    """Return the shop's pages by path. Many links are traps: session ids, endless queries, an endless calendar."""
    goods = "".join(
        f'<li><a href="/rope.html?PHPSESSID={number:032x}">Rope {number}</a>'
        f' <a href="/list?sort={number}&amp;page={number}">sorted</a>'
        for number in range(20)
    )
    return {
        "/robots.txt": SiteResponse(b"User-agent: *\nDisallow: /cart\n", type="text/plain"),
        "/": _article(
            "The shop",
            f'<ul>{goods}</ul><a href="/calendar/2026/11/">Calendar</a> <a href="/cart?add=1">Cart</a>'
            f' <a href="/rope.html">Ropes</a> <a href="{origins[HARBOUR]}/">Harbour</a>',
        ),
        "/rope.html": _article("Ropes", "<p>Hemp, sisal and nylon, sold by the metre."),
    }


def _manor(_origins: Origins, _day: int) -> dict[str, SiteResponse]:
    """Return the manor's pages by path; its robots.txt forbids every page."""
    return {
        "/robots.txt": SiteResponse(b"User-agent: *\nDisallow: /\n", type="text/plain"),
        "/": _article("The manor", "<p>No crawler reads this."),
    }


def _calendar(path: str) -> SiteResponse:
    """Return the page of one month, `/calendar/YEAR/MONTH/`, of the shop's endless calendar."""
    numbers = [word for word in path.split("/")[2:] if word.isdecimal()]
    year, month = (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 and len(numbers[0]) < 6 else (2026, 1)
    next_month = (year + month // 12, month % 12 + 1)
    return _article(
        f"Events of {month}/{year}",
        f'<p>Nothing happens. <a href="/calendar/{next_month[0]}/{next_month[1]:02}/">Next month</a>',
    )


_SITES = {HARBOUR: _harbour, MUSEUM: _museum, SHOP: _shop, MANOR: _manor}


GAZETTE, COUNCIL = "gazette", "council"

TOWN_SOURCES = {
    GAZETTE: 'collection = "news"\nurl = "{origin}/"\nkind = "feed"\nseeds = ["/feed.xml"]\n',
    COUNCIL: (
        'collection = "events"\nurl = "{origin}/calendar.ics"\nreader = "icalendar"\nevery = "1 s"\n'
        'branch = "Town"\nentity = "Harbour Council"\ntimezone = "Europe/London"\n'
    ),
}
"""The settings, as TOML, of the source for each site of the town; `{origin}` is replaced by the site's origin."""

# By slug, which is the page's name: title, author, time of publication, and the paragraphs.
_NEWS_ARTICLES = {
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
_CORRECTION_TIME = "2026-11-17T09:00:00Z"
_CORRECTION = "Correction: the keeper served for thirty-one years, not thirty."

# Identifier, title, local time of the beginning, and status.
_FIRST_DAY = date(2026, 11, 20)  # the times of meetings are moved by the days since then, so that they are ahead
_MEETINGS = (
    ("budget", "Budget of the harbour", "20261124T180000", "CONFIRMED"),
    ("pier", "Repair of the pier", "20261126T170000", "CONFIRMED"),
    ("lamps", "Lamps for the sea wall", "20261201T180000", "CONFIRMED"),
)
_CHANGED_MEETINGS = (
    ("budget", "Budget of the harbour", "20261125T190000", "CONFIRMED"),  # moved by a day and an hour
    ("pier", "Repair of the pier", "20261126T170000", "CANCELLED"),
    ("lamps", "Lamps for the sea wall", "20261201T180000", "CONFIRMED"),
    ("ferry", "The ferry in winter", "20261203T180000", "CONFIRMED"),
)


def town_site_response(name: str, path: str, origins: Origins, day: int) -> SiteResponse:
    """Return the response of the newspaper or the council for a path on a day, counted from 1."""
    if name == COUNCIL:
        return _council_calendar(day) if path == "/calendar.ics" else SiteResponse(status=404)
    slug = path.removeprefix("/").removesuffix(".html")
    if path == "/feed.xml":
        return SiteResponse(_feed(origins[GAZETTE], _published_slugs(day), day), type="application/atom+xml")
    return _news_article(slug, day) if slug in _published_slugs(day) else SiteResponse(status=404)


def _published_slugs(day: int) -> tuple[str, ...]:
    """Return the slugs of the articles published on or before a day, the newest first."""
    return ("compass", "keeper-retires", "ferry-repair")[0 if day > 1 else 1 :]


def _feed(origin: str, slugs: tuple[str, ...], day: int) -> bytes:
    entries = ""
    for slug in slugs:
        title, _, published, _ = _NEWS_ARTICLES[slug]
        updated = _CORRECTION_TIME if slug == "keeper-retires" and day > 1 else published
        entries += (
            f'<entry><title>{title}</title><link href="{origin}/{slug}.html"/><id>{origin}/{slug}</id>'
            f"<published>{published}</published><updated>{updated}</updated></entry>"
        )
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>The Gazette</title><id>{origin}/</id>'
        f"<updated>{updated}</updated>{entries}</feed>"
    ).encode()


def _news_article(slug: str, day: int) -> SiteResponse:
    """Return the page of an article; one article is corrected on the second day."""
    title, author, published, article_texts = _NEWS_ARTICLES[slug]
    paragraphs: tuple[str, ...] = article_texts
    if slug == "keeper-retires" and day > 1:
        paragraphs = (*paragraphs, _CORRECTION)
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    head = (
        f'<title>{title} - The Gazette</title><meta name="author" content="{author}">'
        f'<meta property="og:title" content="{title}"><meta property="article:published_time" content="{published}">'
    )
    body = f"<nav><a href='/'>Front page</a></nav><article><h1>{title}</h1>{text}</article>"
    page = f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>'
    return SiteResponse(page.encode(), type=HTML)


def _council_calendar(day: int) -> SiteResponse:
    """Return the council's meetings as iCalendar. On day 2, one is moved, one is cancelled and one is added."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Harbour Council//Calendar//EN"]
    later = now().date() - _FIRST_DAY
    for uid, title, first_start, status in _MEETINGS if day == 1 else _CHANGED_MEETINGS:
        start = f"{date.fromisoformat(first_start[:8]) + later:%Y%m%d}{first_start[8:]}"
        lines += [
            "BEGIN:VEVENT", f"UID:{uid}@council.example", f"DTSTAMP:2026111{5 + day}T060000Z",
            f"DTSTART;TZID=Europe/London:{start}", f"SUMMARY:{title}", f"STATUS:{status}",
            "LOCATION:Town hall", "END:VEVENT",
        ]  # fmt: skip
    return SiteResponse("\r\n".join((*lines, "END:VCALENDAR", "")).encode(), type="text/calendar")
