"""Commands to devices of any node: the bucket of claims names the node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.claims import Claims
from vixio.cluster.nats.leases import NatsLeases
from vixio.cluster.nats.link import Link, NobodyThere
from vixio.cluster.nats.names import node_subject
from vixio.core.cluster import (
    COMMAND_S,
    NOT_CONNECTED,
    RELEASE_S,
    CommandHandler,
    Commands,
    carry_out,
)
from vixio.core.commands import Command, CommandResult, CommandStatus, decode, encode

MARGIN_S: Final = 1.0
"""The sender waits so much longer than the handler may take, for a busy machine."""

_VERB: Final = "command"
_MOVED: Final = {"moved": True}


class NatsCommands(Commands):
    """``gone``: called with a node that the bus knows no more."""

    def __init__(
        self,
        node: str,
        link: Link,
        leases: NatsLeases,
        claims: Claims,
        gone: Callable[[str], None],
    ) -> None:
        self._node = node
        self._link = link
        self._leases = leases
        self._claims = claims
        self._gone = gone
        self._handler: CommandHandler | None = None
        link.answer(node_subject(node, _VERB), self._answer)

    def serve(self, handler: CommandHandler) -> None:
        """Set what carries out commands to the devices of this node."""
        self._handler = handler

    async def send(
        self, device_id: str, command: Command, *, timeout: float = COMMAND_S
    ) -> CommandResult:
        """Have a command carried out, here or by another node."""
        body = encode(command)
        if self._leases.current(device_id) is not None:
            return await carry_out(self._handler, device_id, command, timeout)
        try:
            return await self._send(device_id, command, body, timeout)
        except BrokerError as error:
            return CommandResult(
                CommandStatus.FAILED, message=f"the other nodes cannot be reached: {error}"
            )

    async def _send(
        self, device_id: str, command: Command, body: dict[str, Any], timeout: float
    ) -> CommandResult:
        token = 0
        while True:
            claim = await self._claims.last(device_id)
            if claim is None or claim.token == token:
                return NOT_CONNECTED
            token = claim.token
            if claim.node == self._node:
                if (result := await self._here(device_id, token, command, timeout)) is not None:
                    return result
                continue
            request = {"device": device_id, "token": token, "command": body, "timeout": timeout}
            wait = timeout + RELEASE_S + 2 * MARGIN_S
            try:
                answer = await self._link.request(node_subject(claim.node, _VERB), request, wait)
            except NobodyThere:
                self._gone(claim.node)
                return NOT_CONNECTED
            except TimeoutError:
                # It may have been carried out, so no other node gets it.
                return CommandResult(CommandStatus.TIMED_OUT)
            if answer != _MOVED:
                return CommandResult.from_json(answer)
            # The device has just gone, or has another holder: the next one, if any.

    async def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        device_id, token = str(body["device"]), int(body["token"])
        timeout = float(body["timeout"])
        try:
            command = decode(dict(body["command"]))
        except ValueError as error:
            return CommandResult(CommandStatus.FAILED, message=str(error)).to_json()
        result = await self._here(device_id, token, command, timeout)
        return _MOVED if result is None else result.to_json()

    async def _here(
        self, device_id: str, token: int, command: Command, timeout: float
    ) -> CommandResult | None:
        """Carry out a command under a claim of this node; None: it is over."""
        lease = self._leases.of_claim(device_id, token)
        if lease is None:
            return None
        try:
            async with asyncio.timeout(RELEASE_S + MARGIN_S):
                await lease.settled()  # the device moves, and is not here yet
                if not await lease.confirmed():
                    return None
        except TimeoutError:
            return CommandResult(CommandStatus.TIMED_OUT)
        return await carry_out(self._handler, device_id, command, timeout)
