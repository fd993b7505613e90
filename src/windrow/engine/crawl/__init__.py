"""Crawl: origins walked side by side, each fed from the ledger; and WARC files of other makers, read as if crawled."""
