"""Another engine for a running session: made beside the old one, taken between two turns."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from vixio.core.chunk import AudioIn
from vixio.core.device import DeviceProfile
from vixio.core.errors import VixioError, describe
from vixio.core.session.engine import Engine

_log = logging.getLogger(__name__)

MakeEngine = Callable[[DeviceProfile], Awaitable[Engine]]

OVERLAP_S = 0.6
"""Microphone audio that the new engine hears again: its VAD and its pre-roll begin empty, and the
user may just have begun to speak."""


@dataclass(slots=True, eq=False)
class _Request:
    """A profile that was asked for; its engine, once it is made."""

    profile: DeviceProfile
    at: float
    engine: Engine | None = None
    audio: deque[AudioIn] = field(default_factory=deque)


class EngineSwap:
    """The pending engine, and the audio that it is fed first.

    ``over_at`` of its methods: when the last utterance ended or what was heard became void. What
    arrived before has been answered or is not to be, so the new engine does not hear it.
    """

    def __init__(self, make: MakeEngine | None) -> None:
        self._make = make
        self._request: _Request | None = None
        self._discarded: list[Engine] = []

    @property
    def pending(self) -> bool:
        """Whether a change was asked for and has not taken place."""
        return self._request is not None

    @property
    def profile(self) -> DeviceProfile | None:
        """The profile that was asked for and is not in force yet."""
        return self._request.profile if self._request is not None else None

    def due(self, over_at: float) -> float | None:
        """Return when there is enough audio for the new engine; None: it is not made yet."""
        if self._request is None or self._request.engine is None:
            return None
        return max(self._request.at, over_at) + OVERLAP_S

    def ask(self, profile: DeviceProfile, now: float) -> None:
        """Ask for an engine for ``profile``. Replaces an earlier request."""
        if self._request is not None and self._request.engine is not None:
            self.discard(self._request.engine)
        self._request = _Request(profile, now)

    def keep(self, chunk: AudioIn) -> None:
        """Keep microphone audio while a change is pending."""
        if self._request is None:
            return
        audio = self._request.audio
        audio.append(chunk)
        while chunk.at - audio[0].at > OVERLAP_S:
            audio.popleft()

    async def prepare(self) -> bool:
        """Make the engine; return whether there is one. A failure leaves the old one in place."""
        request, make = self._request, self._make
        if request is None or make is None:
            self._request = None
            return False
        try:
            request.engine = await make(request.profile)
        except VixioError as error:
            self._give_up(request)
            _log.error("profile not applied", extra={"error": describe(error)})
            return False
        except BaseException:
            self._give_up(request)
            raise
        if self._request is not request:  # asked anew meanwhile
            self.discard(request.engine)
            await self.close_discarded()
            return False
        return True

    def ready(self, now: float, over_at: float, *, microphone: bool) -> bool:
        """Whether the change may take place. With an open microphone audio is collected first."""
        due = self.due(over_at)
        return due is not None and (due <= now or not microphone)

    def take(self, over_at: float) -> tuple[DeviceProfile, Engine, tuple[AudioIn, ...]]:
        """Return the profile, its engine and the audio that the engine has to hear first."""
        request, self._request = self._request, None
        assert request is not None  # noqa: S101 - ready() said so
        assert request.engine is not None  # noqa: S101 - ready() said so
        audio = tuple(chunk for chunk in request.audio if chunk.at >= over_at)
        return request.profile, request.engine, audio

    def discard(self, engine: Engine) -> None:
        """Have an engine closed that serves no more, at the latest by :meth:`close`."""
        self._discarded.append(engine)

    async def close_discarded(self) -> None:
        """Close the discarded engines."""
        while self._discarded:
            await self._discarded.pop().close()

    async def close(self) -> None:
        """Close all engines that do not serve."""
        request, self._request = self._request, None
        if request is not None and request.engine is not None:
            self.discard(request.engine)
        await self.close_discarded()

    def _give_up(self, request: _Request) -> None:
        if self._request is request:
            self._request = None
