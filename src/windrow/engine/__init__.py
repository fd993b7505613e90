"""Runs harvests: session, lease, ledger, fetchers, pool. It does not know any collection by name."""
