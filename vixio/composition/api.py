"""Connects the HTTP API and the console, which is its client, with the server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vixio.audio.echo import is_installed
from vixio.composition.conversations import Conversations
from vixio.composition.device_services import DeviceServices
from vixio.composition.firmware import firmware_folder
from vixio.composition.operations import Operations
from vixio.composition.ports import own_names
from vixio.composition.registry import data_folder
from vixio.composition.web import own_origins
from vixio.core.device import TRIAL_PREFIX
from vixio.transports.admission.hosts import HostPolicy
from vixio.transports.xiaozhi import glyphs

if TYPE_CHECKING:
    from vixio.server import Server
    from vixio.web.api.mount import ApiMount
    from vixio.web.console.site import ConsoleSite


def make_api(
    app: Server,
    device_services: DeviceServices,
    conversations: Conversations,
    operations: Operations,
    secret: str,
) -> Sequence[ApiMount | ConsoleSite]:
    """Return the mounts of API and console, not loaded yet; empty: the settings turn them off.

    ``app``: its other parts are made. ``secret``: that of all processes; empty: there is only this
    one.
    """
    settings, host, admission = app.settings, app.host, operations.admission
    section = settings.api
    if not section.enabled:
        return ()
    from vixio.composition.assistant import AssistantSettingsService
    from vixio.composition.profile_drafts import Drafts
    from vixio.composition.view import OperatorView
    from vixio.web.api.drafts import DEVICE_TRIAL
    from vixio.web.api.mount import ApiMount
    from vixio.web.api.pictures import Pictures
    from vixio.web.api.ports import Ports
    from vixio.web.api.screens import Screens
    from vixio.web.console.site import ConsoleSite

    hosts = HostPolicy(own_names(settings))
    drafts = Drafts(device_services, conversations, admission.cluster)
    host.commands.register(DEVICE_TRIAL, drafts.on_device)
    host.commands.serve_keys(TRIAL_PREFIX, drafts.trials)

    async def ready() -> None:
        if (loading := operations.readiness.loading) is not None:
            await asyncio.wait([loading])

    api = ApiMount(
        section,
        Ports(
            registry=device_services.registry,
            access=app.access,
            firmware=firmware_folder(settings),
            folder=data_folder(settings),
            kept=settings.data.kept,
            command=app.command,
            on_command=host.commands.register,
            status=app.cluster_health,
            ready=ready,
            drafts=drafts,
            assistant=AssistantSettingsService(app, admission.cluster),
            tools=app.added_tools.port(),
            feed=device_services.feed,
            turns_written=device_services.caught_up,
            live=device_services.live,
            profile_of=device_services.profiles.outline,
            sound_days=device_services.sound_days,
            cancels_echo=is_installed(),
            draws_glyphs=glyphs.is_installed(),
            screens=Screens(admission.cluster.broadcast, secret),
            pictures=Pictures(admission.cluster.broadcast, secret),
            reminders=device_services.reminders.service,
            listeners=device_services.reminders.listeners,
            memory=app.memory,
            papers=device_services.papers.papers,
            cluster=admission.cluster,
            counters=host.counters,
            proxies=admission.proxies,
            hosts=hosts,
            origins=own_origins(settings),
            view=OperatorView(app, admission),
        ),
    )
    return (api, ConsoleSite(hosts, host.counters)) if section.console else (api,)
