"""Commands to devices of any worker process; the coordinator knows where each device is."""

from __future__ import annotations

import asyncio
from typing import Final

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.leases import WorkerLeases
from vixio.cluster.workers.messages import Kind
from vixio.core.cluster import COMMAND_S, NOT_CONNECTED, CommandHandler, Commands, carry_out
from vixio.core.commands import Command, CommandResult, CommandStatus, decode, encode
from vixio.core.tools.types import JsonObject

MARGIN_S: Final = 1.0
"""The sender waits so much longer than the handler may take, for a busy machine."""


class WorkerCommands(Commands):
    """A device of this process is served without the coordinator."""

    def __init__(self, channel: Channel, leases: WorkerLeases) -> None:
        self._channel = channel
        self._leases = leases
        self._handler: CommandHandler | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self, handler: CommandHandler) -> None:
        """Set what carries out commands to the devices of this process."""
        self._handler = handler

    async def send(
        self, device_id: str, command: Command, *, timeout: float = COMMAND_S
    ) -> CommandResult:
        """Have a command carried out, here or by another process."""
        body = encode(command)
        if self._leases.current(device_id) is not None:
            return await carry_out(self._handler, device_id, command, timeout)
        if self._channel.closed:
            return NOT_CONNECTED
        answer = await self._channel.request(
            Kind.COMMAND, timeout + 2 * MARGIN_S, device=device_id, command=body, timeout=timeout
        )
        if answer is None:
            return CommandResult(CommandStatus.TIMED_OUT)
        return CommandResult.from_json(answer)

    # ── the channel's side ───────────────────────────────────────────────────────────────────

    def received(
        self, number: int, device_id: str, token: int, body: JsonObject, timeout: float
    ) -> None:
        """Carry out a command of another process."""
        work = self._answer(number, device_id, token, body, timeout)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """The coordinator is gone: no answer can be given any more."""
        for task in self._tasks:
            task.cancel()

    async def _answer(
        self, number: int, device_id: str, token: int, body: JsonObject, timeout: float
    ) -> None:
        lease = self._leases.current(device_id)
        result = NOT_CONNECTED
        if lease is not None and lease.token == token:
            try:
                command = decode(body)
            except ValueError as error:
                result = CommandResult(CommandStatus.FAILED, message=str(error))
            else:
                result = await carry_out(self._handler, device_id, command, timeout)
        self._channel.answer(number, result.to_json())
