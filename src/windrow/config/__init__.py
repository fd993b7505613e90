"""Configuration: windrow.toml, sources, environment variables and flags; each value with its origin."""

from windrow.config.load import default_toml, load, settings, settings_of
from windrow.config.workspace import Archive, RunSettings, Workspace, find, trust
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
