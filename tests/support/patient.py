"""No limit of time decides a test that does not set it: the machine may be busy."""

from __future__ import annotations

import json
from typing import Any, Final

_TIMEOUTS: Final[dict[str, float]] = {
    "hello": 60,
    "turn": 180,
    "vad": 30,
    "asr": 60,
    "agent_first": 120,
    "agent_next": 120,
    "tts": 60,
    "tool_list": 20,
}
"""Seconds: models compute, processes start, a first turn waits for imports."""


def sections(**timeouts: float) -> dict[str, Any]:
    """Return sections of a settings file; ``timeouts`` are the limits that a test sets itself."""
    limits = {**_TIMEOUTS, **timeouts}
    # The providers' own limits have to be below the server's.
    return {
        "asr": {"name": "pocketsphinx", "timeout": 0.8 * limits["asr"]},
        "agent": {"name": "phrasebook", "first_token_timeout": 0.5 * limits["agent_first"]},
        "timeouts": limits,
        "assistant": {"filler_after": 0},  # on a busy machine any answer may take so long
    }


YAML: Final = "".join(
    f"{name}: {json.dumps(section)}\n" for name, section in sections().items() if name != "agent"
)
"""The same as lines of a settings file that has none of these sections; its agent is its own."""
