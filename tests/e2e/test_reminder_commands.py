"""`vixio reminders`, beside a server with two processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from firmware_test_client import SimulatedDevice
from tests.e2e.house import House, LightHouse


async def listed(house: House, *options: str) -> list[dict[str, Any]]:
    """Return what the command lists."""
    found: list[dict[str, Any]] = json.loads(
        await house.command("reminders", "list", "--json", *options)
    )
    return found


async def test_added_by_a_command_and_heard_once_wherever_the_device_is(tmp_path: Path) -> None:
    house = LightHouse(tmp_path, "", access="open").without_api()
    house.write("open", workers=2)
    devices = [
        SimulatedDevice(house.device(mode="auto", device_id=f"02:00:00:00:00:1{number}"))
        for number in range(3)
    ]
    ids = [device.config.device_id for device in devices]
    async with house.serving():
        for device in devices:
            await device.start()
        for device_id in ids:
            said = await house.command("reminders", "add", device_id, f"call {device_id[-2:]}")
            assert "added" in said
        for device, device_id in zip(devices, ids, strict=True):
            words = f"Reminder: call {device_id[-2:]}."

            def heard(device: SimulatedDevice = device, words: str = words) -> bool:
                return any(reply.ended and words in reply.text for reply in device.replies)

            await device.wait_for(heard, what=words, timeout=60)
        await until_over(house, 3)
        for device in devices:
            assert sum("call" in reply.text for reply in device.replies) == 1
            await device.close()
    # Without a server too; it waits for the device.
    said = await house.command(
        "reminders", "add", ids[0], "--kind", "alarm", "--at", "06:30", "--days", "weekdays"
    )
    (alarm,) = await listed(house)
    assert (alarm["rule"], alarm["state"]) == ("06:30 mon,tue,wed,thu,fri", "pending")
    assert alarm["id"] in await house.command("reminders")
    assert alarm["id"] in await house.command("reminders", "cancel", alarm["id"])
    assert "cannot be cancelled" in await house.command(
        "reminders", "cancel", alarm["id"], status=2
    )
    assert await house.command("reminders") == "nothing is to be said\n"
    for wrong in (("--in", "soon"), ("--at", "25:00"), ("--at", "07:00", "--days", "someday")):
        said = await house.command("reminders", "add", ids[0], "x", *wrong, status=2)
        assert "Traceback" not in said
        assert len(said.strip().splitlines()) == 1, said


async def until_over(house: House, number: int) -> None:
    """Wait until so many are on record as delivered."""
    states: list[str] = []
    for _ in range(60):
        states = [each["state"] for each in await listed(house, "--all")]
        if states.count("delivered") == number:
            return
    raise AssertionError(states)
