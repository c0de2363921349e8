"""The devices of a server beyond their sessions: registry, profiles, firmware, reminders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from vixio.cluster.context import ClusterContext
from vixio.composition.choices import ProfileDefaults
from vixio.composition.firmware import make_firmware
from vixio.composition.papers import PaperServices
from vixio.composition.profiles import LiveProfiles, ProfileUpdates
from vixio.composition.registry import Farewells, make_registry
from vixio.composition.reminders import Reminders
from vixio.core.device import Device, DeviceProfile
from vixio.core.host import SessionHost
from vixio.core.metrics import Counters
from vixio.core.session.events import ConversationOpened, Event, SessionOpened
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import ToolSource
from vixio.data.conversations.recorder import TurnRecorder
from vixio.data.devices.records import UNKNOWN
from vixio.data.devices.roles import RoleTools, role_source
from vixio.settings import Settings
from vixio.stations.asr import KeepSound
from vixio.tools.moment import Moments
from vixio.web.api.device_commands import UPGRADE
from vixio.web.feed.changes import Past, read_past
from vixio.web.feed.feed import EventFeed
from vixio.web.feed.happenings import waiting
from vixio.web.feed.live import COMMAND, LiveBoard, LiveDevices


class DeviceServices:
    """Registry, firmware updates, reminders, documents and feed of one server. Raises ConfigError.

    The secret of ``context`` signs links to firmware where nothing else does.
    """

    def __init__(
        self,
        settings: Settings,
        defaults: ProfileDefaults,
        context: ClusterContext,
        counters: Counters,
        http_port: Callable[[], int],
    ) -> None:
        cluster, secret = context.cluster, context.secret
        self.registry = make_registry(settings, counters)
        self.profiles = LiveProfiles(settings, defaults, self.registry.known)
        self.reminders = Reminders(
            settings, self.registry, self.profiles, cluster.presence, counters
        )
        self.firmware = make_firmware(settings, self.registry.link, counters, http_port, secret)
        self.feed = EventFeed(cluster, self._read_changes)
        self._board = LiveBoard()
        self.live = LiveDevices(self._board, cluster)
        standings = self.registry.known.standings
        self.papers = PaperServices(
            settings.papers,
            self.registry.link,
            lambda device_id: standings.get(device_id, UNKNOWN).profile,
            keeps=context.worker in (0, 1),
        )
        self._recorder: TurnRecorder | None = None
        if settings.data.kept and (days := settings.conversations.keep_days):
            self._recorder = TurnRecorder(
                self.registry.link,
                counters,
                days,
                lambda device_id: standings.get(device_id, UNKNOWN).served_as,
                self.sound_days,
            )
        self.updates: ProfileUpdates | None = None
        """None until sessions are followed."""
        self._host: SessionHost | None = None
        self._tools: ToolRuntime | None = None
        self.moments = Moments(counters, lambda: self._tools.sources if self._tools else ())
        self.on_changed: Callable[[], None] = lambda: None
        """Called when names, profiles or added tools may have changed."""

    def attach(
        self,
        host: SessionHost,
        prepare: Callable[[DeviceProfile], Awaitable[None]],
        tools: ToolRuntime,
    ) -> ProfileUpdates:
        """Follow the sessions of ``host``; return what brings changed profiles to them.

        ``prepare`` loads the providers of a profile. ``tools``: of the server.
        """
        self._host, self._tools = host, tools
        updates = self.updates = ProfileUpdates(self.profiles, host.sessions, prepare)
        self.registry.on_unwelcome = Farewells(host.sessions)
        self.registry.on_changed = self._look_again
        self.registry.on_audit = self.feed.changed
        self.registry.on_waiting = lambda device: self.feed.tell(device.id, waiting(device))
        self.firmware.tell = self.feed.tell
        self.reminders.tell = self.feed.tell
        host.events.attach(self.feed)
        host.events.attach(self._board)
        host.commands.register(COMMAND, self._board.answer)
        host.commands.register(UPGRADE, self.firmware.upgrade)
        host.events.attach(updates)
        host.events.attach(self._ask_of_the_moment)
        host.events.attach(self.registry)
        if self._recorder is not None:
            host.events.attach(self._recorder)
        return updates

    def begin(self, host: SessionHost) -> None:
        """Begin to open the database. Returns at once."""
        self.registry.start()
        if self._recorder is not None:
            self._recorder.begin()
        self.reminders.begin(host)
        self.papers.begin()
        written = self.registry.on_written

        def on_written() -> None:
            written()
            self.papers.papers.look()

        self.registry.on_written = on_written

    @property
    def sources(self) -> Sequence[ToolSource]:
        """The tools that they bring for the agent."""
        roles = role_source(RoleTools(self.registry, self._served))
        return [*self.reminders.sources, *self.papers.sources, roles]

    def _served(self, device_id: str) -> DeviceProfile:
        """Return the profile of a device, by what is known of it now."""
        session = self._host.sessions.find(device_id) if self._host is not None else None
        return self.profiles.outline(session.device if session is not None else Device(device_id))

    def _ask_of_the_moment(self, event: Event) -> None:
        """Ask what the instructions say of the moment as soon as a conversation begins."""
        if isinstance(event, SessionOpened | ConversationOpened) and self._host is not None:
            session = self._host.sessions.get(event.session_id)
            if session is not None and session.profile.context is not None:
                self.moments.begin(session.profile.context.sources)

    @property
    def keep_sound(self) -> KeepSound | None:
        """What takes the sound of utterances; None: turns are not recorded."""
        return self._recorder.keep_sound if self._recorder is not None else None

    def sound_days(self, device: Device) -> int | None:
        """Return for how many days what a device hears is kept as sound, as it is now; None: the
        profiles have not been read yet."""
        if self._recorder is None:
            return 0
        days = self.profiles.outline(device).keep_sound_days
        if days is None:
            days = self.profiles.defaults.settings.assistant.keep_sound_days
        return days if self.registry.known.loaded else None

    async def caught_up(self) -> None:
        """Have turns that ended a moment ago written before the caller reads or erases them."""
        if self._recorder is not None:
            await self._recorder.caught_up()

    async def settle(self) -> None:
        """End what is done to sessions, before these end. Idempotent."""
        if self.updates is not None:
            await self.updates.close()

    async def close(self) -> None:
        """Write what is not written, and close the database. Idempotent."""
        if self._recorder is not None:
            await self._recorder.close()
        await self.moments.close()
        await self.reminders.stop()
        await self.papers.close()
        await self.firmware.stop()
        await self.registry.stop()

    def _look_again(self) -> None:
        """Follow names and profiles that may have changed."""
        if self.updates is not None:
            self.updates.look_again()
        if self._recorder is not None:
            self._recorder.look_again()
        self.on_changed()

    async def _read_changes(self, after: int | None) -> Past:
        return await self.registry.use(lambda database: read_past(database, after))
