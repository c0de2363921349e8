"""Faults that a test triggers during a conversation.

Faults from the start (hello, pongs, MCP answers) are configured in `config.Misbehaviour`.
"""

from __future__ import annotations

import random

from firmware_test_client.application import Application
from firmware_test_client.framing import AudioPacket
from firmware_test_client.speech import StreamFormat, encoded_noise


class Misdeeds:
    """Available as `device.misdeeds`. Every method queues its messages and returns at once."""

    def __init__(self, application: Application) -> None:
        self._app = application

    def garbage_opus(self, count: int = 10, *, seed: int = 0) -> None:
        """Send correctly framed packets of random bytes that are not Opus."""
        source = random.Random(seed)  # noqa: S311  repeatable garbage, no secret
        for _ in range(count):
            # 0xFF: code 3 with 63 frames, longer than any packet may be (RFC 6716 section 3.4).
            payload = b"\xff\xff" + source.randbytes(source.randrange(1, 200))
            self._app.protocol.send_audio(AudioPacket(payload))

    def wrong_size_frames(self, count: int = 3) -> None:
        """Send binary frames with a wrong size field, also truncated ones (versions 2 and 3)."""
        whole = {2: bytes([0, 2, 0, 0]) + bytes(8) + b"\xff\xff\xff\xff", 3: b"\x00\x00\xff\xff"}
        head = whole.get(self._app.protocol.version, b"")
        for at in range(count):
            self._app.protocol.send(head[: len(head) - at] or b"\x00")

    def stray_audio(self, count: int = 10) -> None:
        """Send valid audio packets in any state: before `listen`, after `stop`, …"""
        packets = encoded_noise(StreamFormat.of(self._app.config))
        for at in range(count):
            self._app.protocol.send_audio(AudioPacket(packets[at % len(packets)]))

    def listen_start_again(self) -> None:
        """Send `listen start` again while the microphone is on."""
        self._app.protocol.send_start_listening(self._app.mode)

    def hello_again(self) -> None:
        """Send another hello during the conversation."""
        self._app.protocol.send(self._app.protocol.hello_message())

    def stall_uplink(self) -> None:
        """Hold back everything that the device sends, including audio, until `release_uplink`."""
        if self._app.protocol.channel is not None:
            self._app.protocol.channel.stall()

    def release_uplink(self) -> None:
        """Send everything that was held back in one burst."""
        if self._app.protocol.channel is not None:
            self._app.protocol.channel.release()

    def stop_reading(self) -> None:
        """Stop reading from the socket, so that the server's send buffer fills up."""
        if self._app.protocol.channel is not None:
            self._app.protocol.channel.stop_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if self._app.protocol.channel is not None:
            self._app.protocol.channel.resume_reading()

    def mcp_payload(self, payload: str) -> None:
        """Send any text as the payload of an `mcp` message, such as an unsolicited answer."""
        self._app.protocol.send_mcp(payload)
