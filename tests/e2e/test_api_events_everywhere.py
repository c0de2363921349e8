"""The stream of events of a server with two processes, changed by commands beside it."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import aiohttp

from firmware_test_client import SimulatedDevice
from firmware_test_client.image import firmware_image
from tests.e2e.api_client import Client
from tests.e2e.event_stream import Event, streaming
from tests.e2e.house import House
from tests.support.registry_databases import postgres_url
from vixio.core.tasks import cancel_and_wait

__all__ = ["postgres_url"]

SCOPES = ("devices:read", "conversations:read", "reminders", "firmware")
CONNECTIONS = 6
"""The kernel gives each to one of the two processes: hardly all to the same one."""

ASKED = 16
"""At once, so that each of two processes answers some: the kernel chooses which."""


async def token_of(house: House) -> str:
    """Make a token for the stream."""
    options = [option for scope in SCOPES for option in ("--scope", scope)]
    said = await house.command("api-tokens", "create", "--name", "wall", *options)
    return next(line for line in said.splitlines() if line.startswith("vixio_"))


def own(device: SimulatedDevice, event: Event) -> bool:
    """Whether an event is one of a device."""
    return bool(event.get("device_id") == device.config.device_id)


async def test_a_life_is_followed_whichever_process_it_is_led_in(house: House) -> None:
    house.write("activation", workers=2)
    image = house.folder / "xiaozhi.bin"
    image.write_bytes(firmware_image("2.1.0", size=700_000))
    url = f"http://127.0.0.1:{house.http_port}"
    connector = aiohttp.TCPConnector(force_close=True)
    async with house.serving(), aiohttp.ClientSession(connector=connector) as http:
        token = await token_of(house)
        async with streaming(http, url, token) as stream:
            device = SimulatedDevice(house.device(board="simulated-board"))
            starting = asyncio.create_task(device.start())
            *_, waiting = await stream.until_type("device.waiting")
            shown = await device.wait_for_activation()
            assert own(device, waiting)
            assert (waiting["board"], waiting["code"]) == ("simulated-board", shown.code)
            await house.command("firmware", "add", str(image))
            await house.command("firmware", "release", "2.1.0", "--percent", "100")
            await house.command("devices", "claim", str(shown.code), "--name", "Kitchen")
            async with asyncio.timeout(60):
                await starting
            led = await stream.until_type("session.opened")
            # What another process tells may come a moment later.
            while not any(event["type"] == "firmware.offered" for event in led):
                led += await stream.until_type("firmware.offered")
            led.sort(key=lambda event: event["at"])
            firmware = [event for event in led if event["type"].startswith("firmware.")]
            assert firmware[0]["type"] == "firmware.offered"
            assert firmware[-1]["type"] == "firmware.ended"
            assert firmware[-1]["state"] == "installed"
            assert {event["attempt"] for event in firmware} == {firmware[0]["attempt"]}
            states = [event["state"] for event in firmware if event["type"] == "firmware.download"]
            assert (states[0], states[-1]) == ("downloading", "downloaded")
            claimed = [event for event in led if event.get("action") == "claimed"]
            if not claimed:  # changes are read once a second
                claimed = await stream.until(lambda event: event.get("action") == "claimed")
            assert own(device, claimed[-1])
            await device.type_text("set a timer for ten minutes")
            *_, told = await stream.until(lambda event: event.get("about") == "reminder")
            assert own(device, told)
            assert told["action"] == "set"
            await stream.until_type("turn.ended")
            known = stream.id
            await house.command("reminders", "add", device.config.device_id, "feed the cat")
            rest = await stream.until_type("reminder.ended")
            assert (rest[-1]["state"], rest[-1]["text"]) == ("delivered", "feed the cat")
            assert "Reminder: feed the cat." in [event.get("text") for event in rest]
        await same_everywhere(http, url, token, known, rest)
        await device.close()


async def test_every_process_lists_the_devices_of_all_as_they_are(house: House) -> None:
    """Also while one hangs, whose devices are said to be online, and no more."""
    house.write("open", workers=2)
    url = f"http://127.0.0.1:{house.http_port}"
    connector = aiohttp.TCPConnector(force_close=True)
    async with house.serving(), aiohttp.ClientSession(connector=connector) as http:
        call = Client(http, url, await token_of(house))
        devices = [SimulatedDevice(house.device()) for _ in range(CONNECTIONS)]
        for device in devices:
            await device.start()
        replies = await asyncio.gather(*(device.type_text("hello") for device in devices))
        said = {
            device.config.device_id: reply.text
            for device, reply in zip(devices, replies, strict=True)
        }
        await seen_everywhere(call)
        await without_one_that_hangs(call, http, url)
        for _ in range(CONNECTIONS):
            listed = (await call("GET", "/devices", params={"online": "true"})).body["devices"]
            assert {each["id"]: each["live"]["said"] for each in listed} == said
            assert {each["live"]["heard"] for each in listed} == {"hello"}
            for each in listed:
                assert (await call("GET", f"/devices/{each['id']}")).body["live"] == each["live"]
        for device in devices:
            await device.close()
        async with asyncio.timeout(60):
            while True:
                if not (await call("GET", "/devices", params={"online": "true"})).body["total"]:
                    break
                await asyncio.sleep(0.02)
        listed = (await call("GET", "/devices")).body["devices"]
        assert [each["live"] for each in listed] == [None] * len(devices)


async def without_one_that_hangs(call: Client, http: aiohttp.ClientSession, url: str) -> None:
    """Have a process hang: what the others have is listed as it is."""
    async with http.get(f"{url}/healthz") as answer:
        workers = (await answer.json())["workers"]
    hung = max(workers, key=lambda worker: worker["sessions"])
    os.kill(hung["pid"], signal.SIGSTOP)
    try:
        listed = await answered(call)
    finally:
        os.kill(hung["pid"], signal.SIGCONT)
    assert [each["online"] for each in listed] == [True] * CONNECTIONS
    assert [each["live"] for each in listed].count(None) == hung["sessions"] > 0
    await seen_everywhere(call)  # it has gone on


async def seen_everywhere(call: Client) -> None:
    """Wait until every process lists every device as it is, connected: that lags a little."""
    async with asyncio.timeout(60):
        while True:
            answers = await asyncio.gather(*(call("GET", "/devices") for _ in range(ASKED)))
            devices = [each for answer in answers for each in answer.body["devices"]]
            live = [each for each in devices if each["online"] and each["live"]]
            if len(live) == ASKED * CONNECTIONS:
                return
            await asyncio.sleep(0.05)


async def answered(call: Client) -> list[dict[str, Any]]:
    """Return the devices as a process lists them that answers.

    Several are asked at once, since the kernel chooses which.
    """
    asking = {asyncio.create_task(call("GET", "/devices")) for _ in range(2 * CONNECTIONS)}
    try:
        done, _ = await asyncio.wait(asking, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        listed: list[dict[str, Any]] = done.pop().result().body["devices"]
        return listed
    finally:
        await cancel_and_wait(*asking)


def happened(events: list[Event]) -> list[str]:
    """Return events to compare: in no order between processes, and changes may come later."""
    return sorted(str(event) for event in events if event["type"] != "changed")


async def same_everywhere(
    http: aiohttp.ClientSession, url: str, token: str, known: str, rest: list[Event]
) -> None:
    """Go on after an id at each of the processes."""
    wanted = happened(rest)
    for _ in range(CONNECTIONS):
        async with streaming(http, url, token, after=known) as again:
            found = await again.until_type("reminder.ended")
            assert happened(found) == wanted
