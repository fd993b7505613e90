"""Addresses of the web: one spelling for each, and links resolved by the hundred thousand a second."""

from windrow.formats.url.normal import LONGEST, Resolved, normalise
from windrow.formats.url.other import other
from windrow.formats.url.part import Parts, parts
from windrow.formats.url.resolver import Resolver
from windrow.formats.url.without import without

__all__ = ["LONGEST", "Parts", "Resolved", "Resolver", "normalise", "other", "parts", "without"]
