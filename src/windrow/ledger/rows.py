"""Rows that do something, and rows that are made of several columns each; all others are written into `typed`."""
