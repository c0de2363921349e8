"""Sends a reply's packets as the device can take them, and knows what was heard.

The firmware handles ``tts start`` on its main task, which then resets the decoder
(main/application.cc, OnIncomingJson and HandleStateChangedEvent): audio that arrives before that is
lost. So the first packet follows ``tts start`` by a lead. Its decode queue holds 40 packets and
drops the newest when it is full (main/audio/audio_service.h, MAX_DECODE_PACKETS_IN_QUEUE), so the
packets are paced: a short head start, then two at a time by absolute deadlines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from vixio.core.clock import now
from vixio.core.metrics import Counters
from vixio.core.playout import Playout, Spoken
from vixio.core.transport import DeviceConnection
from vixio.core.waiters import Waiters

MAX_AHEAD_PACKETS = 36
"""Never more unplayed packets at the device: four less than its queue holds."""

EARLY_PACKETS = 1.25
"""What is due within this many packets is sent at once: two packets at a wake-up, since a timer and
a task's step cost more than the sending."""

LOW_MS = 240
"""With less audio queued, :attr:`Pacer.more` is asked for what is held back."""

DROPS_MS = 30
"""From the sending of what makes a device drop its queue until it does, for most of them."""

AGAIN_S = 3.0
"""Behind a pause that was silent for so long, nobody knows how the sentence began: it is said again
from its beginning."""

SUBTITLE_S = 0.19
"""A sentence is shown so long before its sound at the earliest; its packets are sent earlier."""

DRIFT_RESYNC_S = 0.02
"""The device starves when a packet comes this much later than its turn to be played."""


@dataclass(frozen=True, slots=True)
class PacerSettings:
    """Start lead, head start, buffer and the device's own delay, all in milliseconds."""

    start_lead_ms: int = 160
    """From ``tts start`` to the first packet. Devices take 10 to 150 ms until they play."""
    head_start_ms: int = 300
    buffer_ms: int = 2_000
    device_delay_ms: int = 40
    """From a packet's arrival to its sound; ``tts stop`` waits for it."""


