"""The public test kit: try a pipeline, an agent or a provider without models, network or waiting.

- :class:`VirtualTimeLoop`: an event loop whose clock jumps to the next deadline
- :class:`ScriptedVAD`, :class:`ScriptedASR`, :class:`ScriptedAgent`, :class:`ScriptedTTS`:
  providers that answer as the script says, after the delay it says, or fail as it says
- :class:`ManualConnection`: a device without a wire, which records what it was sent and when
"""

from vixio.testing.clock import VirtualTimeLoop, run_virtual
from vixio.testing.connection import ManualConnection, Sent, silence, speech
from vixio.testing.providers import (
    ScriptedAgent,
    ScriptedAgentBackend,
    ScriptedASR,
    ScriptedTTS,
    ScriptedVAD,
    ToolUse,
)

__all__ = [
    "ManualConnection",
    "ScriptedASR",
    "ScriptedAgent",
    "ScriptedAgentBackend",
    "ScriptedTTS",
    "ScriptedVAD",
    "Sent",
    "ToolUse",
    "VirtualTimeLoop",
    "run_virtual",
    "silence",
    "speech",
]
