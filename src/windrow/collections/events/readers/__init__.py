"""Readers of documents: functions from bytes to events. Each module is for one kind of document."""
