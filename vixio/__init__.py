"""Vixio: the voice-assistant server for ESP32 xiaozhi devices.

The names here are the public interface; docs/api.md says what is stable. They are imported when
they are first used, so that ``import vixio`` and ``vixio --help`` stay quick.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vixio.core.telemetry import switch_off

if TYPE_CHECKING:
    from vixio.composition.choices import Providers
    from vixio.core import commands
    from vixio.core.device import Device, DeviceProfile, ToolAccess
    from vixio.core.errors import (
        ConfigError,
        ConnectionClosed,
        ProviderError,
        ToolError,
        VixioError,
    )
    from vixio.core.pipeline import Pipeline
    from vixio.core.session import events
    from vixio.core.session.conversation import Conversation
    from vixio.core.session.session import Session
    from vixio.core.session.speech import Priority, SpeechHandle, SpeechOutcome, SpeechStatus
    from vixio.core.session.written_reply import WrittenReply
    from vixio.core.tools.context import ToolContext
    from vixio.core.tools.function import FunctionCaller
    from vixio.core.tools.late import Deferred
    from vixio.core.tools.source import Fault, ToolSource
    from vixio.core.tools.types import ToolCallResult, ToolDefinition, ToolOptions
    from vixio.core.turns import endpointing, interruption
    from vixio.server import Server
    from vixio.settings import Settings
    from vixio.tools.decorator import tool, toolbox

__version__ = "0.1.0"

switch_off(os.environ)  # before any library is loaded that reads it

_MODULES = {
    "ConfigError": "vixio.core.errors",
    "ConnectionClosed": "vixio.core.errors",
    "Conversation": "vixio.core.session.conversation",
    "Deferred": "vixio.core.tools.late",
    "Device": "vixio.core.device",
    "DeviceProfile": "vixio.core.device",
    "Fault": "vixio.core.tools.source",
    "FunctionCaller": "vixio.core.tools.function",
    "Pipeline": "vixio.core.pipeline",
    "Priority": "vixio.core.session.speech",
    "ProviderError": "vixio.core.errors",
    "Providers": "vixio.composition.choices",
    "Server": "vixio.server",
    "Session": "vixio.core.session.session",
    "Settings": "vixio.settings",
    "SpeechHandle": "vixio.core.session.speech",
    "SpeechOutcome": "vixio.core.session.speech",
    "SpeechStatus": "vixio.core.session.speech",
    "ToolAccess": "vixio.core.device",
    "ToolCallResult": "vixio.core.tools.types",
    "ToolContext": "vixio.core.tools.context",
    "ToolDefinition": "vixio.core.tools.types",
    "ToolError": "vixio.core.errors",
    "ToolOptions": "vixio.core.tools.types",
    "ToolSource": "vixio.core.tools.source",
    "VixioError": "vixio.core.errors",
    "WrittenReply": "vixio.core.session.written_reply",
    "commands": "vixio.core",
    "endpointing": "vixio.core.turns",
    "events": "vixio.core.session",
    "interruption": "vixio.core.turns",
    "tool": "vixio.tools.decorator",
    "toolbox": "vixio.tools.decorator",
}
"""Name → the module that it is imported from."""

__all__ = [
    "ConfigError",
    "ConnectionClosed",
    "Conversation",
    "Deferred",
    "Device",
    "DeviceProfile",
    "Fault",
    "FunctionCaller",
    "Pipeline",
    "Priority",
    "ProviderError",
    "Providers",
    "Server",
    "Session",
    "Settings",
    "SpeechHandle",
    "SpeechOutcome",
    "SpeechStatus",
    "ToolAccess",
    "ToolCallResult",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolOptions",
    "ToolSource",
    "VixioError",
    "WrittenReply",
    "__version__",
    "commands",
    "endpointing",
    "events",
    "interruption",
    "tool",
    "toolbox",
]


if not TYPE_CHECKING:  # a type checker knows the names from above, and reports any other

    def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        source = _MODULES[name]
        if name in {"commands", "endpointing", "events", "interruption"}:  # modules
            found = import_module(f"{source}.{name}")
        else:
            found = getattr(import_module(source), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return __all__
