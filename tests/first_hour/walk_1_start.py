"""The first minutes: one command, a page, a device, a log, and what is remembered."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx2

from tests.e2e.person import Person
from tests.first_hour.house import READY, Address, House
from tests.support.waiting import until

BRIEF: dict[str, Any] = {"assistant": {"time_zone": "Asia/Shanghai"}}


async def get(url: str) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=60) as client:
        return await client.get(url)


async def health(address: Address) -> dict[str, Any]:
    page: dict[str, Any] = (await get(f"{address.http}/healthz")).json()
    return page


async def test_the_set_up_says_what_it_does(house: House) -> None:
    lines = house.setup.text.splitlines()
    steps = [next(i for i, line in enumerate(lines) if f"{n} of 4" in line) for n in range(1, 5)]
    assert steps == sorted(steps)
    assert lines[-1] == "setup: done"


async def test_one_command_serves_and_says_how_to_try_it(house: House) -> None:
    address = house.write("first.yaml", BRIEF)
    async with house.at_terminal("make run ARGS='--config first.yaml'") as person:
        await person.expect("listens for devices")
        # The ports are open, and it does not say that it is ready before it is.
        assert READY not in person.seen.partition("listens for devices")[0]
        assert address.ota in await person.line("OTA URL")
        command = await person.line("talk --ota")
        await person.expect(READY)
        assert (await health(address))["status"] == "ok"

        page = await get(f"{address.http}/")
        assert page.status_code == 200
        assert address.ota in page.text

        # The command works as it stands there, in another terminal.
        told = (await house.run(command)).text
        assert "heard   what time is it" in told
        assert "screen  you: what time is it" in told
        assert "reply   It is " in told

        check = (await house.run(".venv/bin/vixio check --config first.yaml")).text
        assert "FAILED" not in check
        second = await house.run(".venv/bin/vixio serve --config first.yaml", status=2)
        (line,) = [each for each in second.text.splitlines() if each.startswith("vixio: ")]
        assert str(address.port) in line
        assert "--port" in line
        await person.interrupt()
        # That of make, which is interrupted too; the server's own is asked for in house.py.
        assert await person.left() != 0
        assert "server stopped" in person.seen
    assert "Traceback" not in person.seen


async def test_the_devices_clock_follows_the_time_zone(house: House) -> None:
    async with house.serving("first.yaml", BRIEF) as (_, address):
        device = address.device()
        try:
            answer = await device.boot()
            assert answer is not None
            assert answer.body["server_time"]["timezone_offset"] == 8 * 60
        finally:
            await device.close()


async def test_what_is_said_is_remembered_and_never_taken_for_a_farewell(house: House) -> None:
    config = {"assistant": {"language": "en"}}
    async with house.serving("first.yaml", config) as (_, address), address.device() as device:
        reply = await device.ask("remember that I like tea")
        assert reply.stt == "remember that i like tea"
        assert "remember" in reply.text
        assert "oodbye" not in reply.text
        # A farewell ends the connection behind the reply: the next words need it.
        assert (await device.ask("what time is it")).text.startswith("It is ")
        assert not device.records.closes
        await device.type_text("remember that I like tea")
        assert "tea" in (await device.type_text("what do you know about me")).text
        name = device.config.device_id
    # It lives longer than the process, as docs/data.md says.
    kept = (await house.run(f".venv/bin/vixio memory --config first.yaml {name}")).text
    assert "tea" in kept
    async with (
        house.serving("first.yaml", config) as (_, address),
        address.device(device_id=name) as device,
    ):
        assert "tea" in (await device.type_text("what do you know about me")).text
        again = await device.type_text("forget everything about me")
        assert "say yes or no" in again.text  # what erases everything asks first
        assert "tea" in (await device.type_text("what do you know about me")).text


async def test_every_line_of_the_log_says_whose_it_is(house: House) -> None:
    config = {"logging": {"json": True}}
    async with house.serving("first.yaml", config) as (person, address):
        await person.expect('"message": "all providers are ready"')
        async with address.device() as device:
            await device.type_text("what do you know about me")
            await device.ask("set the volume to thirty percent")
            assert device.volume == 30
            await _refused(address)
        await until(lambda: "device disconnected" in person.seen, what="the line")
    lines = logged(person)
    # Behind the words for the person who has started it, there is no line but of the log.
    written = [line.removeprefix("^C") for line in person.seen.splitlines() if line.strip()]
    places = [number for number, line in enumerate(written) if line.startswith("{")]
    (greeted,) = [i for i, each in enumerate(written) if "Ctrl-C" in each and i not in places]
    others = [line for line in written[greeted + 1 : places[-1]] if not line.startswith("{")]
    assert places[-1] - greeted > len(lines) // 2
    others = [line for line in others if line.strip("^C ")]
    assert [line for line in others if not re.search("console, once|#/login", line)] == []
    of_a_turn = [line for line in lines if "session" in line or "turn" in line]
    assert len(of_a_turn) >= 4
    assert all(line.get("device") == device.config.device_id for line in of_a_turn), of_a_turn
    by_message = {line["message"]: line for line in lines}
    connected, ended = by_message["device connected"], by_message["turn ended"]
    assert connected["device"] == ended["device"] == device.config.device_id
    assert connected["session"] == ended["session"]
    assert isinstance(ended["turn"], int)
    assert any("set_volume" in str(line.get("tools")) for line in lines)
    assert by_message["device disconnected"]["reason"]
    assert by_message["connection refused"]["reason"]
    assert "server stopping" in by_message
    assert "thirty" not in json.dumps(lines)


async def _refused(address: Address) -> None:
    """Knock as a program that is no device."""
    async with httpx2.AsyncClient(timeout=60) as client:
        head = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": "http://evil.example"}
        answer = await client.get(
            f"http://127.0.0.1:{address.port}/xiaozhi/v1/", headers={**head, **key}
        )
        assert answer.status_code >= 400


def logged(person: Person) -> list[dict[str, Any]]:
    """Return what the log's lines say."""
    lines = [line.removeprefix("^C") for line in person.seen.splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


async def test_the_load_benchmark_ends_with_a_verdict(house: House) -> None:
    command = ".venv/bin/vixio bench load --mix talk --devices 2 --hold 3 --ramp 1 --turns 4"
    told = (await house.run(command)).text
    assert told.strip().splitlines()[-1] == "talk, 2 devices: all turns on time", told
