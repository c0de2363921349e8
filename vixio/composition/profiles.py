"""The profiles in effect, which can change while devices are connected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from vixio.composition.providers import Choices
from vixio.core.device import Device, DeviceProfile, ProfileResolver
from vixio.core.errors import ConfigError
from vixio.core.session.directory import SessionDirectory
from vixio.core.session.events import Event, SessionOpened
from vixio.core.session.session import Session

_log = logging.getLogger(__name__)

SWITCH_S = 60.0
"""For which a connected device keeps its old profile while the new one's providers load."""


class LiveProfiles:
    """Resolves devices to profiles with a provider of each kind: those of ``resolver``, completed
    by ``defaults``. Both may be replaced."""

    def __init__(self, resolver: ProfileResolver, defaults: Choices) -> None:
        self.resolver = resolver
        self.defaults = defaults

    def __call__(self, device: Device) -> DeviceProfile:
        """Return the profile of a device."""
        profile = self.resolver(device)
        try:
            return self.defaults.completed(profile)
        except ConfigError as error:
            fields = {"device_id": device.id, "reason": str(error)}
            _log.error("invalid profile, the default providers serve the device", extra=fields)
            plain = replace(profile, vad=None, asr=None, agent=None, tts=None)
            return self.defaults.completed(plain)

    def use(self, resolver: ProfileResolver, defaults: Choices | None = None) -> None:
        """Resolve by ``resolver`` from now on, and complete by ``defaults`` if they are given."""
        self.resolver = resolver
        self.defaults = defaults or self.defaults


class ProfileUpdates:
    """Brings changed profiles to connected devices.

    ``prepare`` loads the providers of a profile. Until it is done, at most for SWITCH_S, the device
    keeps its old ones.
    """

    def __init__(
        self,
        profiles: LiveProfiles,
        sessions: SessionDirectory,
        prepare: Callable[[DeviceProfile], Awaitable[None]],
    ) -> None:
        self._profiles = profiles
        self._sessions = sessions
        self._prepare = prepare
        self._tasks: set[asyncio.Task[None]] = set()

    def change(self, exchange: Callable[[LiveProfiles], None]) -> None:
        """Have ``exchange`` change the profiles, and serve by them every device that it concerns.

        A session whose profile was changed by a command keeps that if its device's is the same.
        """
        before = [(session, self._profiles(session.device)) for session in self._sessions]
        exchange(self._profiles)
        concerned: dict[DeviceProfile, list[Session]] = {}
        for session, old in before:
            new = self._profiles(session.device)
            if new != old:
                concerned.setdefault(new, []).append(session)
        for profile, sessions in concerned.items():
            self.spawn(self._apply(profile, sessions))

    def __call__(self, event: Event) -> None:
        """Take note of a session that was opened while its profile changed."""
        if isinstance(event, SessionOpened):
            session = self._sessions.get(event.session_id)
            if session is not None:
                profile = self._profiles(session.device)
                if profile != session.profile:
                    self.spawn(self._apply(profile, [session]))

    async def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _apply(self, profile: DeviceProfile, sessions: list[Session]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SWITCH_S):
                await self._prepare(profile)
        for session in sessions:
            if self._profiles(session.device) == profile:  # it may have changed once more
                session.reconfigure(profile)
                _log.info("profile changes", extra={"device_id": session.device_id})

    def spawn(self, work: Awaitable[None]) -> None:
        """Run ``work`` beside; it ends with :meth:`close`."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
