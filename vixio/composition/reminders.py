"""Joins what the assistant says first with the server: devices, sessions, tools, the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from vixio.composition.profiles import LiveProfiles
from vixio.composition.registry import opened_database
from vixio.core.cluster import Presence
from vixio.core.device import Device
from vixio.core.host import SessionHost
from vixio.core.metrics import Counters
from vixio.core.session.directory import SessionDirectory
from vixio.core.tools.source import ToolSource
from vixio.data.devices.profiles import is_pattern
from vixio.data.devices.records import UNKNOWN
from vixio.data.devices.registry import DeviceRegistry
from vixio.data.reminders.deliverer import Deliverer
from vixio.data.reminders.names import Listener, Listeners
from vixio.data.reminders.repository import HOUR_MS, Limits, ReminderRepository
from vixio.data.reminders.service import ReminderService
from vixio.data.reminders.tools import reminder_source
from vixio.settings import Settings
from vixio.settings.reminders import RemindersSection
from vixio.web.feed.content import Content
from vixio.web.feed.happenings import ended, reminder_changed


def limits_of(section: RemindersSection) -> Limits:
    """Return the limits that the settings set."""
    return Limits(round(section.expire_after * HOUR_MS), section.per_device)


@asynccontextmanager
async def opened_reminders(settings: Settings) -> AsyncIterator[ReminderRepository]:
    """Open the database of the settings for a command.

    Raises DatabaseFailed, and ConfigError for one that ends with the server.
    """
    async with opened_database(settings) as database:
        yield ReminderRepository(database, limits_of(settings.reminders))


class KnownDevices:
    """The devices that the registry, the settings or a connection make known."""

    def __init__(
        self,
        settings: Settings,
        registry: DeviceRegistry,
        profiles: LiveProfiles,
        presence: Presence,
    ) -> None:
        self.sessions = SessionDirectory()
        """Those of this process."""
        self._registry = registry
        self._profiles = profiles
        self._presence = presence
        self._assistant = settings.assistant
        self._in_settings = [key for key in settings.devices if not is_pattern(key)]

    def all(self) -> Sequence[Listener]:
        """Return all that may be spoken to."""
        # Anyone can invent ids where the server is open: of devices that nobody has named, only
        # those that are connected.
        ids = dict.fromkeys(
            (
                *(
                    device_id
                    for device_id, standing in self._registry.known.standings.items()
                    if standing.claimed or standing.name or self._presence.where(device_id)
                ),
                *self._in_settings,
                *(session.device_id for session in self.sessions),
            )
        )
        found = (self._listener(device_id) for device_id in ids)
        return [each for each in found if each is not None]

    def find(self, device_id: str) -> Listener | None:
        """Return one by its id; None for one that nobody knows, or that is blocked."""
        known = device_id in self._registry.known.standings or device_id in self._in_settings
        if not known and not self._connected(device_id):
            return None
        return self._listener(device_id)

    def _connected(self, device_id: str) -> bool:
        here = self.sessions.find(device_id) is not None
        return here or bool(self._presence.where(device_id))

    def _listener(self, device_id: str) -> Listener | None:
        if self._registry.known.standings.get(device_id, UNKNOWN).blocked is not None:
            return None
        session = self.sessions.find(device_id)
        profile = session.profile if session is not None else self._profiles(Device(device_id))
        # The place and the user of all devices distinguish none.
        place = profile.place if profile.place != self._assistant.place else ""
        user = profile.user if profile.user != self._assistant.user_name else ""
        return Listener(device_id, profile.name, place, user, self._connected(device_id))


class Reminders:
    """The part of a server. With ``reminders.enabled`` false it does nothing."""

    def __init__(
        self,
        settings: Settings,
        registry: DeviceRegistry,
        profiles: LiveProfiles,
        presence: Presence,
        counters: Counters,
    ) -> None:
        self._enabled = settings.reminders.enabled
        self._registry = registry
        self._counters = counters
        self._known = KnownDevices(settings, registry, profiles, presence)
        self.listeners = Listeners(self._known.all, self._known.find)
        self.service = ReminderService(
            registry.link, limits_of(settings.reminders), settings.assistant.time_zone
        )
        self._deliverer: Deliverer | None = None
        self.tell: Callable[[str, Content], None] = lambda _device_id, _content: None
        """Called with the device and what became of a reminder."""
        self.service.on_spoken_change = lambda each: self.tell(
            each.delivery.device_id, reminder_changed(each)
        )

    @property
    def sources(self) -> Sequence[ToolSource]:
        """The tools of the agent."""
        return [reminder_source(self.service, self.listeners)] if self._enabled else []

    def begin(self, host: SessionHost) -> None:
        """Deliver to the sessions of ``host`` from now on."""
        self._known.sessions = host.sessions
        if not self._enabled:
            return
        self._deliverer = Deliverer(
            self._registry.link, host.sessions, self._counters, self.service.zone
        )
        self._deliverer.on_ended = lambda each: self.tell(each.delivery.device_id, ended(each))
        host.events.attach(self._deliverer)
        self.service.on_change = self._registry.on_written = self._deliverer.wake
        self._deliverer.start()

    async def stop(self) -> None:
        """Note what was heard, for a bounded time; the sessions are over. Idempotent."""
        if self._deliverer is not None:
            await self._deliverer.stop()
