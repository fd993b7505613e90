"""Readers of documents: functions from bytes to events, one module for each kind of document."""
