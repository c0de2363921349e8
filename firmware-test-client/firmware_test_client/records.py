"""The records of a device: frames, speech, replies and the server's violations.

Every new record wakes the waits whose condition it may have fulfilled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, TypeVar

from firmware_test_client.errors import DeviceTimeout
from firmware_test_client.glyphs import Glyph
from firmware_test_client.microphone import Spoken
from firmware_test_client.ota import Activation
from firmware_test_client.playout import Heard
from firmware_test_client.replies import Reply, Sentence
from firmware_test_client.upgrade import Upgrade

Direction = Literal["in", "out"]
_LOOK_AGAIN = 0.05  # seconds
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Frame:
    """One WebSocket message, MQTT message (text) or audio datagram (binary)."""

    time: float  # monotonic seconds; of sending, of receiving
    direction: Direction
    kind: Literal["text", "binary"]
    size: int  # bytes
    type: str  # `type` of the JSON; "audio" for binary; "" for a text that is no JSON object
    body: dict[str, Any] | None = None
    text: str | None = None  # kept where `body` is None

    def __str__(self) -> str:
        what = self.text if self.body is None else json.dumps(self.body, ensure_ascii=False)
        return f"{self.direction} {self.kind} {self.size} B {(what or '')[:160]}".rstrip()


@dataclass(slots=True)
class Counters:
    """Counts, which are kept even without `keep_frames`."""

    text_in: int = 0
    text_out: int = 0
    binary_in: int = 0
    binary_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    audio_outside_speaking: int = 0  # packets that arrived in another state and were not played
    audio_before_speaking: int = 0  # of these: after a `tts start` that had not taken effect yet
    overflows: int = 0  # packets dropped by the full decode queue
    decode_errors: int = 0
    framing_errors: int = 0
    uplink_dropped: int = 0  # packets that the device's own full send queue dropped
    udp_stale: int = 0  # datagrams dropped because their sequence was not above the last one's
    udp_gaps: int = 0  # datagrams that never came before a later one
    udp_lost: int = 0  # faults of the configured networks, in both directions
    udp_duplicated: int = 0
    udp_reordered: int = 0


@dataclass(frozen=True, slots=True)
class CloseInfo:
    """How the connection ended, over MQTT the conversation.

    Codes are a WebSocket's. 1000: over MQTT by a goodbye. 1006: lost, without a close frame.
    """

    code: int
    reason: str
    time: float


@dataclass(slots=True)
class Notice:
    """An alert's message on the screen."""

    status: str
    message: str
    emotion: str
    time: float  # when it was shown
    cleared: float | None = None  # when other words, or none, took its place; None: it stands

    def stood(self, now: float) -> float:
        """For how many seconds it has stood."""
        return (now if self.cleared is None else self.cleared) - self.time


@dataclass(slots=True)
class _Waiter:
    predicate: Callable[[], object]
    future: asyncio.Future[Any]


@dataclass(slots=True)
class Records:
    """All records of one device."""

    keep_frames: bool = True
    frames: list[Frame] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    stt_texts: list[str] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    emotions: list[str] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)
    customs: list[dict[str, Any]] = field(default_factory=list)
    glyphs: list[list[Glyph]] = field(default_factory=list)  # those of each text that had any
    screen: list[str] = field(default_factory=list)  # a line for each change of what is shown
    notices: list[Notice] = field(default_factory=list)  # alerts, and how long each one stood
    sounds: list[str] = field(default_factory=list)  # the device's own, and digits read aloud
    boots: list[str] = field(default_factory=list)  # of each start, the version that started
    activations: list[Activation] = field(default_factory=list)  # each time it was asked for
    upgrades: list[Upgrade] = field(default_factory=list)
    spoken: list[Spoken] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)  # what a server must not send
    closes: list[CloseInfo] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)
    _waiters: list[_Waiter] = field(default_factory=list)

    def frame(self, time: float, direction: Direction, data: str | bytes) -> Frame | None:
        """Count a message and, if frames are kept, record it."""
        counters = self.counters
        size = len(data) if isinstance(data, bytes) else len(data.encode())
        kind = "binary" if isinstance(data, bytes) else "text"
        if direction == "in":
            counters.bytes_in += size
            counters.text_in += kind == "text"
            counters.binary_in += kind == "binary"
        else:
            counters.bytes_out += size
            counters.text_out += kind == "text"
            counters.binary_out += kind == "binary"
        if not self.keep_frames:
            return None
        if isinstance(data, bytes):
            frame = Frame(time, direction, "binary", size, "audio")
        else:
            body = parse_object(data)
            type_ = "" if body is None else str(body.get("type", ""))
            frame = Frame(
                time, direction, "text", size, type_, body, data if body is None else None
            )
        self.frames.append(frame)
        return frame

    def changed(self) -> None:
        """Wake the waits whose predicate has become true."""
        if not self._waiters:
            return
        for waiter in list(self._waiters):
            if waiter.future.done():
                continue
            try:
                value = waiter.predicate()
            except Exception as error:  # noqa: BLE001  a predicate's error is raised by its wait
                waiter.future.set_exception(error)
                continue
            if value:
                waiter.future.set_result(value)

    async def wait_for(
        self,
        predicate: Callable[[], T | None],
        *,
        what: str,
        timeout: float,
        state: Callable[[], str],
    ) -> T:
        """Wait until `predicate()` returns a true value, and return that value.

        Raises:
            DeviceTimeout: not within `timeout` seconds; names `what`, state and last frames.
        """
        value = predicate()
        if value:
            return value
        waiter = _Waiter(predicate, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout):
                while not waiter.future.done():
                    # A predicate may depend on something that is not recorded here.
                    await asyncio.wait([waiter.future], timeout=_LOOK_AGAIN)
                    self.changed()
                result: T = waiter.future.result()
                return result
        except TimeoutError:
            raise DeviceTimeout(
                f"waited {timeout:g} s for {what}; {state()}; last frames:\n"
                f"{self.last_frames(asyncio.get_running_loop().time())}"
            ) from None
        finally:
            self._waiters.remove(waiter)

    def last_frames(self, now: float, count: int = 16) -> str:
        """The latest messages, one per line, with their age; a run of audio is one line."""
        lines: list[str] = []
        for audio, run in groupby(reversed(self.frames), lambda frame: frame.kind == "binary"):
            if audio:
                lines.append(_audio_line(list(run), now))
            else:
                lines += [f"  {frame.time - now:+.3f} s {frame}" for frame in run]
            if len(lines) >= count:
                break
        del lines[count:]
        return "\n".join(reversed(lines)) or "  (none)"


def _audio_line(run: list[Frame], now: float) -> str:
    """A run of audio, the latest packet first."""
    received = sum(frame.direction == "in" for frame in run)
    last, first = run[0].time - now, run[-1].time - now
    return f"  {first:+.3f} … {last:+.3f} s audio: {received} in, {len(run) - received} out"


def parse_object(text: str) -> dict[str, Any] | None:
    """A JSON object, or None for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
