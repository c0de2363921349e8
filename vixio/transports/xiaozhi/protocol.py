"""The xiaozhi protocol, sans-I/O: received messages in, events and messages to send out.

It holds no state but the settings of its connection, opens nothing and waits for nothing. Whatever
a device sends, :meth:`XiaozhiProtocol.parse` answers with an event; wrong input is an ``Ignored``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vixio.core.chunk import Abort, ListenMode, ListenStart, ListenStop, TextInput
from vixio.core.protocol import ProtocolBase
from vixio.core.tools.types import JsonObject
from vixio.core.well_formed import well_formed
from vixio.transports.xiaozhi import messages
from vixio.transports.xiaozhi.framing import (
    TYPE_JSON,
    TYPE_OPUS,
    BinaryFrame,
    Version,
    build_frame,
    parse_frame,
)
from vixio.transports.xiaozhi.wake_words import WakeWords

MAX_MESSAGE_BYTES = 65_536
"""Largest message taken from a device; the firmware's WebSocket cannot send more
(esp-ml307, web_socket.cc, Send: 65,535 bytes)."""


NOT_JSON = "not_json"

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a surrogate pair, as JSON escapes it."""


@dataclass(frozen=True, slots=True)
class AudioPacket:
    """A packet from the microphone, of the agreed codec. The rest as in BinaryFrame."""

    payload: bytes
    timestamp_ms: int = 0
    missing: int = 0


@dataclass(frozen=True, slots=True)
class McpFrame:
    """A JSON-RPC object of the device's tool server.

    ``broken``: the message was not valid JSON, and this is what could be read of it.
    """

    payload: JsonObject
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """Input that is answered with ``message`` and has no other effect."""

    message: JsonObject


@dataclass(frozen=True, slots=True)
class HelloAgain:
    """A hello on a standing channel: a conversation begins. ``message``: the whole of it."""

    message: JsonObject


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The end of a conversation on a standing channel."""


@dataclass(frozen=True, slots=True)
class SpeakReady:
    """The device is ready to play what it was asked for (``speak_request``)."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Input without effect; ``reason`` is a word for a counter, never content."""

    reason: str


Event = (
    ListenStart
    | ListenStop
    | TextInput
    | Abort
    | AudioPacket
    | McpFrame
    | Reply
    | HelloAgain
    | Goodbye
    | SpeakReady
    | Ignored
)


class XiaozhiProtocol(ProtocolBase):
    """The protocol of one connection, in the ``version`` agreed for its binary frames.

    ``standing``: conversations begin and end within the connection, as over MQTT.
    """

    def __init__(
        self,
        session_id: str = "",
        version: Version = 1,
        wake_words: WakeWords | None = None,
        *,
        standing: bool = False,
    ) -> None:
        self.session_id = session_id
        self.version: Version = version
        self._wake_words = wake_words if wake_words is not None else WakeWords()
        self._parsers: dict[str, Callable[[JsonObject], Event]] = {
            "listen": self._parse_listen,
            "abort": self._parse_abort,
            "mcp": self._parse_mcp,
            "ping": lambda message: Reply(messages.pong()),
            # The firmware sends it over MQTT only; on a WebSocket the close says the same.
            "goodbye": lambda message: Ignored("goodbye"),
            # Descriptors and states of firmware before 2.0, which MCP replaced.
            "iot": lambda message: Ignored("iot"),
            # The transport has handled the hello before it calls parse.
            "hello": lambda message: Ignored("repeated_hello"),
        }
        self.on_other_session: Callable[[str], None] | None = None
        """Called, on a standing channel, with the id of another session in a device's message."""
        if standing:
            self._parsers |= {
                "hello": HelloAgain,
                "goodbye": self._parse_goodbye,
                "speak_ready": lambda message: SpeakReady(),
            }

    def parse(self, data: str | bytes) -> Event:
        """Return the event of one received message; never raises."""
        if isinstance(data, str):
            return self._parse_text(data)
        if len(data) > MAX_MESSAGE_BYTES:
            return Ignored("too_large")
        if self.version == 1 and data:  # nearly all that a device sends
            return AudioPacket(data)
        frame = parse_frame(self.version, data)
        return Ignored("bad_frame") if frame is None else self._parse_binary(frame)

    def _parse_binary(self, frame: BinaryFrame) -> Event:
        if not frame.payload:
            return Ignored("empty_frame")
        if frame.type == TYPE_OPUS:
            return AudioPacket(frame.payload, frame.timestamp_ms, frame.missing)
        if frame.type == TYPE_JSON:
            return self._parse_text(frame.payload.decode("utf-8", "replace"))
        return Ignored("unknown_frame_type")

    def _parse_text(self, text: str) -> Event:
        message = parse_object(text)
        if isinstance(message, Ignored):
            answer = read_broken_answer(text) if message.reason == NOT_JSON else None
            return message if answer is None else McpFrame(answer, broken=True)
        if self.on_other_session is not None:
            stated = message.get("session_id")
            if isinstance(stated, str) and stated not in ("", self.session_id):
                self.on_other_session(stated)
        kind = message.get("type")
        if not isinstance(kind, str):
            return Ignored("no_type")
        parser = self._parsers.get(kind)
        return Ignored("unknown_type") if parser is None else parser(message)

    def _parse_listen(self, message: JsonObject) -> Event:
        state = message.get("state")
        if state == "start":
            try:
                # Clients that name no mode want the firmware's usual one.
                return ListenStart(ListenMode(message.get("mode", ListenMode.AUTO)))
            except ValueError:
                return Ignored("bad_field")
        if state == "stop":
            return ListenStop()
        if state == "detect":
            text = message.get("text")
            if not isinstance(text, str) or not text.strip():
                return Ignored("bad_field")
            text = well_formed(text.strip())
            return TextInput(text, wake_word=text in self._wake_words)
        return Ignored("bad_field")

    def _parse_abort(self, message: JsonObject) -> Event:
        # An invalid reason must not keep the device talking.
        reason = message.get("reason")
        return Abort(well_formed(reason) if isinstance(reason, str) else "")

    def _parse_goodbye(self, message: JsonObject) -> Event:
        # One of an earlier session of the device, from before it connected anew, ends nothing.
        stated = message.get("session_id")
        return Goodbye() if stated in (None, "", self.session_id) else Ignored("goodbye")

    def _parse_mcp(self, message: JsonObject) -> Event:
        payload = self.get_mcp_payload(message)
        return McpFrame(payload) if isinstance(payload, dict) else Ignored("bad_field")

    def encode_message(self, message: JsonObject) -> str:
        """Return ``message`` as JSON text, with our session id.

        Raises ValueError, TypeError or RecursionError if JSON has no way to write it.
        """
        whole = {"session_id": self.session_id, **message}
        text = json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return well_formed(text)

    def encode_audio(self, packet: bytes, timestamp_ms: int) -> bytes:
        """Return the frame that carries ``packet``; raises ValueError if it is too large."""
        return build_frame(self.version, packet, timestamp_ms)


