"""The settings: typed, complete with defaults, read from YAML.

``Settings()`` is the embedded default, which needs neither a key nor a network;
:func:`load_settings` reads a file. ``vixio init`` writes a file that explains every key.
"""

from vixio.settings.assistant import AssistantSettings
from vixio.settings.data import DataSection
from vixio.settings.load import load_layered, load_settings, override
from vixio.settings.memory import MemorySection
from vixio.settings.sections import (
    AuthSettings,
    LimitSettings,
    ListeningSettings,
    LoggingSettings,
    LogLevel,
    OutputSettings,
    ServerSettings,
    TimeoutSettings,
)
from vixio.settings.settings import Settings

__all__ = [
    "AssistantSettings",
    "AuthSettings",
    "DataSection",
    "LimitSettings",
    "ListeningSettings",
    "LogLevel",
    "LoggingSettings",
    "MemorySection",
    "OutputSettings",
    "ServerSettings",
    "Settings",
    "TimeoutSettings",
    "load_layered",
    "load_settings",
    "override",
]
