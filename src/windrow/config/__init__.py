"""Configuration: windrow.toml, sources, environment and flags, each value with its origin."""

from windrow.config.file import find
from windrow.config.load import load
from windrow.config.resource import SHIPPED, resources, schema
from windrow.config.section import CENTRE_SETTINGS, SETTINGS, SOURCE_SETTINGS
from windrow.config.setting import Setting
from windrow.config.template import default_toml
from windrow.config.trust import trust
from windrow.config.workspace import Archive, Centre, Database, Drops, Pages, Run, Value, Workspace

__all__ = [
    "CENTRE_SETTINGS",
    "SETTINGS",
    "SHIPPED",
    "SOURCE_SETTINGS",
    "Archive",
    "Centre",
    "Database",
    "Drops",
    "Pages",
    "Run",
    "Setting",
    "Value",
    "Workspace",
    "default_toml",
    "find",
    "load",
    "resources",
    "schema",
    "trust",
]
