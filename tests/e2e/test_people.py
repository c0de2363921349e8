"""People: their devices share what is remembered, and messages reach them by name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import Answer, Client, api_server
from vixio.web.api.scopes import Scope

RECALL = "what do you remember about me"


async def asked_until(device: SimulatedDevice, words: str, right: Callable[[str], bool]) -> str:
    """Type ``words`` until the answer is right: a change takes effect at one of the next turns."""
    async with asyncio.timeout(60):
        while True:
            answer = (await device.type_text(words)).text
            if right(answer):
                return answer


async def give(call: Client, device: SimulatedDevice, person: str) -> Answer:
    return await call("PUT", f"/devices/{device.config.device_id}/person", {"person": person})


async def test_the_devices_of_a_person(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        memory = {"store": "database"}
        agent = {"name": "phrasebook"}
        api = await stack.enter_async_context(api_server(tmp_path, memory=memory, agent=agent))
        kitchen, bedroom, hall = [
            await stack.enter_async_context(SimulatedDevice(api.server.device(mode="manual")))
            for _ in range(3)
        ]
        call = await api.client(Scope.DEVICES_READ, Scope.DEVICES_WRITE)
        words = await api.client(Scope.CONVERSATIONS_READ, Scope.CONVERSATIONS_WRITE)
        anna = (await call("POST", "/people", {"name": "Anna"})).body
        assert (await call("POST", "/people", {"name": "ANNA"})).status == 409
        assert (await call("POST", "/people", {"name": "Ben"})).status == 201

        # What the kitchen was told before it was Anna's is hers from then on, on all her devices.
        await kitchen.type_text("remember that I like green tea")
        for device in (kitchen, bedroom):
            assert (await give(call, device, "anna")).body["person"] == "Anna"
        await asked_until(kitchen, RECALL, lambda answer: "green tea" in answer)
        await asked_until(bedroom, RECALL, lambda answer: "green tea" in answer)
        await bedroom.type_text("remember that I have two cats")
        facts = ["I like green tea", "I have two cats"]
        told = (await words("GET", "/people/Anna/facts")).body
        assert (told["person"], told["facts"]) == ("Anna", facts)
        assert "green tea" not in (await hall.type_text(RECALL)).text

        # She is told a message by her name, on any device of hers but the one that it comes from.
        await hall.type_text("let Anna know that the train is late")
        for device in (kitchen, bedroom):
            await until_heard(device, "the train is late")

        # The bedroom changes hands: Ben learns nothing of her.
        assert (await give(call, bedroom, "Ben")).status == 200
        await asked_until(bedroom, RECALL, lambda answer: "green tea" not in answer)
        assert (await call("GET", "/people/anna")).body == {
            **anna,
            "devices": [kitchen.config.device_id],
        }
        one = await call("GET", f"/devices/{kitchen.config.device_id}")
        assert one.body["person"] == "Anna"

        # Her name may change, and she may go; what was remembered goes with her.
        assert (await call("PATCH", "/people/Anna", {"name": "Ann"})).body["id"] == anna["id"]
        assert (await words("GET", "/people/Ann/facts")).body["facts"] == facts
        assert (await call("DELETE", "/people/Ann")).status == 204
        assert (await words("GET", "/people/Ann/facts")).status == 404
        await asked_until(kitchen, RECALL, lambda answer: "green tea" not in answer)
        await of_a_device(words, kitchen)


async def of_a_device(words: Client, device: SimulatedDevice) -> None:
    """Read and erase what is remembered of a device."""
    path = f"/devices/{device.config.device_id}/memory"
    await device.type_text("remember that I like milk")
    await saved(lambda: words("GET", path), "I like milk")
    remembered = (await words("GET", path)).body
    assert remembered["facts"] == ["I like milk"]
    assert (await words("DELETE", path)).body == {"erased": True}
    assert (await words("GET", path)).body == {
        **remembered,
        "facts": [],
        "fact_ids": [],
        "turns": [],
    }
    assert (await words("DELETE", path)).body == {"erased": False}


async def saved(read: Callable[[], Awaitable[Answer]], said: str) -> None:
    """Wait until the memory holds the turn in which something was said."""
    async with asyncio.timeout(60):
        while True:
            if said in str((await read()).body["turns"]):
                return
            await asyncio.sleep(0.02)


async def until_heard(device: SimulatedDevice, words: str) -> None:
    """Wait until a device says these words."""
    await device.wait_for(
        lambda: any(reply.ended and words in reply.text for reply in device.replies),
        what=f"a reply with {words!r}",
        timeout=60,
    )


async def test_without_a_memory(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.ADMIN)
        await call("POST", "/people", {"name": "Anna"})
        refused = await call("GET", "/people/Anna/facts")
        assert (refused.status, "memory.store is none" in refused.body["detail"]) == (409, True)
        assert (await call("DELETE", "/people/Anna")).status == 204
        narrow = await api.client(Scope.PROFILES)
        for method, path in (("GET", "/people"), ("GET", "/people/Anna/facts")):
            assert (await narrow(method, path)).status == 403
