"""A static newspaper: a front page, articles, a feed and a sitemap, as files for any server."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from tests.servers.village import Village

PROSE = "".join(
    f"<p>Sentence {n} of a story about the harbour, the council and its plan for the quay of the town.</p>"
    for n in range(8)
)


def article(origin: str, number: int, *, text: str = PROSE, head: str = "", title: str = "The quay") -> str:
    """Return a page with JSON-LD of a news article."""
    linked_data = {
        "@context": "https://schema.org", "@type": "NewsArticle", "headline": f"{title} {number}",
        "datePublished": f"2025-11-{number:02}T08:00:00-06:00", "author": {"@type": "Person", "name": "Ann Lee"},
    }  # fmt: skip
    return (
        f"<html lang=en><head><title>{title} {number} | Gazette</title><link rel=canonical"
        f" href='{origin}/news/the-quay-story-{number}.html'>{head}<script type='application/ld+json'>{json.dumps(linked_data)}</script>"
        f"</head><body><nav><a href='/'>Home</a></nav><main><article><h1>{title} {number}</h1>{text}</article></main>"
        "<footer><a href='/about.html'>About us</a></footer></body></html>"
    )


def front(numbers: Iterable[int]) -> str:
    """Return a front page that links to articles."""
    links = "".join(
        f"<li><a href='/news/the-quay-story-{n}.html'>The long headline of story number {n}</a>" for n in numbers
    )
    return (
        "<html><head><title>Gazette</title><link rel=alternate type=application/rss+xml href=/rss.xml></head>"
        f"<body><h1>Gazette</h1><ul>{links}</ul><a href='/about.html'>About</a></body></html>"
    )


def rss(origin: str, numbers: Iterable[int], mark: str = "?utm_source=rss") -> str:
    """Return a feed of articles."""
    entries = "".join(
        f"<item><title>The quay {n}</title><link>{origin}/news/the-quay-story-{n}.html{mark}</link>"
        f"<pubDate>Sat, {n:02} Nov 2025 14:00:00 GMT</pubDate></item>"
        for n in numbers
    )
    return f"<?xml version='1.0'?><rss version='2.0'><channel><title>Gazette</title>{entries}</channel></rss>"


def sitemap(origin: str, numbers: Iterable[int]) -> str:
    """Return a news sitemap of articles."""
    urls = "".join(
        f"<url><loc>{origin}/news/the-quay-story-{n}.html</loc><news:news><news:publication_date>2025-11-{n:02}</news:publication_date>"
        f"<news:title>The quay {n}</news:title></news:news></url>"
        for n in numbers
    )
    return (
        "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
        f" xmlns:news='http://www.google.com/schemas/sitemap-news/0.9'>{urls}</urlset>"
    )


def publish(village: Village, numbers: Collection[int], site: int = 0) -> str:
    """Write the paper to a site of nginx; return its address."""
    origin = village.origin(site)
    village.put(site, "index.html", front(numbers))
    village.put(site, "about.html", "<html><title>About</title><h1>About us</h1><p>We are the Gazette of the town.</p>")
    village.put(site, "rss.xml", rss(origin, numbers))
    village.put(site, "sitemap.xml", sitemap(origin, numbers))
    for number in numbers:
        village.put(site, f"news/the-quay-story-{number}.html", article(origin, number))
    return origin
