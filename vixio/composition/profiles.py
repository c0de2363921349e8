"""The profiles in effect, which can change while devices are connected."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from vixio.composition.choices import ProfileDefaults
from vixio.core.device import Device, DeviceProfile, ProfileResolver
from vixio.core.errors import ConfigError, describe
from vixio.core.messages import use_folder
from vixio.core.session.directory import SessionDirectory
from vixio.core.session.events import Event, SessionOpened
from vixio.core.session.session import Session
from vixio.core.tasks import cancel_and_wait
from vixio.data.devices.profiles import SettingsProfiles
from vixio.data.devices.registry_cache import RegistrySnapshot
from vixio.settings import Settings

_log = logging.getLogger(__name__)

SWITCH_S = 60.0
"""For which a connected device keeps its old profile while the new one's providers load."""


class LiveProfiles:
    """Resolves devices to profiles with a provider of each kind, by the settings or by a resolver
    of the program. Both may be replaced."""

    def __init__(
        self, settings: Settings, defaults: ProfileDefaults, known: RegistrySnapshot | None = None
    ) -> None:
        """``known``: what the registry says of devices."""
        self._registry = known
        self._resolver: ProfileResolver | None = None
        """The program's; None: the profiles of the settings."""
        self.use_settings(settings, defaults)

    def __call__(self, device: Device) -> DeviceProfile:
        """Return the profile of a device that is to be served in any case.

        Defaults take the place of what is invalid in it. A device for which the program's resolver
        fails has the profile of the settings. Either is a line in the log.
        """
        try:
            profile = self._given(device)
        except ConfigError as error:
            _log.error(
                "no profile, that of the settings serves the device", extra=_fields(device, error)
            )
            profile = self._of_settings(device)
        try:
            return self.defaults.completed(profile)
        except ConfigError as error:
            _log.error(
                "invalid profile, defaults replace what is invalid", extra=_fields(device, error)
            )
            return self.defaults.repaired(profile)

    def checked(self, device: Device) -> DeviceProfile:
        """Return the profile of a device. Raises ConfigError where it is invalid or missing."""
        return self.defaults.completed(self._given(device))

    def drafted(self, device: Device, content: Mapping[str, Any]) -> DeviceProfile:
        """Return the profile of a device if ``content`` were its profile in the registry.

        Raises ConfigError.
        """
        if self._resolver is not None:
            raise ConfigError("the program decides how devices are served, not profiles")
        return self.defaults.completed(self._of_settings.drafted(device, content))

    def outline(self, device: Device) -> DeviceProfile:
        """Return the profile of a device that need not be connected, for lists: cheap.

        Defaults are not filled in. Nothing is logged: an invalid profile is in the log when its
        device connects.
        """
        try:
            return self._given(device)
        except ConfigError:
            return self._of_settings(device)

    def use_settings(self, settings: Settings, defaults: ProfileDefaults) -> None:
        """Complete profiles by ``defaults`` from now on. A resolver of the program stays.

        The assistant's own words follow too, for the whole process.
        """
        folder = settings.assistant.messages
        use_folder(Path(folder) if folder else None)
        self._of_settings = SettingsProfiles(settings, self._registry)
        self.defaults = defaults

    def use_resolver(self, resolver: ProfileResolver) -> None:
        """Resolve by ``resolver`` from now on."""
        self._resolver = resolver

    def _given(self, device: Device) -> DeviceProfile:
        if self._resolver is None:
            return self._of_settings(device)
        try:
            profile: object = self._resolver(device)
        except Exception as error:  # the program's code: a defect concerns this device only
            raise ConfigError(f"the profile resolver failed: {describe(error)}") from error
        if not isinstance(profile, DeviceProfile):
            found = type(profile).__name__
            raise ConfigError(f"the profile resolver returned {found} instead of DeviceProfile")
        return profile


def _fields(device: Device, error: ConfigError) -> dict[str, str]:
    return {"device": device.id, "reason": str(error)}


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
        self._resolved: WeakKeyDictionary[Session, DeviceProfile] = WeakKeyDictionary()
        """What each session's device was last resolved to. Not asked of the resolver again, whose
        data may have changed, nor of the session, which a command may have changed."""
        self._trials: WeakKeyDictionary[Session, Mapping[str, Any]] = WeakKeyDictionary()
        """Contents that are not saved, by which sessions are served for the time being."""
        self._tasks: set[asyncio.Task[None]] = set()

    def change(self, exchange: Callable[[LiveProfiles], None]) -> None:
        """Have ``exchange`` change the profiles, and serve by them every device that it concerns.

        A session whose profile was changed by a command keeps that if its device's is the same. A
        device whose new profile is invalid keeps the one that it has.
        """
        exchange(self._profiles)
        concerned: dict[DeviceProfile, list[Session]] = {}
        for session in self._sessions:
            try:
                new = self._profiles.checked(session.device)
            except ConfigError as error:
                _log.error(
                    "invalid profile, the device keeps its old one",
                    extra=_fields(session.device, error),
                )
                continue
            if new != self._resolved.get(session):
                self._resolved[session] = new
                concerned.setdefault(new, []).append(session)
        for profile, sessions in concerned.items():
            self.spawn(self._apply(profile, sessions))

    def __call__(self, event: Event) -> None:
        """Take note of a session that opens; its profile may have changed since it connected."""
        if isinstance(event, SessionOpened):
            session = self._sessions.get(event.session_id)
            if session is not None:
                self._opened(session)

    def _opened(self, session: Session) -> None:
        self._resolved[session] = session.profile
        try:
            profile = self._profiles.checked(session.device)
        except ConfigError:
            return  # which is in the log since the device connected
        if profile != session.profile:
            self._resolved[session] = profile
            self.spawn(self._apply(profile, [session]))

    def look_again(self) -> None:
        """Serve every device by its profile as it is now."""
        self.change(lambda _live: None)

    def trial(self, session: Session) -> Mapping[str, Any] | None:
        """Return the content that a session tries out, if there is one."""
        return self._trials.get(session)

    def try_out(self, session: Session, content: Mapping[str, Any]) -> None:
        """Serve a device by a content that is not saved, from its next turn on.

        Until :meth:`end_trial` or the end of the session; what changes meanwhile applies then.
        Raises ConfigError.
        """
        profile = self._profiles.drafted(session.device, content)
        self._trials[session] = content
        self.spawn(self._try(profile, session, content))

    def end_trial(self, session: Session) -> None:
        """Serve a device by its own profile again. Idempotent."""
        if self._trials.pop(session, None) is not None:
            profile = self._resolved[session] = self._profiles(session.device)
            self.spawn(self._apply(profile, [session]))

    async def close(self) -> None:
        """End what is under way."""
        await cancel_and_wait(*self._tasks)

    async def _apply(self, profile: DeviceProfile, sessions: list[Session]) -> None:
        await self._load(profile)
        for session in sessions:
            # It may have changed once more.
            if self._resolved.get(session) == profile and session not in self._trials:
                _change(session, profile)

    async def _try(
        self, profile: DeviceProfile, session: Session, content: Mapping[str, Any]
    ) -> None:
        await self._load(profile)
        if self._trials.get(session) is content:
            _change(session, profile)

    async def _load(self, profile: DeviceProfile) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SWITCH_S):
                await self._prepare(profile)

    def spawn(self, work: Awaitable[None]) -> None:
        """Run ``work`` beside; it ends with :meth:`close`."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _change(session: Session, profile: DeviceProfile) -> None:
    session.reconfigure(profile)
    fields = {"device": session.device_id, "session": session.session_id}
    _log.info("profile changes", extra=fields)
