"""Runs harvests: session, lease, ledger, fetchers, pool. It contains the name of no collection."""
