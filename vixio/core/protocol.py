"""The interface of a wire protocol: sans-I/O, so that a test needs no socket."""

from __future__ import annotations

from abc import ABC, abstractmethod

from vixio.core.tools.types import JsonObject


class ProtocolBase(ABC):
    """Messages of one kind of device. The MCP envelope is the same for all of them."""

    @abstractmethod
    def encode_message(self, message: JsonObject) -> str:
        """Return ``message`` as it goes on the wire."""

    def create_mcp_message(self, payload: JsonObject) -> JsonObject:
        """Wrap a JSON-RPC 2.0 ``payload`` for the device."""
        return {"type": "mcp", "payload": payload}

    def is_mcp_message(self, message: JsonObject) -> bool:
        """Return whether ``message`` is the envelope of a JSON-RPC frame."""
        return message.get("type") == "mcp"

    def get_mcp_payload(self, message: JsonObject) -> object:
        """Return the JSON-RPC frame in ``message``, None if it is no MCP message."""
        return message.get("payload") if self.is_mcp_message(message) else None
