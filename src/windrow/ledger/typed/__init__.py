"""What the ledger's .sql files say, in Python: a module for each, written by `make queries` and never by hand."""
