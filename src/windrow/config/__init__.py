"""Configuration: windrow.toml, sources, environment and flags, each value with its origin."""

from windrow.config.file import find
from windrow.config.load import load, settings
from windrow.config.source import settings_of
from windrow.config.template import default_toml
from windrow.config.trust import trust
from windrow.config.workspace import Archive, RunSettings, Workspace
from windrow.settings.setting import Setting, Value

__all__ = [
    "Archive",
    "RunSettings",
    "Setting",
    "Value",
    "Workspace",
    "default_toml",
    "find",
    "load",
    "settings",
    "settings_of",
    "trust",
]
