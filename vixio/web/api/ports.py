"""What the API uses of the server. Cheap to import."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vixio.core.cluster import COMMAND_S, Cluster
from vixio.core.commands import Command, CommandResult
from vixio.core.device import Device, ProfileResolver
from vixio.core.metrics import Counters
from vixio.core.session.commands import CustomHandler
from vixio.data.devices.firmware.folder import FirmwareFolder
from vixio.data.devices.registry import DeviceRegistry
from vixio.data.memory.memory import Memory
from vixio.data.papers.service import Papers
from vixio.data.reminders.names import Listeners
from vixio.data.reminders.service import ReminderService
from vixio.transports.admission.addresses import Proxies
from vixio.transports.admission.hosts import HostPolicy
from vixio.transports.admission.origin import OriginPolicy
from vixio.web.access.points import AccessPoints
from vixio.web.api.added_tools import ToolAdding
from vixio.web.api.assistant_settings import AssistantSettingsPort
from vixio.web.api.drafts import ProfileDrafts
from vixio.web.api.pictures import Pictures
from vixio.web.api.screens import Screens
from vixio.web.api.server_view import ServerView
from vixio.web.feed.feed import EventFeed
from vixio.web.feed.live import LiveDevices


class SendCommand(Protocol):
    """Has a command carried out by the session of a device, in whichever process."""

    def __call__(
        self, device_id: str, command: Command, *, timeout: float = COMMAND_S
    ) -> Awaitable[CommandResult]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """``folder``: of the data. ``kept``: whether the registry outlives the process.

    ``status`` returns what the health page shows. ``on_command`` sets what carries out a custom
    command in this process. ``ready`` returns when the server has time to load the API.
    ``turns_written`` has turns that ended in this process put on record before they are read.
    ``cancels_echo``: whether the server does that for devices that leave it to it; ``draws_glyphs``
    likewise, of those that their fonts lack.
    ``sound_days``: for how many what a device hears is kept as sound; cheap too.
    ``profile_of`` says how a device is, or would be, served; cheap. ``memory`` None: it ends with
    the server. ``view``: what an operator sees of the server.
    """

    registry: DeviceRegistry
    access: AccessPoints
    firmware: FirmwareFolder
    folder: Path
    kept: bool
    command: SendCommand
    on_command: Callable[[str, CustomHandler], None]
    status: Callable[[], Awaitable[dict[str, Any]]]
    ready: Callable[[], Awaitable[None]]
    drafts: ProfileDrafts
    assistant: AssistantSettingsPort
    tools: ToolAdding
    feed: EventFeed
    turns_written: Callable[[], Awaitable[None]]
    live: LiveDevices
    profile_of: ProfileResolver
    sound_days: Callable[[Device], int | None]
    cancels_echo: bool
    draws_glyphs: bool
    screens: Screens
    pictures: Pictures
    reminders: ReminderService
    listeners: Listeners
    memory: Memory | None
    papers: Papers
    cluster: Cluster
    counters: Counters
    proxies: Proxies
    hosts: HostPolicy
    origins: OriginPolicy
    view: ServerView
