"""Things that a device can be told to do wrong, at any moment of a conversation.

What is wrong from the start (hello, pongs, MCP answers) is chosen in `config.Misbehaviour`.
"""

from __future__ import annotations

import random

from firmware_test_client.application import Application
from firmware_test_client.framing import AudioPacket
from firmware_test_client.speech import StreamFormat, encoded_noise


class Misdeeds:
    """Reached as `device.misdeeds`. Every method sends at once and waits for nothing."""

    def __init__(self, application: Application) -> None:
        self._app = application

    def garbage_opus(self, count: int = 10, *, seed: int = 0) -> None:
        """Packets, framed properly, of random bytes that are no Opus."""
        source = random.Random(seed)  # noqa: S311  repeatable garbage, no secret
        for _ in range(count):
            # 0xFF: code 3 with 63 frames, longer than any packet may be (RFC 6716 section 3.4).
            payload = b"\xff\xff" + source.randbytes(source.randrange(1, 200))
            self._app.protocol.send_audio(AudioPacket(payload))

    def wrong_size_frames(self, count: int = 3) -> None:
        """Binary frames whose header does not fit, also cut-off ones (versions 2 and 3)."""
        whole = {2: bytes([0, 2, 0, 0]) + bytes(8) + b"\xff\xff\xff\xff", 3: b"\x00\x00\xff\xff"}
        head = whole.get(self._app.protocol.version, b"")
        for at in range(count):
            self._app.protocol.send(head[: len(head) - at] or b"\x00")

    def stray_audio(self, count: int = 10) -> None:
        """Good audio packets now, whatever the state: before `listen`, after `stop`, …"""
        packets = encoded_noise(StreamFormat.of(self._app.config))
        for at in range(count):
            self._app.protocol.send_audio(AudioPacket(packets[at % len(packets)]))

    def listen_start_again(self) -> None:
        """A second `listen start` for a microphone that is already on."""
        self._app.protocol.send_start_listening(self._app.mode)

    def hello_again(self) -> None:
        """Another hello in mid-conversation."""
        self._app.protocol.send(self._app.protocol.hello_message())

    def stall_uplink(self) -> None:
        """Hold back all that the device sends, audio included, until `release_uplink`."""
        if self._app.protocol.channel is not None:
            self._app.protocol.channel.stall()

    def release_uplink(self) -> None:
        """Let everything held back leave in one burst."""
        if self._app.protocol.channel is not None:
            self._app.protocol.channel.release()

    def stop_reading(self) -> None:
        """Read nothing more from the socket: the server's writes fill up."""
        if self._app.protocol.channel is not None:
            self._app.protocol.channel.stop_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if self._app.protocol.channel is not None:
            self._app.protocol.channel.resume_reading()

    def mcp_payload(self, payload: str) -> None:
        """Any text as the payload of an `mcp` message, such as an answer to no question."""
        self._app.protocol.send_mcp(payload)
