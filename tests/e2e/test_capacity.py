"""A server that is full of conversations: further devices are refused, and it says so."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from firmware_test_client.errors import ConnectError
from tests.support.waiting import until
from vixio import Server, Settings
from vixio.composition import capacity as module
from vixio.composition.core_speed import CoreSpeed
from vixio.core.capacity import LEAST
from vixio.core.errors import ConfigError

SLOW = 1_000.0
"""Times the reference's: a machine that bears no more than those that are always admitted."""

OFFLINE = {
    "memory": {"store": "none"},
    "data": {"database": "none"},
    "api": {"enabled": False},
}


def settings(**limits: float) -> Settings:
    server = {"host": "127.0.0.1", "port": 0, "http_port": 0, "limits": limits}
    return Settings.model_validate({**OFFLINE, "server": server})


def device(server: Server, number: int) -> SimulatedDevice:
    url = f"ws://127.0.0.1:{server.transport.port}/xiaozhi/v1/"
    return SimulatedDevice(DeviceConfig(ws_url=url, device_id=f"02:00:00:00:00:{number:02x}"))


async def test_beyond_what_the_machine_bears_devices_are_refused_until_one_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "core_speed", lambda: CoreSpeed(SLOW, 1.0))
    monkeypatch.setattr(module, "INTERVAL_S", 3_600.0)  # what these devices cost teaches nothing
    async with Server(settings()) as server, AsyncExitStack() as there:
        await server.start()
        await server.loaded()
        capacity = server.admission.capacity
        await until(lambda: capacity.measured)
        assert server.health()["capacity"] == capacity.devices == LEAST
        devices = [device(server, number) for number in range(LEAST)]
        for each in devices:
            await there.enter_async_context(each)
        newcomer = device(server, 200)
        with pytest.raises(ConnectError) as refused:
            await newcomer.start()
        assert refused.value.status == 503
        assert server.counters.get("admission.limited.capacity") == 1
        # One that is connected may come back: it takes its own place.
        again = device(server, 0)
        await there.enter_async_context(again)
        await devices[1].close()
        await until(lambda: server.admission.devices < LEAST)
        await there.enter_async_context(device(server, 200))


async def test_a_maker_can_say_that_few_converse_or_lift_the_limit() -> None:
    for share, allowed in ((0.5, 2 * LEAST), (0.0, None)):
        async with Server(settings(conversing=share)) as server:
            capacity = server.admission.capacity
            capacity.measured = True
            capacity.model.calibrate(8.0, 1.0)
            full = server.admission.capacity.devices
            assert full is None if allowed is None else full is not None and full >= allowed


async def test_a_machine_whose_speed_cannot_be_measured_refuses_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_codec() -> None:
        raise ConfigError("libopus is missing")

    monkeypatch.setattr(module, "core_speed", no_codec)
    async with Server(settings()) as server:
        await server.start()
        await server.loaded()
        await until(lambda: "capacity unknown" in caplog.messages)
        assert server.admission.capacity.devices is None
        assert "capacity" not in server.health()


async def test_the_meter_learns_from_devices_that_listen_and_talk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "INTERVAL_S", 0.05)
    seen: list[tuple[float, float, int, int, float]] = []
    async with Server(settings()) as server, AsyncExitStack() as there:
        capacity = server.admission.capacity
        monkeypatch.setattr(capacity.model, "learn", lambda *looked: seen.append(looked))
        await server.start()
        await server.loaded()
        talker = await there.enter_async_context(device(server, 1))
        await until(lambda: len(seen) > 3)
        async with asyncio.timeout(60):
            await talker.type_text("what time is it")
        await until(lambda: any(turns for _, _, turns, *_ in seen))
        assert sum(turns for _, _, turns, *_ in seen) == 1
        assert sum(connects for *_, connects, _ in seen) == 1
        assert all(seconds > 0 and used >= 0 for seconds, *_, used in seen)
