"""Addresses of the web: one spelling for each, and links resolved by the hundred thousand a second."""

from windrow.formats.url.normal import LONGEST, Parts, Resolved, normalise, other, parts, without
from windrow.formats.url.resolver import Resolver

__all__ = ["LONGEST", "Parts", "Resolved", "Resolver", "normalise", "other", "parts", "without"]
