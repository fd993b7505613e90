"""Tests of the web view."""
