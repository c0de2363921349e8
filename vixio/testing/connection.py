"""A device without a wire: a test says its part and reads what it was sent, and when."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from vixio.core.audio import LISTEN_RATE, AudioFormat, pcm_bytes
from vixio.core.chunk import AudioIn, Chunk
from vixio.core.clock import now
from vixio.core.device import Device
from vixio.core.errors import ConnectionClosed
from vixio.core.tools.types import JsonObject
from vixio.core.transport import AudioEncoder, DeviceConnection

_numbers = count(1)


def speech(seconds: float, *, frequency: float = 220.0) -> bytes:
    """Return a tone that :class:`~vixio.testing.ScriptedVAD` takes for speech (16 kHz PCM)."""
    samples = round(seconds * LISTEN_RATE)
    step = 2 * math.pi * frequency / LISTEN_RATE
    return b"".join(
        round(8000 * math.sin(step * index)).to_bytes(2, "little", signed=True)
        for index in range(samples)
    )


def silence(seconds: float) -> bytes:
    """Return digital silence (16 kHz PCM)."""
    return bytes(pcm_bytes(seconds, LISTEN_RATE))


@dataclass(frozen=True, slots=True)
class Sent:
    """Something the device was sent. ``kind``: start, sentence, audio, stop, transcript, emotion,
    alert, close. ``at``: the loop's clock in seconds."""

    kind: str
    at: float
    text: str = ""


class _RawEncoder(AudioEncoder):
    """Packets of silence with the right length in time: nothing decodes them."""

    def __init__(self, output: AudioFormat) -> None:
        self.packet_ms = output.frame_ms
        self._seconds = 0.0

    def encode(self, pcm: bytes, sample_rate: int) -> list[bytes]:
        self._seconds += len(pcm) / 2 / sample_rate
        whole = int(self._seconds * 1000 + 1e-6) // self.packet_ms
        self._seconds -= whole * self.packet_ms / 1000
        return [b"packet"] * whole

    def flush(self) -> list[bytes]:
        left, self._seconds = self._seconds, 0.0
        return [b"packet"] if left > 1e-6 else []


@dataclass(eq=False)
class ManualConnection(DeviceConnection):
    """The connection of a device that a test plays."""

    device_id: str = "02:00:00:00:00:01"
    output: AudioFormat = field(default_factory=lambda: AudioFormat(24_000, 60))
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.session_id = f"manual-{next(_numbers)}"
        self.device = Device(self.device_id)
        self._inbox: asyncio.Queue[Chunk | None] = asyncio.Queue()
        self._changed = asyncio.Condition()
        self.closed = False

    # ── the device's side ────────────────────────────────────────────────────────────────────

    def put(self, *chunks: Chunk) -> None:
        """Send chunks to the session at once."""
        for chunk in chunks:
            self._inbox.put_nowait(chunk)

    async def play(self, pcm: bytes, *, frame_ms: int = 60) -> None:
        """Send microphone audio in real time, frame by frame."""
        size = pcm_bytes(frame_ms / 1000, LISTEN_RATE)
        for start in range(0, len(pcm), size):
            self.put(AudioIn(pcm[start : start + size], now()))
            await asyncio.sleep(frame_ms / 1000)

    def vanish(self) -> None:
        """Close the connection from the device's side."""
        self.closed = True
        self._inbox.put_nowait(None)

    async def wait_for(self, kind: str, number: int = 1, *, seconds: float = 60.0) -> Sent:
        """Wait until ``kind`` was sent ``number`` times; return the last of these."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: len(self.all(kind)) >= number)
        return self.all(kind)[number - 1]

    def all(self, kind: str) -> list[Sent]:
        """Return everything of ``kind`` that was sent so far."""
        return [sent for sent in self.sent if sent.kind == kind]

    def texts(self, kinds: Iterable[str] = ("sentence",)) -> list[str]:
        """Return the texts of what was sent of ``kinds``, in order."""
        wanted = set(kinds)
        return [sent.text for sent in self.sent if sent.kind in wanted]

    # ── the session's side ───────────────────────────────────────────────────────────────────

    async def receive(self) -> Chunk:
        if self.closed and self._inbox.empty():
            raise ConnectionClosed("the device is gone")
        chunk = await self._inbox.get()
        if chunk is None:
            raise ConnectionClosed("the device is gone")
        return chunk

    def new_encoder(self) -> AudioEncoder:
        return _RawEncoder(self.output)

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        for at in range(len(packets)):
            await self._record("audio", str(timestamp_ms + at * self.output.frame_ms))

    async def send_transcript(self, text: str) -> None:
        await self._record("transcript", text)

    async def send_emotion(self, name: str, emoji: str) -> None:
        await self._record("emotion", name)

    async def send_speech_start(self) -> None:
        await self._record("start")

    async def send_sentence(self, text: str) -> None:
        await self._record("sentence", text)

    async def send_speech_stop(self) -> None:
        await self._record("stop")

    async def send_alert(self, status: str, message: str, emotion: str) -> None:
        await self._record("alert", message)

    async def send_reboot(self) -> None:
        await self._record("reboot")

    async def send_custom(self, payload: JsonObject) -> None:
        await self._record("custom", json.dumps(payload))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        if not self.closed:
            self.sent.append(Sent("close", now(), f"{code} {reason}"))
            self.vanish()
            async with self._changed:
                self._changed.notify_all()

    async def _record(self, kind: str, text: str = "") -> None:
        if self.closed:
            raise ConnectionClosed("the device is gone")
        self.sent.append(Sent(kind, now(), text))
        async with self._changed:
            self._changed.notify_all()