class Pacer(Playout):
    """The output of one reply. ``run`` is its task; :meth:`stop` ends it at once.

    ``before``: the pacer of the reply that was interrupted last, whose last packet may still sound.
    """

    def __init__(
        self,
        connection: DeviceConnection,
        counters: Counters,
        packet_ms: int,
        settings: PacerSettings = PacerSettings(),
        before: Pacer | None = None,
    ) -> None:
        super().__init__(packet_ms)
        self._connection = connection
        self._counters = counters
        self._settings = settings
        self._early = EARLY_PACKETS * packet_ms / 1000
        self._head_start_ms = min(settings.head_start_ms, (MAX_AHEAD_PACKETS - 1) * packet_ms)
        self._changed = Waiters()
        self._room = Waiters()
        self._stopped = False
        self._sending = False
        self._send_ended = Waiters()
        self.more: Callable[[], list[bytes]] = list
        """Returns further packets of the last sentence, at once; none if nothing is held back."""
        self.on_sentence: Callable[[str, bool], None] = lambda _text, _kept: None
        """Called with a sentence when the device is told that it begins, and whether it is kept."""
        self._untold: Spoken | None = None
        """The sentence that is sent and not shown yet: its sound is not due."""
        self._last_put: Spoken | None = None
        self.put_sentences = 0
        """Sentences that were queued so far."""
        self._due: bytes | None = None
        """The packet that is sent next, once its time has come."""
        self._opens_at = 0.0
        """When the device plays what it is sent; 0.0: it does."""
        self._announced = False
        self._packet_at: float | None = None
        self._before = before
        self._silent_from = 0.0
        self._paused = False
        self._last_ended: Callable[[], None] | None = None
        self.started_at: float | None = None
        """When ``tts start`` was sent."""
        self.first_frame_at: float | None = None

    @property
    def started(self) -> bool:
        """Whether ``tts start`` has been sent."""
        return self.started_at is not None

    @property
    def unsent_ms(self) -> int:
        """Milliseconds of audio that are queued."""
        return self._queued_ms

    @property
    def held(self) -> float:
        """Seconds for which the first packet, ready to be sent, had to wait for the lead."""
        if self.started_at is None or self._packet_at is None:
            return 0.0
        lead = self._settings.start_lead_ms / 1000
        return max(0.0, min(lead, self.started_at + lead - self._packet_at))

    def announce(self) -> None:
        """Send ``tts start`` now, ahead of the first packet. Idempotent."""
        self._announced = True
        self._changed.wake()

    async def put_sentence(
        self, text: str, *, kept: bool = True, face: tuple[str, str] | None = None
    ) -> None:
        """Queue ``text`` as the subtitle of the audio that follows; dropped after :meth:`stop`.

        ``kept``: whether it is part of :meth:`heard_text`. ``face``: shown with it, a name of
        :data:`~vixio.core.emotions.EMOTIONS` and its emoji.
        """
        if self._stopped:
            return
        self.put_sentences += 1
        sentence = Spoken(text, kept=kept, face=face)
        if kept:
            self._last_put = sentence
        self._queue.append(sentence)
        self._changed.wake()

    def break_off(self) -> None:
        """Note that the rest of the audio of the last kept sentence is missing: not heard."""
        if self._last_put is not None:
            self._last_put.whole = False

    async def put_packets(self, packets: list[bytes]) -> None:
        """Queue packets; waits while more than the buffer's length is unsent.

        Dropped after :meth:`stop`.
        """
        if self._packet_at is None and packets:
            self._packet_at = now()
        for packet in packets:
            while self._queued_ms >= self._settings.buffer_ms:
                await self._room.wait()
            if self._stopped:
                return
            self._append((packet,))
            self._changed.wake()

    def _append(self, packets: Sequence[bytes]) -> None:
        self._queue.extend(packets)
        self._queued_ms += len(packets) * self._packet_ms

    def finish(self) -> None:
        """Mark the end of the reply: ``run`` ends once all of it has been played."""
        self._finished = True
        self._changed.wake()

    def end_with_sentence(self, ended: Callable[[], None]) -> None:
        """Send no sentence behind the one under way; call ``ended`` when that has been played.

        Then :meth:`stop` is due. A reply that is not heard yet gets its first sentence.
        """
        self._last_ended = ended
        self._changed.wake()

    def pause(self) -> None:
        """Stop sending; what the device already has plays on, but for :meth:`silence`."""
        self._paused = True
        if self._due is not None:
            self._queue.appendleft(self._due)
            self._queued_ms += self._packet_ms
            self._due = None

    async def silence(self) -> None:
        """Have a device that is paused drop what it has not played. Raises ConnectionClosed.

        It leaves Speaking and enters it again, which resets its decoder but for the packet that
        sounds (main/audio/audio_service.cc, ResetDecoder). Only with an open microphone, in
        realtime mode: another device would begin to listen between.
        """
        await self.stopped()
        until_ms = self.sounded_ms(DROPS_MS)
        if not self._paused or self._stopped or until_ms >= self._sent_ms:
            return
        self._take_back(until_ms)
        if self._untold is not None and self._untold.start_ms >= self._sent_ms:
            self._untold = None
        self._opens_at = now() + self._settings.start_lead_ms / 1000
        await self._send(self._drop())

    async def _drop(self) -> None:
        await self._connection.send_speech_stop()
        await self._connection.send_speech_start()

    def resume(self) -> None:
        """Continue where :meth:`pause` stopped, or with its sentence: see :data:`AGAIN_S`."""
        if not self._paused:
            return
        self._paused = False
        if self._anchor is not None:
            # The loudspeaker has been silent since it played what it had.
            played = self.plays_until
            if now() - played >= AGAIN_S and self._queue and isinstance(self._queue[0], bytes):
                self._begin_again()
            self._anchor += max(0.0, now() - played, self._opens_at - played)
        self._changed.wake()

    def stop(self) -> None:
        """Drop everything that is not sent yet and begin no further send. Idempotent.

        What is put afterwards is dropped, too: a ``tts start`` would have no ``tts stop``. A send
        that is in progress still reaches the device: :meth:`stopped` waits for it.
        """
        self._stopped = True
        self._queue.clear()
        self._sent.clear()  # it may be the last reply for days, of which what was heard is known
        self._queued_ms = 0
        self._room.wake()
        self._changed.wake()

    async def stopped(self) -> None:
        """Wait after :meth:`stop` until no send is in progress: no packet follows."""
        while self._sending:
            await self._send_ended.wait()

    def busy_until(self) -> float:
        """Return when the device will have played all that was put so far."""
        return max(now(), self.plays_until) + self._queued_ms / 1000

    async def run(self) -> None:
        """Send until stopped, or finished and played out. Raises ConnectionClosed."""
        while True:
            while (item := await self._next()) is not None:
                if isinstance(item, Spoken):
                    await self._send_sentence(item)
                else:
                    await self._send_packets(item)
            await self._play_out()
            if not self._queue:  # nothing was taken back meanwhile
                return

    async def _next(self) -> bytes | Spoken | None:
        while not self._queue or self._paused:
            if self._stopped or (self._finished and not self._queue):
                return None
            if self._announced and not self.started:
                await self._start()
                continue
            try:
                async with asyncio.timeout_at(None if self._paused else self._shown_at):
                    await self._changed.wait()
            except TimeoutError:
                await self._tell()
        if self._last_ended is not None and self._sent_ms and isinstance(self._queue[0], Spoken):
            await self._play_out()
            self._last_ended()
            while not self._stopped:
                await self._changed.wait()
            return None
        return self._pop()

    def _pop(self) -> bytes | Spoken:
        item = self._queue.popleft()
        if isinstance(item, bytes):
            self._queued_ms -= self._packet_ms
            if self._queued_ms < LOW_MS:
                self._append(self.more())
            if self._queued_ms < self._settings.buffer_ms:
                self._room.wake()
        return item

    async def _start(self) -> None:
        if self._before is not None:
            # "tts start" makes the device drop what it had queued, except for the packet that
            # sounds (main/audio/audio_service.cc, ResetDecoder): ours come behind it.
            self._silent_from = self._before.sounding_until()
            self._before = None
        self.started_at = now()
        await self._send(self._connection.send_speech_start())
        self.started_at = now()
        self._opens_at = self.started_at + self._settings.start_lead_ms / 1000

    async def _lead(self) -> None:
        """Wait until the device plays what it is sent."""
        if self.started_at is None:
            await self._start()
        if (wait := self._opens_at - now()) > 0:
            await asyncio.sleep(wait)
        self._opens_at = 0.0

    async def _send_sentence(self, sentence: Spoken) -> None:
        if self.started_at is None:
            await self._start()
        await self._tell()
        if self._stopped:
            return
        sentence.start_ms = self._sent_ms
        self._sentences.append(sentence)
        while len(self._sent) > MAX_AHEAD_PACKETS:
            self._sent.popleft()
        self._sent.append(sentence)
        self._untold = sentence
        if self._anchor is None:
            await self._tell()

    @property
    def _shown_at(self) -> float | None:
        """When the sentence is to be shown whose audio was sent last; None: it is."""
        if self._untold is None or self._anchor is None:
            return None
        return self._anchor + self._untold.start_ms / 1000 - SUBTITLE_S

    async def _tell(self) -> None:
        """Have the device show the sentence that it was sent, if it does not yet."""
        sentence, self._untold = self._untold, None
        if sentence is None or self._stopped:
            return
        if sentence.face is not None:
            await self._send(self._connection.send_emotion(*sentence.face))
        await self._send(self._connection.send_sentence(sentence.text))
        if not self._stopped:
            begun, sentence.told = sentence.told, True
            if not begun:
                self.on_sentence(sentence.text, sentence.kept)

    async def _send_packets(self, first: bytes) -> None:
        """Send ``first`` when it is due, and what is due with it by the same write."""
        self._due = first
        if self._opens_at or not self._sent_ms:
            await self._lead()
        time = now()
        if self._anchor is None:
            self._anchor = max(time, self._silent_from)
        wait = self._anchor + (self._sent_ms - self._head_start_ms) / 1000 - time
        if wait > self._early:
            await asyncio.sleep(wait)
            time = now()
        if self._stopped or self._due is None:
            return
        self._due = None
        late = time - self._anchor - self._sent_ms / 1000
        if late > DRIFT_RESYNC_S:
            # The loudspeaker has run dry: from here on the device plays later by that much.
            self._anchor += late
            self._counters.add("pacer.starved")
        packets = [first]
        until = time + self._early + (self._head_start_ms - self._sent_ms) / 1000 - self._anchor
        while self._queue and not self._paused:
            packet = self._queue[0]
            if isinstance(packet, Spoken) or len(packets) * self._packet_ms / 1000 > until:
                break
            packets.append(packet)
            self._pop()
        self._sent += packets
        while not self._sentences and len(self._sent) > MAX_AHEAD_PACKETS:  # hours of music
            self._sent.popleft()
        if self._sent_ms == 0:
            self.first_frame_at = time
        await self._send(self._connection.send_audio(packets, self._sent_ms))
        self._sent_ms += len(packets) * self._packet_ms
        if (due := self._shown_at) is not None and due <= time:
            await self._tell()

    async def _send(self, message: Coroutine[Any, Any, None]) -> None:
        self._sending = True
        try:
            await message
        finally:
            self._sending = False
            self._send_ended.wake()

    async def _play_out(self) -> None:
        if (due := self._shown_at) is not None:
            await asyncio.sleep(max(0.0, due - now()))
        await self._tell()
        if self._anchor is None or self._stopped:
            return
        end = self._anchor + (self._sent_ms + self._settings.device_delay_ms) / 1000
        wait = end - now()
        if wait > 0:
            await asyncio.sleep(wait)
