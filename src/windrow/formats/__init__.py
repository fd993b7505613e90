"""Bytes to values and back: no files, no sockets, no clocks."""
