"""Runs harvests: session, lease, ledger, fetchers, pool. It does not contain the name of any collection."""
