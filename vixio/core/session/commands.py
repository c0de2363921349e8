"""Carries commands from anywhere in the cluster out on the sessions of this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from vixio.core.cluster import NOT_CONNECTED, CommandHandler
from vixio.core.commands import (
    Ask,
    Close,
    Command,
    CommandResult,
    CommandStatus,
    Custom,
    Interrupt,
    Reconfigure,
    Say,
)
from vixio.core.device import Device, DeviceProfile
from vixio.core.session.session import Session
from vixio.core.session.speech import SpeechHandle
from vixio.core.tools.types import JsonObject

CustomHandler = Callable[[Session, JsonObject], Awaitable[Any]]
"""Carries a custom command out; returns JSON values. Raises VixioError or ValueError."""

FindSession = Callable[[str], Awaitable[Session | None]]
"""Returns the session of a device for which this process holds the lease."""

DONE = CommandResult(CommandStatus.DONE)


class SessionCommands:
    """The command handler of a process (:class:`~vixio.core.cluster.CommandHandler`)."""

    def __init__(self, find: FindSession, profile_of: Callable[[Device], DeviceProfile]) -> None:
        self._find = find
        self._profile_of = profile_of
        self._custom: dict[str, CustomHandler] = {}
        self._keys: dict[str, CommandHandler] = {}

    def register(self, name: str, handler: CustomHandler) -> None:
        """Have ``handler`` carry out the custom commands of this name."""
        self._custom[name] = handler

    def serve_keys(self, prefix: str, handler: CommandHandler) -> None:
        """Have ``handler`` carry out the commands to leases that are no device's."""
        self._keys[prefix] = handler

    async def __call__(self, device_id: str, command: Command) -> CommandResult:
        """Carry a command out."""
        for prefix, of_key in self._keys.items():
            if device_id.startswith(prefix):
                return await of_key(device_id, command)
        session = await self._find(device_id)
        if session is None:
            return NOT_CONNECTED
        match command:
            case Say(text, priority, interruptible, wait):
                handle = session.say(text, priority=priority, interruptible=interruptible)
                return await _spoken(handle) if wait or handle.done else DONE
            case Ask(text, priority, interruptible, wait):
                handle = session.ask(text, priority=priority, interruptible=interruptible)
                return await _spoken(handle) if wait or handle.done else DONE
            case Interrupt(reason):
                session.interrupt(reason)
            case Reconfigure(changes):
                base = session.next_profile if changes else self._profile_of(session.device)
                session.reconfigure(replace(base, **changes))  # type: ignore[arg-type]
            case Close(reason):
                await session.close(reason)
            case Custom(name, arguments):
                handler = self._custom.get(name)
                if handler is None:
                    raise ValueError(f"no handler for the custom command {name!r}")
                return CommandResult(CommandStatus.DONE, await handler(session, arguments))
        return DONE


async def _spoken(handle: SpeechHandle) -> CommandResult:
    outcome = await handle.played()
    value = {"status": outcome.status.value, "heard": outcome.heard}
    if outcome.until:
        value["until"] = outcome.until
    return CommandResult(CommandStatus.DONE, value)
