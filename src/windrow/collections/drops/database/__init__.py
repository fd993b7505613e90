"""The databases of drops: the tracker, which is projected from the ledger, and the store of loaded records."""
