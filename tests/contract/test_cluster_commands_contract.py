"""Every implementation of the cluster carries commands by this contract."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.cluster_members import DEVICE, SHORT_S, Members
from tests.support.clusters import BOUND, Holder
from vixio.core.cluster import LossReason
from vixio.core.commands import (
    MAX_BYTES,
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
from vixio.core.errors import ConnectionClosed
from vixio.core.session.speech import Priority

DONE = CommandResult(CommandStatus.DONE)


class Sessions:
    """A process's command handler: notes commands, and answers with ``result``."""

    def __init__(self, result: CommandResult = DONE) -> None:
        self.result = result
        self.received: list[tuple[str, Command]] = []
        self.hangs: asyncio.Event | None = None
        self.error: Exception | None = None

    async def __call__(self, device_id: str, command: Command) -> CommandResult:
        self.received.append((device_id, command))
        if self.hangs is not None:
            await self.hangs.wait()
        if self.error is not None:
            raise self.error
        return self.result


COMMANDS: list[Command] = [
    Say("Dinner is ready.", Priority.HIGH, interruptible=False, wait=True),
    Ask("Which day is it?"),
    Interrupt("because"),
    Reconfigure({"language": "de"}),
    Close("enough"),
    Custom("blink", {"times": 3, "colours": ["red", "蓝"]}),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
async def test_a_command_reaches_the_process_of_the_device(
    members: Members, command: Command
) -> None:
    one, two = members
    sessions = Sessions(CommandResult(CommandStatus.DONE, {"heard": "Dinner"}, "fine"))
    two.commands.serve(Sessions(CommandResult(CommandStatus.FAILED)))
    one.commands.serve(sessions)
    await one.leases.acquire(DEVICE, Holder().on_lost)
    for member in members:
        assert await member.commands.send(DEVICE, command) == sessions.result
    assert sessions.received == [(DEVICE, command)] * 2


async def test_a_device_that_is_not_connected_is_an_answer_at_once(members: Members) -> None:
    one, two = members
    sessions = Sessions()
    one.commands.serve(sessions)
    two.commands.serve(sessions)
    async with asyncio.timeout(BOUND):
        result = await two.commands.send(DEVICE, Say("hello"), timeout=10 * BOUND)
    assert result == CommandResult(CommandStatus.NOT_CONNECTED)
    lease = await one.leases.acquire(DEVICE, Holder().on_lost)
    await lease.release()
    async with asyncio.timeout(BOUND):
        assert (await one.commands.send(DEVICE, Say("hello"), timeout=10 * BOUND)) == result
    assert not sessions.received


async def test_a_process_without_a_handler_serves_no_commands(members: Members) -> None:
    one, two = members
    await one.leases.acquire(DEVICE, Holder().on_lost)
    result = await two.commands.send(DEVICE, Say("hello"))
    assert result.status is CommandStatus.NOT_CONNECTED


async def test_a_command_without_an_answer_is_a_bounded_wait(members: Members) -> None:
    one, two = members
    sessions = Sessions()
    sessions.hangs = asyncio.Event()
    one.commands.serve(sessions)
    await one.leases.acquire(DEVICE, Holder().on_lost)
    async with asyncio.timeout(BOUND):
        result = await two.commands.send(DEVICE, Say("hello"), timeout=SHORT_S)
    assert result.status is CommandStatus.TIMED_OUT
    sessions.hangs.set()
    assert (await two.commands.send(DEVICE, Say("hello"))).ok


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no such lamp"), "no such lamp"),
        (ConnectionClosed("the device is gone"), "the device is gone"),
        (RuntimeError("a secret"), "internal error"),
    ],
)
async def test_a_command_that_fails_says_why(
    members: Members, error: Exception, message: str
) -> None:
    one, two = members
    sessions = Sessions()
    sessions.error = error
    one.commands.serve(sessions)
    await one.leases.acquire(DEVICE, Holder().on_lost)
    result = await two.commands.send(DEVICE, Custom("blink"))
    assert result == CommandResult(CommandStatus.FAILED, message=message)


@pytest.mark.parametrize("value", [object(), "x" * (MAX_BYTES + 1)], ids=["no JSON", "too large"])
async def test_a_result_that_cannot_travel_is_a_failure(members: Members, value: object) -> None:
    one, two = members
    one.commands.serve(Sessions(CommandResult(CommandStatus.DONE, value)))
    await one.leases.acquire(DEVICE, Holder().on_lost)
    result = await two.commands.send(DEVICE, Custom("blink"))
    assert result.status is CommandStatus.FAILED
    assert "the result" in result.message


async def test_a_command_that_cannot_travel_is_refused(members: Members) -> None:
    one, two = members
    one.commands.serve(Sessions())
    await one.leases.acquire(DEVICE, Holder().on_lost)
    with pytest.raises(ValueError, match="262144 at most"):
        await two.commands.send(DEVICE, Custom("blink", {"colour": "x" * MAX_BYTES}))


async def test_commands_go_to_the_newer_holder(members: Members) -> None:
    one, two = members
    handlers = {one: Sessions(), two: Sessions()}
    for member, sessions in handlers.items():
        member.commands.serve(sessions)
    await one.leases.acquire(DEVICE, Holder().on_lost)
    await two.leases.acquire(DEVICE, Holder().on_lost)
    for member in members:
        assert (await member.commands.send(DEVICE, Interrupt())).ok
    assert len(handlers[two].received) == 2
    assert one is two or not handlers[one].received


async def test_a_command_to_a_device_that_moves_waits_for_its_new_holder(
    members: Members,
) -> None:
    one, two = members
    handlers = {one: Sessions(), two: Sessions()}
    for member, sessions in handlers.items():
        member.commands.serve(sessions)
    ends = asyncio.Event()
    sent: list[asyncio.Task[CommandResult]] = []

    async def on_lost(reason: LossReason) -> None:
        sent.extend(
            asyncio.create_task(member.commands.send(DEVICE, Interrupt())) for member in members
        )
        ends.set()
        await asyncio.sleep(0)

    await one.leases.acquire(DEVICE, on_lost)
    await two.leases.acquire(DEVICE, Holder().on_lost)
    await ends.wait()
    assert all(result.ok for result in await asyncio.gather(*sent))
    assert len(handlers[two].received) == 2
