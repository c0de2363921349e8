"""Connects the A2A gateway with the server."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from vixio.composition.conversations import Conversations
from vixio.core.cluster import Cluster
from vixio.core.commands import CommandResult
from vixio.core.device import RESERVED_PREFIX
from vixio.core.host import SessionHost
from vixio.core.session.conversation import Conversation
from vixio.core.timeouts import Timeouts
from vixio.settings import Settings
from vixio.transports.admission.admission import Admission

if TYPE_CHECKING:
    from vixio.web.a2a.mount import A2AMount

ROUNDS = 8
"""Waits for a caller's tools in one turn, which its time limit has room for."""


def make_a2a(
    settings: Settings,
    host: SessionHost,
    conversations: Conversations,
    admission: Admission,
    cluster: Cluster,
    command: Callable[..., Awaitable[CommandResult]],
    http_port: Callable[[], int],
) -> A2AMount | None:
    """Return the gateway's mount, not loaded yet; None: the settings do not ask for one.

    Raises ConfigError without the extra.
    """
    section = settings.a2a
    if section is None:
        return None
    from vixio.web.a2a.device_commands import serve_device_commands
    from vixio.web.a2a.mount import A2AMount, Ports

    timeouts = patient(settings.time_limits(), section.result_timeout)

    async def open_conversation(key: str) -> Conversation:
        return await conversations.open(key, timeouts=timeouts)

    async def forget(key: str) -> None:
        await host.histories.written(key)
        host.histories.drop(key)

    mount = A2AMount(
        section,
        Ports(
            open_conversation=open_conversation,
            forget=forget,
            command=command,
            serve_keys=functools.partial(host.commands.serve_keys, RESERVED_PREFIX),
            cluster=cluster,
            counters=host.counters,
            proxies=admission.proxies,
            http_port=http_port,
        ),
    )
    serve_device_commands(host.commands.register)
    return mount


def patient(timeouts: Timeouts, result_timeout: float) -> Timeouts:
    """Return time limits that leave room for the results of a caller's tools.

    A model that does not answer is noticed by its provider, as always.
    """
    return replace(
        timeouts,
        turn=timeouts.turn + ROUNDS * result_timeout,
        agent_next=timeouts.agent_next + result_timeout,
    )
