"""From the microphone to the socket: the send queue, and the time stamps for server-side AEC.

Follows PushTaskToEncodeQueue and OpusCodecTask in main/audio/audio_service.cc, and the handling of
MAIN_EVENT_SEND_AUDIO in Application::Run: packets are sent by the main task, so they wait while it
is busy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from firmware_test_client.framing import AudioPacket
from firmware_test_client.records import Counters

SEND_QUEUE_PACKETS: Final = 40  # MAX_SEND_PACKETS_IN_QUEUE; the oldest is dropped
_MAX_TIMESTAMPS: Final = 3  # MAX_TIMESTAMPS_IN_QUEUE


class Uplink:
    """Queues packets while the main task is busy.

    Args:
        send: puts a packet on the socket.
        busy: whether the main task is busy.
        counters: where drops are counted.
    """

    def __init__(
        self, send: Callable[[AudioPacket], object], busy: Callable[[], bool], counters: Counters
    ) -> None:
        self._send = send
        self._busy = busy
        self._counters = counters
        self._queue: deque[AudioPacket] = deque(maxlen=SEND_QUEUE_PACKETS)
        self._timestamps: deque[int] = deque()

    def push(self, payload: bytes) -> None:
        """Send or queue a packet of the microphone."""
        packet = AudioPacket(payload, self._next_timestamp())
        if not self._busy():
            self._send(packet)
            return
        if len(self._queue) == SEND_QUEUE_PACKETS:
            self._counters.uplink_dropped += 1
        self._queue.append(packet)

    def flush(self) -> None:
        """Send all queued packets: the main task is free."""
        while self._queue:
            self._send(self._queue.popleft())

    def clear(self) -> None:
        """Drop all queued packets (HandleWakeWordDetectedEvent)."""
        self._queue.clear()

    def played(self, timestamp: int) -> None:
        """Note the time stamp of a played frame (AudioOutputTask)."""
        if timestamp > 0:
            self._timestamps.append(timestamp)

    def forget_timestamps(self) -> None:
        """ResetDecoder."""
        self._timestamps.clear()

    def _next_timestamp(self) -> int:
        """One time stamp per packet; while more than three wait it is dropped."""
        if not self._timestamps:
            return 0
        usable = len(self._timestamps) <= _MAX_TIMESTAMPS
        timestamp = self._timestamps.popleft()
        return timestamp if usable else 0
