"""What runs a harvest: session, lease, ledger, fetchers, pool. Knows no collection by name."""
