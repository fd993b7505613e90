"""The five standards, one folder each."""
