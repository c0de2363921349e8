"""The interface between the xiaozhi wire and a carrier of it, such as WebSocket.

A carrier accepts devices and runs a function of the transport for each :class:`Channel`. It knows
nothing of hellos, sessions and messages; the transport knows nothing of sockets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, Protocol

from vixio.core.tools.types import JsonObject
from vixio.transports.admission.forwarded import HEADERS
from vixio.transports.admission.identity import Identity
from vixio.transports.xiaozhi.framing import Codec, Version
from vixio.transports.xiaozhi.inbox import Inbox

ADDRESS_HEADERS = HEADERS | {"host"}
"""Headers that say by which address a device reached the server, in lower case."""


class ChannelListener(Protocol):
    """Receives a channel's events. All methods return at once."""

    def intercept(self, text: str) -> bool:
        """Take a text message before it is queued; return whether it was handled."""

    def lost(self) -> None:
        """The device is gone, or is leaving."""

    def cut_off(self, why: str) -> None:
        """The device sent too much: nothing more is taken, and the carrier closes the channel."""


class Channel(ABC):
    """The link to one admitted device.

    What arrives waits in ``inbox`` as text messages (``str``) and binary frames of the agreed
    version (``bytes``); what is sent has the same form. A carrier with a header of its own for
    audio states version 2, whose header has the timestamp, and replaces it.
    """

    transport: ClassVar[str]
    """The carrier's name in the hello of both sides."""
    standing: ClassVar[bool] = False
    """Whether it outlives conversations: then each begins with a hello, and ends with a goodbye or
    the next hello, and the device can be reached between them."""
    identity: Identity
    version: str
    """The binary protocol's version as the carrier states it; empty: the hello's."""
    address: str
    """The client's address."""
    headers: Mapping[str, str]
    """:data:`ADDRESS_HEADERS` of the request that opened the channel; empty if there was none."""
    own_host: str
    """The server's address of this channel, as it stands in a URL."""
    behind_proxy: bool
    """Whether the headers come from a trusted proxy."""
    inbox: Inbox
    last_heard: float
    """When anything arrived, on the loop's clock."""
    listener: ChannelListener | None = None

    @abstractmethod
    def agree(self, version: Version, codec: Codec) -> None:
        """The hello has arrived: binary frames have this version, and this audio, from now on."""

    def begin(self, frame_ms: int) -> JsonObject:
        """A conversation begins on a standing channel: return what its hello has besides.

        ``frame_ms``: of the audio that the device will send.
        """
        return {}

    def end(self) -> None:  # noqa: B027  only a standing channel has something to end
        """The conversation is over: audio is neither taken nor sent. Idempotent."""

    async def playable(self, timeout: float) -> bool:
        """Wait until audio can reach the device; return whether it can, after ``timeout`` s."""
        return True

    @abstractmethod
    def send_now(self, *messages: str | bytes) -> bool:
        """Send messages without waiting; false, and nothing is sent, if it would have to wait."""

    @abstractmethod
    async def writable(self) -> None:
        """Wait until :meth:`send_now` may succeed. Raises ConnectionClosed if it never will."""

    @abstractmethod
    def ping(self) -> None:
        """Make the device's network stack answer, which sets ``last_heard``. Never waits."""

    @abstractmethod
    def cut(self, why: str) -> None:
        """Take nothing more from the device: ``why`` was too much. Idempotent."""

    @abstractmethod
    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close with a reason; within a bounded time, if need be by force. Idempotent."""

    @abstractmethod
    def abort(self) -> None:
        """End it at once, whatever is still buffered."""


Serve = Callable[[Channel], Awaitable[None]]
"""Serves one device from its admission to its end. Never raises; closes the channel."""


class Carrier(ABC):
    """Accepts devices over one kind of network connection."""

    @property
    @abstractmethod
    def port(self) -> int:
        """The port that is listened on, also where the settings say 0."""

    @property
    def ports(self) -> Sequence[int]:
        """All that are listened on."""
        return (self.port,)

    @abstractmethod
    async def start(self, serve: Serve) -> None:
        """Listen. Raises ConfigError if the port is taken."""

    @abstractmethod
    async def stop(self) -> None:
        """Refuse new devices, close all (1001) and free the port. Idempotent."""

    @abstractmethod
    def stats(self) -> dict[str, int]:
        """Return gauges for health pages."""

    def problem(self) -> str:
        """Return why devices cannot be served now, for readiness; empty: they can."""
        return ""

    async def begin(self) -> None:  # noqa: B027 - optional
        """Do what needs the server's HTTP port, which is open now."""
