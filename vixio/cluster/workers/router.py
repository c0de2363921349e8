"""Passes commands on to the worker that serves the device."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.commands import MARGIN_S
from vixio.cluster.workers.lease_table import LeaseTable
from vixio.cluster.workers.messages import Kind
from vixio.core.cluster import NOT_CONNECTED
from vixio.core.commands import CommandResult, CommandStatus
from vixio.core.tools.types import JsonObject

ENDED: Final = "the process that served the device has ended"


class CommandRouter:
    """Part of the coordinator, whose books it reads.

    ``moving``: by device, what has to be over before its lease passes to the next worker.
    """

    def __init__(
        self,
        leases: LeaseTable,
        channels: Mapping[int, Channel],
        moving: Mapping[str, asyncio.Task[int]],
    ) -> None:
        self._leases = leases
        self._channels = channels
        self._moving = moving

    async def route(self, device: str, command: JsonObject, timeout: float) -> JsonObject:
        """Return the result, as JSON.

        A worker that has got the command may have carried it out, so no other one gets it then.
        """
        token = 0
        while True:
            if (moving := self._moving.get(device)) is not None:
                await asyncio.wait({moving})
            holder = self._leases.holder(device)
            if holder is None or holder.token == token:
                return NOT_CONNECTED.to_json()
            token = holder.token
            channel = self._channels[holder.worker]
            if channel.closed:
                continue  # the worker has ended: the next holder, if any
            answer: Any = await channel.request(
                Kind.COMMAND,
                timeout + MARGIN_S,
                device=device,
                token=token,
                command=command,
                timeout=timeout,
            )
            if answer is None:
                attended = self._channels.get(holder.worker) is channel
                message = "" if attended else ENDED
                return CommandResult(CommandStatus.TIMED_OUT, message=message).to_json()
            if answer != NOT_CONNECTED.to_json():
                return dict(answer)
            # The lease has just passed on: the next holder, if any.
