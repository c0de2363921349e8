"""Conversations that a service keeps: which one a device goes on with."""

from __future__ import annotations

from typing import Final

from vixio.providers.openai_agent.model import ModelCall

MOST: Final = 10_000
"""Conversations that are remembered; the one whose turn is longest ago is forgotten."""


class Conversations:
    """The ids of a service's conversations, by who speaks."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def of(self, call: ModelCall) -> str:
        """Return the id of the conversation that ``call`` goes on with, "" for a new one."""
        goes_on = any(item.get("role") == "assistant" for item in call.items)
        return self._ids.get(call.user, "") if goes_on else ""

    def note(self, call: ModelCall, conversation: str) -> None:
        """Remember the conversation of ``call``."""
        if call.user and conversation:
            self._ids.pop(call.user, None)
            self._ids[call.user] = conversation
            if len(self._ids) > MOST:
                del self._ids[next(iter(self._ids))]

    def forget(self, call: ModelCall) -> None:
        """Begin another one with the next call: the service does not know this one."""
        self._ids.pop(call.user, None)
