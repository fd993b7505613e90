"""Configuration: windrow.toml, sources, environment variables and flags; each value with its origin."""

from windrow.config.load import declared_settings, default_toml, load, settings_of_sources
from windrow.config.workspace import Archive, RunSettings, Workspace, find_workspace, trust
from windrow.settings.setting import Setting, Value

__all__ = [
    "Archive",
    "RunSettings",
    "Setting",
    "Value",
    "Workspace",
    "declared_settings",
    "default_toml",
    "find_workspace",
    "load",
    "settings_of_sources",
    "trust",
]
