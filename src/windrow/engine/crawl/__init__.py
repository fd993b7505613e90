"""Crawl: walk origins in parallel, with addresses from the ledger, and import WARC files of other crawlers."""
