"""A Scrapy spider, tuned, that follows all links of its seeds' hosts and puts bodies into SQLite.

It runs in Scrapy's own environment: `scrapy runspider spider.py -a seeds=URL,URL -a into=FILE`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor


class StorePages:
    """Write pages to a table, some hundred at a time."""

    def open_spider(self, spider: Any) -> None:
        self.link = sqlite3.connect(spider.into)
        self.link.execute("CREATE TABLE page (url TEXT PRIMARY KEY, body BLOB)")
        self.rows: list[tuple[str, bytes]] = []

    def process_item(self, item: dict[str, Any], spider: Any) -> dict[str, Any]:
        self.rows.append((item["url"], item["body"]))
        if len(self.rows) >= 200:
            self.flush()
        return item

    def flush(self) -> None:
        self.link.executemany("INSERT OR IGNORE INTO page VALUES (?, ?)", self.rows)
        self.link.commit()
        self.rows.clear()

    def close_spider(self, spider: Any) -> None:
        self.flush()
        self.link.close()


class Follow(scrapy.Spider):
    """Follow all links within the hosts of the seeds."""

    name = "follow"
    custom_settings: ClassVar[dict[str, Any]] = {
        "CONCURRENT_REQUESTS": 128,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "CONCURRENT_ITEMS": 4,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "REFERER_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "ITEM_PIPELINES": {StorePages: 1},
    }

    def __init__(self, seeds: str, into: str, **words: Any) -> None:
        super().__init__(**words)
        self.start_urls = seeds.split(",")
        self.allowed_domains = [urlsplit(seed).hostname for seed in self.start_urls]
        self.into = into
        self.links = LinkExtractor()

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "body": response.body}
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url, self.parse)
