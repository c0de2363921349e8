"""The interface between a session and the wire.

A transport accepts devices and hands each to a handler as a :class:`DeviceConnection`. What the
device sends comes out of :meth:`DeviceConnection.receive` as chunks; MCP frames never do, the
transport routes them to the device's tool client itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from vixio.core.audio import AudioFormat
from vixio.core.chunk import Chunk
from vixio.core.device import Device
from vixio.core.tools.device import DeviceToolClientBase
from vixio.core.tools.types import JsonObject, ToolDefinition

GOING_AWAY = 1001
"""Close code (RFC 6455 §7.4.1): the server stops, or this process no longer serves the device."""
TRY_AGAIN = 1013
"""Close code (IANA registry of WebSocket close codes): try again later."""
REPLACED = 4001
"""Close code: a newer connection of the same device goes on."""

DeviceToolsCallback = Callable[[list[ToolDefinition]], Awaitable[None]]


class AudioEncoder(ABC):
    """Turns the PCM of one reply into packets of the device's format. State of one reply.

    Called from changing threads, but never from two at a time.
    """

    packet_ms: int
    """How long each packet plays."""

    @abstractmethod
    def encode(self, pcm: bytes, sample_rate: int) -> list[bytes]:
        """Take PCM (any amount, any rate in Hz) and return the packets that it completed."""

    @abstractmethod
    def flush(self) -> list[bytes]:
        """Return what is left, padded with silence to whole packets."""


class Permit(Protocol):
    """Whether this process may act for a device, where others could too."""

    @property
    def valid(self) -> bool:
        """Whether it may now."""
        ...

    async def confirmed(self) -> bool:
        """Return whether it may, waiting while that is looked up."""
        ...


class DeviceConnection(ABC):
    """One connected device, after its hello. All senders raise ConnectionClosed when it is gone."""

    session_id: str
    device: Device
    output: AudioFormat
    may_gather: bool = False
    """Set by the session while nobody speaks: :meth:`receive` may then keep audio back for some
    tenths of a second, until more of it or anything else arrives, so that the process wakes less
    often."""

    permit: Permit | None = None
    """Set where other processes may take the device over: senders send nothing without it. A
    process that stood still must not say what it had to say to a device that has moved on."""

    roused: bool = False
    """Whether the server began the conversation, and the user has not said anything in it. The
    session notes the latter."""

    @property
    def hears_itself(self) -> bool:
        """Whether the microphone hears the loudspeaker, and nothing takes that out. May change."""
        return "aec" in self.device.features

    @property
    def awake(self) -> bool:
        """Whether a conversation is open: always, but on what stays connected between them."""
        return True

    @property
    def tool_client(self) -> DeviceToolClientBase | None:
        """The client of the device's tools; None: it has none."""
        return None

    async def rouse(self, text: str = "") -> bool:
        """Have the device ready to play, for some seconds at most; false: it cannot be made to
        speak now. ``text``: what an idle one shows meanwhile. Raises ConnectionClosed."""
        return True

    async def hang_up(self, reason: str) -> None:
        """End the conversation: by the end of the connection, unless that outlives it."""
        await self.close(1000, reason)

    @abstractmethod
    async def receive(self) -> Chunk:
        """Return the device's next chunk (AudioIn, ListenStart, ListenStop, TextInput, Abort,
        DeviceAwake, DeviceAsleep).

        Safe to cancel: nothing is lost. Raises ConnectionClosed.
        """

    @abstractmethod
    def new_encoder(self) -> AudioEncoder:
        """Return an encoder for one reply: the device resets its decoder at each."""

    @abstractmethod
    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Send packets that follow one another; ``timestamp_ms``: the first one's place in the
        reply's audio. All of them or, if it is cancelled, none."""

    @abstractmethod
    async def send_transcript(self, text: str) -> None:
        """Show the user's words."""

    @abstractmethod
    async def send_emotion(self, name: str, emoji: str) -> None:
        """Change the face."""

    @abstractmethod
    async def send_speech_start(self) -> None:
        """Make the device ready to play: audio sent before this is lost."""

    @abstractmethod
    async def send_sentence(self, text: str) -> None:
        """Show the sentence whose audio comes next."""

    @abstractmethod
    async def send_speech_stop(self) -> None:
        """End of the reply: the device listens (or is idle) again."""

    @abstractmethod
    async def send_alert(self, status: str, message: str, emotion: str) -> None:
        """Show a notice; the device plays its own sound with it."""

    @abstractmethod
    async def send_reboot(self) -> None:
        """Have the device restart; it does not answer."""

    @abstractmethod
    async def send_custom(self, payload: JsonObject) -> None:
        """Send a JSON object to firmware built for such; it does not answer."""

    @abstractmethod
    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the connection with a reason the other side can read. Idempotent."""


SessionHandler = Callable[[DeviceConnection], Awaitable[None]]


class TransportBase(ABC):
    """A server for one kind of wire."""

    @abstractmethod
    async def start(self, handler: SessionHandler) -> None:
        """Listen; call ``handler`` once for each device, which lasts until ``handler`` returns."""

    @abstractmethod
    async def stop(self) -> None:
        """Refuse new devices, close all (1001, going away) and free the port."""

    @abstractmethod
    def set_device_tools_callback(self, session_id: str, callback: DeviceToolsCallback) -> None:
        """Have ``callback`` called with the device's whole list whenever it is known anew.

        If the list is known already the callback is called soon; an unknown session is ignored.
        A list may be that of the device's last connection, until the new one is there. The list is
        empty when a device that announced tools fails to list them.
        Several callbacks are called one after another, in the order in which they came.
        """

    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """Return gauges for health pages (connected devices, …)."""
