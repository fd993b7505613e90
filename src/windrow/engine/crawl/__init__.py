"""Crawl: origins walked in parallel, with addresses from the ledger; and WARC files of others, read as if crawled."""
