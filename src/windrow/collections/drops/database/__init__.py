"""The tracker's tables: how they are made, seeded, and projected from the ledger."""
