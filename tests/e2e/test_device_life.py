"""A device's whole life, with real processes: the server, the commands, and each database."""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from firmware_test_client import ConnectError, DeviceConfig, SimulatedDevice
from firmware_test_client.errors import OtaError
from firmware_test_client.image import firmware_image, merged_binary
from tests.e2e.checks import assert_played_well
from tests.e2e.house import House, LightHouse


@pytest.fixture
def house(house: LightHouse) -> LightHouse:
    """Return a server without its API, which no device needs."""
    return house.without_api()


async def claimed(house: House, config: DeviceConfig, *arguments: str) -> SimulatedDevice:
    """Start a device that has to be claimed, claim it, and return it connected."""
    device = SimulatedDevice(config)
    starting = asyncio.create_task(device.start())
    shown = await device.wait_for_activation()
    assert shown.code is not None
    assert shown.code in shown.message
    await house.command("devices", "claim", shown.code, *arguments)
    async with asyncio.timeout(60):
        await starting
    return device


async def test_a_device_lives_its_whole_life(house: House) -> None:
    config = house.device()
    async with house.serving() as server:
        await comes_and_is_claimed(house, config)
        await starts_again(house, config)
        await is_impersonated(house, config)
        await house.command("reminders", "add", "kitchen", "feed the cat")
        await server.stop(signal.SIGTERM)
    async with house.serving():  # what is claimed, and what is to be said, survives a restart
        await is_reminded(house, config)
        await gets_firmware(house, config)
        await gets_a_profile(house, config)
        await loses_its_token(house, config)
        await is_blocked(house, config)
        await is_forgotten(house, config)
        audit = await house.command("devices", "audit")
        for word in ("claimed", "revoked", "blocked", "unblocked", "forgotten"):
            assert word in audit


async def test_a_client_that_asks_once_talks_after_the_claim(house: House) -> None:
    config = house.device()
    async with house.serving():
        device = SimulatedDevice(config)
        starting = asyncio.create_task(device.start())
        shown = await device.wait_for_activation()
        assert shown.code is not None
        starting.cancel()  # it asks no more (py-xiaozhi)
        await asyncio.wait([starting])
        await device.close()
        url, token = config.flash.nvs.string("websocket", "url"), token_of(config)
        once = replace(config, ota_url=None, ws_url=url, token=token)
        await until_refused(house, config, token)
        await house.command("devices", "claim", shown.code)
        async with asyncio.timeout(60):
            talks = await connected(once)
        assert (await talks.type_text("hello")).text
        await talks.close()


async def connected(config: DeviceConfig) -> SimulatedDevice:
    """Return the device connected: the server learns of a claim within a second."""
    while True:
        device = SimulatedDevice(config)
        try:
            await device.start()
        except ConnectError:
            await device.close()
            await asyncio.sleep(0.2)
        else:
            return device


def token_of(config: DeviceConfig) -> str:
    """Return the token that the device has stored."""
    return config.flash.nvs.string("websocket", "token")


async def comes_and_is_claimed(house: House, config: DeviceConfig) -> None:
    device = SimulatedDevice(config)
    starting = asyncio.create_task(device.start())
    shown = await device.wait_for_activation()
    assert shown.code is not None
    (known,) = await house.devices()
    assert (known["id"], known["address"]) == (config.device_id, "127.0.0.1")
    assert (known["state"], known["code"]) == ("unclaimed", shown.code)
    assert (known["board"], known["firmware"], known["chip"]) == ("esp-box-3", "2.0.3", "esp32s3")
    await until_refused(house, config, token_of(config))  # void until the claim

    wrong = f"{(int(shown.code) + 1) % 1_000_000:06}"
    said = await house.command("devices", "claim", wrong, status=2)
    assert "xiaozhi.me" in said
    assert not starting.done()
    said = await house.command("devices", "claim", shown.code, "--name", "Kitchen")
    assert said == f"claimed {config.device_id} (Kitchen esp-box-3 2.0.3)\n"
    async with asyncio.timeout(60):
        await starting
    reply = await device.type_text("hello")
    assert reply.text
    assert_played_well(reply)
    assert device.violations == []
    await device.close()


