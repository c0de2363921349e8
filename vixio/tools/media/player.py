"""What one device plays: a queue, and where it is in it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vixio.core.audio import pcm_seconds
from vixio.core.chunk import AudioOut, Chunk, Notice
from vixio.core.clock import now
from vixio.core.errors import SoundFailed
from vixio.core.streams import closing
from vixio.tools.media.decoding import BytesDecoder, FileDecoder, Pcm
from vixio.tools.media.library import Item
from vixio.tools.media.settings import MediaSettings
from vixio.tools.media.stream import Stream

if TYPE_CHECKING:
    from vixio.core.session.speech import SpeechHandle
    from vixio.core.tools.late import Play

_log = logging.getLogger(__name__)

AHEAD_S: Final = 1.0
"""Sound of a live stream that is gathered before it is played, or waited for: as long a hold-up of
the network is not heard."""

MAX_FAILED: Final = 3
"""Items in a row that cannot be played, before it is given up."""

TITLE_S: Final = 5.0
"""Between two titles of a stream on the screen."""


@dataclass(frozen=True, slots=True)
class Span:
    """From ``start`` seconds of what was given, the item ``at`` is heard from ``seconds`` on."""

    start: float
    at: int
    seconds: float


class Player:
    """The queue of a device, which outlives its sessions. ``threads``: where it is decoded."""

    def __init__(self, settings: MediaSettings, threads: Executor | None) -> None:
        self._settings = settings
        self._threads = threads
        self._queue: Sequence[Item] = ()
        self._at = 0
        self._seconds = 0.0
        """Of the item that is heard next."""
        self._spans: deque[Span] = deque(maxlen=8)
        self._given = 0.0
        """Seconds of sound that :meth:`chunks` gave."""
        self._handle: SpeechHandle | None = None
        self.current: _Playing | None = None
        """What was begun last; others have been replaced."""
        self._named = ""
        """The title that a live stream gave last."""
        self._pace = 0.0
        """Bytes a second of the address that is played."""

    @property
    def item(self) -> Item | None:
        """What is played, or was last."""
        return self._queue[self._at] if self._at < len(self._queue) else None

    @property
    def title(self) -> str:
        """What stands on the screen."""
        item = self.item
        if item is None:
            return ""
        return f"{item.title}: {self._named}" if self._named else item.shown

    @property
    def seconds(self) -> float:
        """How far it is in the item, but for what the device has in front of it."""
        last = self._spans[-1] if self._spans else Span(self._given, self._at, self._seconds)
        return last.seconds + self._given - last.start

    @property
    def plays(self) -> bool:
        """Whether it is heard, or will be as soon as the floor is free."""
        return self._handle is not None and not self._handle.done

    @property
    def held(self) -> int:
        """Bytes of audio that its queue keeps in memory."""
        return sum(len(each.data) for each in self._queue)

    def play(self, items: Sequence[Item], speaker: Play) -> None:
        """Play these instead of what there was."""
        self.stop()
        self.queue(items)
        self._begin(speaker)

    def queue(self, items: Sequence[Item]) -> None:
        """Have these before it, from the first on."""
        self._queue, self._at, self._seconds = items, 0, 0.0

    def go_on(self, speaker: Play) -> bool:
        """Play on where it was; return whether there is anything."""
        if self.item is None:
            return False
        if not self.plays:
            self._begin(speaker)
        return True

    def step(self, by: int, speaker: Play) -> bool:
        """Play the item that stands ``by`` further; return whether there is one.

        Back within an item, behind its first seconds, is its beginning.
        """
        at = self._at + by
        if by < 0 and self.seconds > TITLE_S:
            at = self._at
        if not 0 <= at < len(self._queue):
            return False
        self.stop()
        self._at, self._seconds = at, 0.0
        self._begin(speaker)
        return True

    def stop(self) -> None:
        """Play no further; :meth:`go_on` may follow."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _begin(self, speaker: Play) -> None:
        self._spans.clear()
        self._named = ""
        self.current = _Playing(self)
        self._handle = speaker(self.current)

    # ── the sound ────────────────────────────────────────────────────────────────────────────

    async def chunks(self, turn_id: int, valid: Callable[[], bool]) -> AsyncIterator[Chunk]:
        """Yield the queue from where it is. Raises SoundFailed. ``valid``: it is the newest."""
        self._spans.clear()
        self._given, failed = 0.0, 0
        while valid() and (item := self.item) is not None:
            self._spans.append(Span(self._given, self._at, self._seconds))
            shown, shown_at = "", 0.0
            self._named = ""
            try:
                async with closing(self._sound(item, self._seconds)) as pieces:
                    async for pcm, rate in pieces:
                        yield AudioOut(turn_id, pcm, rate)
                        failed = 0
                        self._given += pcm_seconds(pcm, rate)
                        if self.title != shown and now() - shown_at >= (TITLE_S if shown else 0.0):
                            shown, shown_at = self.title, now()
                            yield Notice(turn_id, shown)
            except SoundFailed as error:
                failed += 1
                _log.warning("sound not played", extra={"reason": error.key, "kind": item.kind})
                if failed >= min(MAX_FAILED, len(self._queue)) or item.kind == "radio":
                    raise
            if valid():
                self._at, self._seconds = self._at + 1, 0.0
        if valid():
            self._at = 0

    def left(self, ms: int) -> None:
        """It was cut when ``ms`` were heard; live streams go on at their present."""
        heard = ms / 1000
        for span in reversed(self._spans):
            if span.start <= heard:
                self._at, self._seconds = span.at, span.seconds + heard - span.start
                break
        self._spans.clear()

    async def _sound(self, item: Item, seconds: float) -> AsyncIterator[Pcm]:
        if item.remote:
            live = item.kind == "radio"
            async with closing(self._remote(item, seconds, live=live)) as pieces:
                async for pcm in pieces:
                    yield pcm
            return
        loop = asyncio.get_running_loop()
        decoder: BytesDecoder | FileDecoder = (
            BytesDecoder(item.data, seconds)
            if item.data
            else await loop.run_in_executor(
                self._threads, FileDecoder, item.place, item.rate, seconds
            )
        )
        try:
            while (piece := await loop.run_in_executor(self._threads, decoder.read)) is not None:
                yield piece
        finally:
            decoder.close()

    async def _remote(self, item: Item, seconds: float, *, live: bool) -> AsyncIterator[Pcm]:
        begun, given, held = now(), 0.0, list[Pcm]()
        start = 0 if live else int(seconds * self._pace)
        stream = Stream(
            item.place,
            live=live,
            trusted=item.trusted,
            private=self._settings.allow_private,
            stall=self._settings.stall,
            start=start,
        )
        async with closing(stream.read(self._threads)) as pieces:
            async for pcm in pieces:
                if stream.titles:
                    self._named = stream.titles.pop()
                if not given:
                    begun = now()
                given += pcm_seconds(*pcm)
                if not live and given > TITLE_S:
                    self._pace = (stream.at - start) / given
                held.append(pcm)
                if not live or given >= AHEAD_S or now() - begun >= AHEAD_S:
                    for each in held:
                        yield each
                    held.clear()
        for each in held:
            yield each


class _Playing:
    """One playing of a queue, a :class:`~vixio.core.session.speech.Sound`."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self.title = player.title

    @property
    def _valid(self) -> bool:
        return self._player.current is self

    async def chunks(self, turn_id: int) -> AsyncIterator[Chunk]:
        async with closing(self._player.chunks(turn_id, lambda: self._valid)) as chunks:
            async for chunk in chunks:
                yield chunk

    def left(self, ms: int) -> None:
        if self._valid:
            self._player.left(ms)
