"""Another engine for a running session: made beside the old one, taken between two turns."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable

from vixio.core.chunk import AudioIn
from vixio.core.device import DeviceProfile
from vixio.core.errors import VixioError, describe
from vixio.core.session.engine import Engine

_log = logging.getLogger(__name__)

MakeEngine = Callable[[DeviceProfile], Awaitable[Engine]]

OVERLAP_S = 0.6
"""Microphone audio that the new engine hears again: its VAD and its pre-roll begin empty, and the
user may just have begun to speak."""


class EngineSwap:
    """The engine that is to come, and the audio that it has to know."""

    def __init__(self, make: MakeEngine | None) -> None:
        self._make = make
        self._profile: DeviceProfile | None = None
        self._engine: Engine | None = None
        self._audio: deque[AudioIn] = deque()
        self._asked_at = 0.0

    @property
    def pending(self) -> bool:
        """Whether a change was asked for and has not taken place."""
        return self._profile is not None

    @property
    def due(self) -> float | None:
        """When there is enough audio for the new engine; None: it is not made yet."""
        return self._asked_at + OVERLAP_S if self._engine is not None else None

    def ask(self, profile: DeviceProfile, now: float) -> None:
        """Ask for an engine for ``profile``. Replaces an earlier request."""
        self._profile = profile
        self._asked_at = now
        self._audio.clear()

    def keep(self, chunk: AudioIn) -> None:
        """Keep microphone audio while a change is pending."""
        self._audio.append(chunk)
        while self._audio and chunk.at - self._audio[0].at > OVERLAP_S:
            self._audio.popleft()

    async def prepare(self) -> bool:
        """Make the engine; return whether there is one. A failure leaves the old one in place."""
        profile, make = self._profile, self._make
        if profile is None or make is None:
            self._profile = None
            return False
        try:
            engine = await make(profile)
        except VixioError as error:
            _log.error("profile not applied", extra={"error": describe(error)})
            if self._profile is profile:
                self._profile = None
            return False
        if self._profile is not profile:  # asked anew meanwhile
            await engine.close()
            return False
        if self._engine is not None:
            await self._engine.close()
        self._engine = engine
        return True

    def ready(self, now: float, *, microphone: bool) -> bool:
        """Whether the change may take place. With an open microphone audio is collected first."""
        due = self.due
        return due is not None and (due <= now or not microphone)

    def take(self) -> tuple[DeviceProfile, Engine, tuple[AudioIn, ...]]:
        """Return the profile, its engine and the audio that the engine has to hear first."""
        assert self._profile is not None  # noqa: S101 - ready() said so
        assert self._engine is not None  # noqa: S101 - ready() said so
        taken = (self._profile, self._engine, tuple(self._audio))
        self._profile = self._engine = None
        self._audio.clear()
        return taken

    async def close(self) -> None:
        """Close an engine that was never taken."""
        engine, self._engine, self._profile = self._engine, None, None
        if engine is not None:
            await engine.close()
