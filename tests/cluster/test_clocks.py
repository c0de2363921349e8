"""Nodes whose wall clocks are hours apart, and jump: one is right, one ahead, one behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest
import pytest_asyncio

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.cluster.clocks import Clocks
from tests.cluster.fleet import Fleet, Node, fleet
from tests.cluster.talkers import Crowd, crowd
from tests.support.a2a_client import TOKENS, Rpc, answer_of, state_of
from tests.support.nats_nodes import jetstream
from tests.support.registry_databases import new_postgres, postgres_url
from vixio.core.wall_clock import now_ms
from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.data.devices.repository import DeviceRepository
from vixio.data.reminders.records import Delivery, Kind, Order, State
from vixio.data.reminders.repository import ReminderRepository

__all__ = ["postgres_url"]

T = TypeVar("T")

DEVICES = 9
SOON = 40.0
HOUR_MS = 3_600_000
AHEAD = timedelta(hours=5)
BEHIND = timedelta(hours=-3)

SECTIONS: dict[str, dict[str, Any]] = {
    "server": {
        "access": "allow_list",
        # Tokens that the others would take for expired, or for not yet issued.
        "auth": {"enabled": True, "token_lifetime_days": 1 / 24},
    },
    "a2a": {"tokens": TOKENS},
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def kept_clocks(tmp_path_factory: pytest.TempPathFactory) -> Clocks:
    return Clocks(tmp_path_factory.mktemp("clocks"))


@pytest.fixture
def clocks(kept_clocks: Clocks) -> Clocks:
    """Return the clocks of the nodes, as they are when a test begins."""
    for number, ahead in enumerate((timedelta(0), AHEAD, BEHIND), 1):
        kept_clocks.set(number, ahead)
    return kept_clocks


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet_of_all(
    tmp_path_factory: pytest.TempPathFactory, kept_clocks: Clocks, request: pytest.FixtureRequest
) -> AsyncIterator[Fleet]:
    """Run the nodes for all tests, each of which has devices of its own and harms no node."""
    with jetstream() as bus:
        database = new_postgres(request.getfixturevalue("postgres_url"))
        folder = tmp_path_factory.mktemp("fleet")
        async with fleet(folder, bus, database, kept_clocks.environment, SECTIONS) as made:
            yield made


@pytest.fixture
def three(fleet_of_all: Fleet, clocks: Clocks) -> Fleet:
    return fleet_of_all


async def at_database(url: str, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do something as a command does, on a machine whose clock is right."""
    database = make_database(Path(), url)
    await database.open()
    try:
        return await work(database)
    finally:
        await database.close()


async def admit(three: Fleet, *device_ids: str) -> None:
    """Add devices to the registry."""

    async def add(database: Database) -> None:
        for each in device_ids:
            await DeviceRepository(database).add(each, "test")

    await at_database(three.url, add)


async def revoke(three: Fleet, device_id: str) -> None:
    """Revoke all tokens of a device."""

    async def work(database: Database) -> None:
        await DeviceRepository(database).revoke_tokens(device_id, "test")

    await at_database(three.url, work)


def ota(node: Node) -> str:
    """Return the OTA address of a node itself, past the balancer."""
    return f"http://127.0.0.1:{node.http_port}/xiaozhi/ota/"


def websocket(node: Node) -> str:
    """Return where devices reach a node itself."""
    return f"ws://127.0.0.1:{node.port}/xiaozhi/v1/"


async def move_all(talking: Crowd) -> None:
    """Have all devices connect anew: each gets a token from one node and shows it to another."""
    for each in talking.talkers:
        each.leave()
    await talking.all_say(2, seconds=SOON)


async def test_conversations_under_clocks_that_differ_and_jump(
    three: Fleet, clocks: Clocks
) -> None:
    names = [f"02:00:00:00:00:{number:02x}" for number in range(1, DEVICES + 1)]
    await admit(three, *names)
    before = await refused_tokens(three)
    async with crowd(DEVICES, three.ota_url) as talking:
        await talking.all_say(2, seconds=SOON)
        await move_all(talking)
        for jumps in (
            {1: timedelta(hours=2), 2: BEHIND, 3: AHEAD},
            {1: timedelta(days=-400), 2: timedelta(days=400)},
            dict.fromkeys((1, 2, 3), timedelta(0)),
        ):
            for number, ahead in jumps.items():
                clocks.set(number, ahead)
            await talking.all_say(1, seconds=SOON)
            await move_all(talking)
        await three.until_known(3)
        talking.check()
        assert sum(each.cut for each in talking.talkers) == 0
        assert await refused_tokens(three) == before


async def test_tokens_of_every_node_are_good_at_every_node_until_they_are_revoked(
    three: Fleet,
) -> None:
    """Also those that a node issued whose clock is ahead."""
    device_id = "02:00:00:00:00:a1"
    await admit(three, device_id)
    own = DeviceConfig(ota_url=ota(three.nodes[0]), device_id=device_id)
    tokens: list[str] = []
    for each in three.nodes:
        config = DeviceConfig(
            ota_url=ota(each), device_id=device_id, client_id=own.client_id, mode="manual"
        )
        async with SimulatedDevice(config) as device:
            assert device.ota is not None
            tokens.append(device.ota.token)
    for token in tokens[-1:]:  # each replaces the one before at its first use
        for each in three.nodes:
            assert await status(each, own, token) is HTTPStatus.SWITCHING_PROTOCOLS
    await revoke(three, device_id)
    for each in three.nodes:
        for token in tokens:
            async with asyncio.timeout(SOON):
                answer = HTTPStatus.SWITCHING_PROTOCOLS
                while answer is not HTTPStatus.UNAUTHORIZED:
                    answer = await status(each, own, token)
    async with SimulatedDevice(own) as device:  # a new one is good
        assert (await device.type_text("turn 1 of d1")).text