async def starts_again(house: House, config: DeviceConfig) -> None:
    first = token_of(config)
    async with SimulatedDevice(config) as device:
        assert device.activations == []
        assert (await device.type_text("hello")).text
    assert token_of(config) != first
    await until_refused(house, config, first)


async def is_impersonated(house: House, config: DeviceConfig) -> None:
    """Another installation states the device's address."""
    impostor = SimulatedDevice(house.device(device_id=config.device_id))
    waiting = asyncio.create_task(impostor.start())
    assert (await impostor.wait_for_activation()).code
    (known,) = await house.devices()
    assert known["state"] == "claimed, asks anew"
    waiting.cancel()
    await asyncio.wait([waiting])
    await impostor.close()


async def is_reminded(house: House, config: DeviceConfig) -> None:
    """Of what was due while it was away and the server was down: once."""
    async with SimulatedDevice(config) as device:
        await device.wait_for(
            lambda: any("feed the cat" in reply.text and reply.ended for reply in device.replies),
            what="the reminder",
            timeout=60,
        )
        assert sum("feed the cat" in reply.text for reply in device.replies) == 1
    command = ("reminders", "list", "--all", "--json")

    async with asyncio.timeout(60):
        while (known := json.loads(await house.command(*command))[0])["state"] != "delivered":
            assert known["state"] == "speaking", "its end is written behind"
    async with SimulatedDevice(config) as device:
        assert (await device.type_text("hello")).text
        # What is due comes in its order: behind this one nothing older waits.
        await house.command("reminders", "add", "kitchen", "the end", "--in", "1s")
        await device.wait_for(
            lambda: any("the end" in reply.text and reply.ended for reply in device.replies),
            what="the later reminder",
            timeout=60,
        )
        assert not any("feed the cat" in reply.text for reply in device.replies)


async def gets_firmware(house: House, config: DeviceConfig) -> None:
    file = house.folder / "xiaozhi.bin"
    image = firmware_image("2.1.0", board="esp-box-3", size=200_000)
    for wrong, why in (
        (merged_binary(image), "merged-binary"),
        (firmware_image("2.1.0", board="esp-box"), "esp-box-3"),
    ):
        file.write_bytes(wrong)
        refused = await house.command(
            "firmware", "add", str(file), "--board", "esp-box-3", status=2
        )
        assert why in refused
    file.write_bytes(image)
    await house.command("firmware", "add", str(file))
    await house.command("firmware", "release", "2.1.0", "--device", config.device_id)
    async with SimulatedDevice(config) as device:
        assert device.boots == ["2.0.3", "2.1.0"]
        assert (await device.type_text("hello")).text
    (attempt,) = json.loads(await house.command("firmware", "attempts", "--json"))
    assert (attempt["state"], attempt["sent"]) == ("installed", len(image))


async def gets_a_profile(house: House, config: DeviceConfig) -> None:
    """In mid-conversation: it takes effect at the next turn."""
    await house.command("profiles", "set", "butler", "wake_reply=At your service.")
    await house.command("devices", "assign", "kitchen", "butler")
    async with SimulatedDevice(config) as device:

        async def greeting() -> str:
            await device.send_json({"type": "listen", "state": "detect", "text": "Jarvis"})
            return (await device.wait_for_reply()).text

        assert (await device.type_text("hello")).text
        async with asyncio.timeout(60):
            while await greeting() != "At your service.":
                pass
        await house.command("profiles", "set", "butler", "wake_reply=Yes, please?")
        async with asyncio.timeout(60):
            while await greeting() != "Yes, please?":
                pass
        said = await house.command("profiles", "set", "butler", "langage=de", status=2)
        assert "profile: langage: there is no such key" in said
        assert "butler" in await house.command("profiles")
    await house.command("profiles", "remove", "butler")


async def loses_its_token(house: House, config: DeviceConfig) -> None:
    async with SimulatedDevice(config) as device:
        assert (await device.type_text("hello")).text
        token = token_of(config).partition(".")[0]
        assert token in await house.command("tokens")
        await house.command("tokens", "revoke", token)
        await device.wait_for_close()
        assert any("no longer allowed" in line for line in device.screen)
    async with SimulatedDevice(config) as device:  # which gets another one when it starts
        assert (await device.type_text("hello")).text