def parse_object(text: str) -> JsonObject | Ignored:
    """Return the JSON object in ``text``, or why there is none; never raises."""
    if len(text) > MAX_MESSAGE_BYTES:
        return Ignored("too_large")
    try:
        message: Any = json.loads(text)
        if _SURROGATE.search(text) is not None:
            # One half alone, in a tool's description or answer, would make every later request to a
            # model fail: nothing can encode it.
            message = json.loads(well_formed(json.dumps(message, ensure_ascii=False)))
    except (ValueError, RecursionError):  # RecursionError: a few thousand brackets suffice
        return Ignored(NOT_JSON)
    return message if isinstance(message, dict) else Ignored("not_object")


MAX_MESSAGE_CHARS = 500

NO_JSON = "the device's answer is not valid JSON"

_IS_MCP = re.compile(r'"type"\s*:\s*"mcp"')
_ID_FIRST = re.compile(r'"id"\s*:\s*([0-9]{1,10})\s*,\s*"(error|result)"\s*:')
_KIND = re.compile(r'"(error|result)"\s*:')
_ID_LAST = re.compile(r',\s*"id"\s*:\s*([0-9]{1,10})[\s}]*$')
_MESSAGE = re.compile(r'"message"\s*:\s*"')


def read_broken_answer(text: str) -> JsonObject | None:
    """Return an error answer for the id in ``text``, which is not JSON; None if it has none.

    The firmware does not escape the message of an error (mcp_server.cc, ReplyError): a quote or a
    line break in it, such as the name of a tool that does not exist, makes the whole unreadable.
    So the call that waits for the answer fails at once instead of at the end of its time. The
    answer's message is what the device wrote, as far as it can be told; of a broken result it says
    that it is broken.
    """
    if _IS_MCP.search(text) is None:
        return None
    if (found := _ID_FIRST.search(text)) is not None:
        number, kind, rest = found[1], found[2], text[found.end() :]
    else:
        answer, last = _KIND.search(text), _ID_LAST.search(text)
        if answer is None or last is None:
            return None
        number, kind, rest = last[1], answer[1], text[answer.end() : last.start()]
    message = _message(rest) if kind == "error" else NO_JSON
    return {"jsonrpc": "2.0", "id": int(number), "error": {"message": message}}


def _message(rest: str) -> str:
    """Return what stands between ``"message":"`` and the closing quote and brackets."""
    begin = _MESSAGE.search(rest)
    if begin is None:
        return NO_JSON
    # The message is followed by one quote and the brackets of error, payload and message.
    text = rest[begin.end() :].rstrip("} \t\r\n").removesuffix('"')
    return text[:MAX_MESSAGE_CHARS] or NO_JSON