async def test_a_device_that_is_revoked_leaves(three: Fleet) -> None:
    """Whichever node gave it the token, and whichever it is connected to."""
    for issuer in three.nodes:
        for holder in three.nodes:
            device_id = f"02:00:00:00:0{issuer.number}:0{holder.number}"
            await admit(three, device_id)
            config = DeviceConfig(ota_url=ota(issuer), device_id=device_id, mode="manual")
            async with SimulatedDevice(config) as device:
                assert device.ota is not None
                token = device.ota.token
            await until_gone(three)  # or else it may be too early to say which connection is newer
            at = DeviceConfig(
                ws_url=websocket(holder),
                token=token,
                device_id=device_id,
                client_id=config.client_id,
                mode="manual",
            )
            async with SimulatedDevice(at) as device:
                assert (await device.type_text("turn 1 of d1")).text
                assert await connected(three)
                await revoke(three, device_id)
                await until_gone(three)


async def test_reminders_are_said_in_time_and_once(three: Fleet, clocks: Clocks) -> None:
    """Neither early nor late, and none is given up by a node that thinks that it is too late."""
    names = [f"02:00:00:00:00:b{each.number}" for each in three.nodes]
    await admit(three, *names)

    async def order(database: Database) -> list[Delivery]:
        repository = ReminderRepository(database)
        later = [
            Order(
                kind=Kind.REMINDER,
                device_id=name,
                due_at=now_ms() + HOUR_MS,
                expires_ms=HOUR_MS,
                text="later",
            )
            for name in names
        ]
        soon = [
            Order(kind=Kind.REMINDER, device_id=name, due_at=now_ms() + 4_000, text="tea")
            for name in names
        ]
        return [await repository.add(each) for each in (*later, *soon)]

    async with AsyncExitStack() as stack:
        for node, name in zip(three.nodes, names, strict=True):
            config = DeviceConfig(ota_url=ota(node), device_id=name, mode="manual")
            await stack.enter_async_context(SimulatedDevice(config))
        ordered = await at_database(three.url, order)
        later, soon = ordered[: len(names)], ordered[len(names) :]
        clocks.set(1, AHEAD)

        async def ended(database: Database) -> list[Delivery]:
            return [await ReminderRepository(database).delivery(each.id) for each in soon]

        found: list[Delivery] = []
        async with asyncio.timeout(SOON):
            while not found or any(each.ended_at is None for each in found):
                found = await at_database(three.url, ended)
    assert [each.state for each in found] == [State.DELIVERED] * len(names)
    for each in found:
        assert each.ended_at is not None
        assert 0 <= each.ended_at - each.due_at < SOON * 1000
        assert each.heard
        assert each.attempts == 0

    async def waiting(database: Database) -> list[Delivery]:
        return [await ReminderRepository(database).delivery(each.id) for each in later]

    assert {each.state for each in await at_database(three.url, waiting)} == {State.PENDING}


async def test_a2a_tasks_are_reached_by_every_node(three: Fleet) -> None:
    """Their times are those of one clock, too."""
    async with aiohttp.ClientSession() as http:
        clients = [Rpc(http, f"http://127.0.0.1:{each.http_port}/a2a") for each in three.nodes]
        for number, client in enumerate(clients, 1):
            task = await client.send(f"turn {number} of a", contextId="one")
            assert state_of(task) == "COMPLETED"
            known = f"ax1x1-{number - 1}" if number > 1 else "none"
            assert answer_of(task) == f"turn {number} of a after {known} for 240 ms."
            # The node that has a context carries out all its tasks: this one has another.
            own = await client.send("turn 1 of b", contextId=f"own {number}")
            for each in (task, own):
                for other in clients:
                    assert await other.get(each["id"]) == each
                at = datetime.fromisoformat(each["status"]["timestamp"])
                assert abs(at.timestamp() - now_ms() / 1000) < SOON


async def status(node: Node, config: DeviceConfig, token: str) -> HTTPStatus:
    """Return what a node answers to a device with a token."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Device-Id": config.device_id,
        "Client-Id": config.client_id,
        "Protocol-Version": "1",
    }
    async with aiohttp.ClientSession() as http:
        try:
            async with http.ws_connect(websocket(node), headers=headers):
                return HTTPStatus.SWITCHING_PROTOCOLS
        except aiohttp.WSServerHandshakeError as error:
            return HTTPStatus(error.status)


async def connected(three: Fleet) -> int:
    """Return how many devices have a session, at any node."""
    _, page = await three.nodes[0].page("/healthz")
    return int(page["connected"])


async def until_gone(three: Fleet) -> None:
    """Wait until no device has a session."""
    async with asyncio.timeout(SOON):
        while await connected(three):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.05)


async def refused_tokens(three: Fleet) -> dict[str, int]:
    """Return what all nodes together have counted of tokens that were refused."""
    _, page = await three.nodes[0].page("/healthz")
    return {name: count for name, count in page["counters"].items() if "token" in name}