async def is_blocked(house: House, config: DeviceConfig) -> None:
    async with SimulatedDevice(config) as device:
        await house.command("devices", "block", "kitchen", "--reason", "lost in Rome")
        await device.wait_for_close()
        assert any("lost in Rome" in line for line in device.screen)
        assert device.notices[-1].stood(device.now) > 1  # the close clears the screen
    device = SimulatedDevice(config)
    starting = asyncio.create_task(device.start())
    shown = await device.wait_for_activation()
    assert not shown.code
    assert shown.message == "This device is blocked: lost in Rome"
    await house.command("devices", "unblock", "kitchen")
    async with asyncio.timeout(60):
        await starting
    assert (await device.type_text("hello")).text
    await device.close()


async def is_forgotten(house: House, config: DeviceConfig) -> None:
    """It has to be claimed again, and its old token stays void."""
    old = token_of(config)
    await house.command("devices", "forget", config.device_id, "--yes")
    assert await house.devices() == []
    device = await claimed(house, config)
    assert (await device.type_text("hello")).text
    await device.close()
    await until_refused(house, config, old)


async def until_refused(house: House, config: DeviceConfig, token: str) -> None:
    """Wait until a token of a device opens nothing any more."""
    address = f"ws://127.0.0.1:{house.port}/xiaozhi/v1/"
    async with asyncio.timeout(60):
        while True:
            stale = SimulatedDevice(replace(config, ota_url=None, ws_url=address, token=token))
            status = 101
            try:
                await stale.start()
            except ConnectError as error:
                status = error.status or 0
            await stale.close()
            # Who connects too often gets 429, as long as it goes on.
            if status not in {101, 429}:
                assert status == 401
                return
            await asyncio.sleep(0.2)


async def test_a_device_of_another_kind_is_claimed_too(house: House) -> None:
    """py-xiaozhi wraps the body and asks more often; with a serial number it says version 2."""
    config = house.device(client="py-xiaozhi", serial_number="S" * 32)
    async with house.serving():
        device = await claimed(house, config)
        assert (await device.type_text("hello")).text
        await device.close()


async def test_a_device_proves_by_its_key_who_it_is(house: House, tmp_path: Path) -> None:
    right, wrong = bytes(range(32)), bytes(32)
    key = tmp_path / "key.hex"
    key.write_text(right.hex())
    config = house.device(serial_number="S" * 32, hmac_key=right)
    await house.command("devices", "add", config.device_id, "--key-file", str(key))
    async with house.serving():
        other = house.device(device_id=config.device_id, serial_number="S" * 32, hmac_key=wrong)
        impostor = SimulatedDevice(replace(other, activation_rounds=1))
        with pytest.raises(OtaError):
            await impostor.start()
        await impostor.close()
        async with SimulatedDevice(config) as device:
            assert (await device.type_text("hello")).text
            assert device.activations, "it was asked for its proof"
    (known,) = await house.devices()
    assert known["verified_at"]
    assert "hmac" not in json.dumps(known)
    assert right.hex() not in json.dumps(known)


async def test_an_allow_list(house: House) -> None:
    house.write("allow_list")
    listed, unlisted = house.device(), house.device()
    async with house.serving():
        await house.command("devices", "add", listed.device_id, "--name", "Bath")
        async with SimulatedDevice(listed) as device:
            assert (await device.type_text("hello")).text
        device = SimulatedDevice(unlisted)
        starting = asyncio.create_task(device.start())
        shown = await device.wait_for_activation()
        assert not shown.code
        assert unlisted.device_id in shown.message
        await house.command("devices", "claim", unlisted.device_id)
        async with asyncio.timeout(60):
            await starting
        await device.close()


async def test_processes_of_one_server_know_the_same_devices(house: House) -> None:
    house.write("activation", workers=2)
    configs = [house.device() for _ in range(4)]
    async with house.serving():
        devices = await asyncio.gather(*(claimed(house, config) for config in configs))
        await house.command("devices", "block", configs[0].device_id)
        await devices[0].wait_for_close()
        for device in devices[1:]:
            assert (await device.type_text("hello")).text
        for device in devices:
            await device.close()
    assert len(await house.devices()) == len(configs)
