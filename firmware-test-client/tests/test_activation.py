"""Activation: the code on the screen and in the loudspeaker, and the polls."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from typing import Any

import pytest
from ota_server import Answer, OtaServer, answer, sections
from scripted_server import ScriptedServer

from firmware_test_client import OtaError, SimulatedDevice

CODE = {"code": "12-34x56", "message": "xiaozhi.example\n123456", "challenge": "c"}


class House:
    """A server that withholds `websocket` until the device is claimed."""

    def __init__(self, url: str = "ws://127.0.0.1:1/") -> None:
        self._url = url
        self.claimed = False

    def __call__(self, path: str, _: object) -> Answer:
        if path.endswith("/activate"):
            return 200 if self.claimed else 202, "{}"
        return answer(self._url) if self.claimed else sections(activation=CODE)


async def test_first_start_claimed_meanwhile(ota: OtaServer, server: ScriptedServer) -> None:
    house = House(server.url)
    ota.respond = house
    device = SimulatedDevice(ota.config(mode="manual"))
    starting = asyncio.create_task(device.start())
    shown = await device.wait_for_activation()
    assert (shown.code, shown.message) == (CODE["code"], CODE["message"])
    assert device.screen == ["alert: Activation: xiaozhi.example\n123456 (link)"]
    assert device.sounds == ["activation", *"123456"]  # a sound for digits only
    assert device.state == "activating"
    await device.wait_for(lambda: len(ota.requests) >= 3, what="a second poll")
    assert not starting.done()
    house.claimed = True
    await starting
    assert server.talk.headers["authorization"] == "Bearer abc"
    assert device.ota is not None
    assert device.ota.activation is None
    assert device.ota.activation_tries[-2:] == [202, 200]
    bodies = [body for path, _, body in ota.requests if path == "/xiaozhi/ota/activate"]
    assert bodies == [{}] * len(device.ota.activation_tries)
    await device.close()


async def test_activation_is_polled_and_signed(ota: OtaServer) -> None:
    asked = answer(activation=CODE)
    ota.answers = [asked, (202, "{}"), (500, "{}"), (200, "{}"), answer()]
    config = ota.config(serial_number="s" * 32)
    device = SimulatedDevice(config)
    result = await device.boot()
    await device.close()
    assert result is not None
    assert result.activation_tries == [202, 500, 200]
    path, headers, body = ota.requests[1]
    assert path == "/xiaozhi/ota/activate"
    assert headers["activation-version"] == "2"
    assert headers["serial-number"] == "s" * 32
    signature = hmac.new(config.hmac_key, b"c", hashlib.sha256).hexdigest()
    assert body == {
        "algorithm": "hmac-sha256",
        "serial_number": "s" * 32,
        "challenge": "c",
        "hmac": signature,
    }


async def test_the_code_is_read_again_after_ten_polls(ota: OtaServer) -> None:
    asked = sections(activation=CODE)
    later = sections(activation={"code": "777777", "challenge": "d"})
    ota.answers = [asked, *[(202, "{}")] * 10, later, (200, "{}"), answer()]
    device = SimulatedDevice(ota.config())
    starting = asyncio.create_task(device.boot())
    assert (await device.wait_for_activation(after=1)).code == "777777"
    await starting
    assert device.activations[1].message == CODE["message"]  # stays, as the new one has none
    assert device.sounds == ["activation", *"123456", "activation", *"777777"]
    await device.close()


async def test_activation_that_never_ends(ota: OtaServer) -> None:
    ota.answers = [sections(activation=CODE), *[(202, "{}")] * 10] * 3
    with pytest.raises(OtaError, match="activation not finished, code 12-34x56"):
        await SimulatedDevice(ota.config(activation_retry=0.001)).start()
    assert len(ota.requests) == 23


async def test_without_a_challenge_nothing_is_posted(ota: OtaServer) -> None:
    ota.answers = [sections(activation={"code": "1", "message": "m"}), answer()]
    device = SimulatedDevice(ota.config(activation_error_retry=0.001))
    await device.boot()
    await device.close()
    assert [path for path, _, _ in ota.requests] == ["/xiaozhi/ota/"] * 2
    assert device.sounds == ["activation", "1"]


async def test_without_a_code_nothing_is_shown(ota: OtaServer) -> None:
    ota.answers = [
        sections(activation={"message": "m", "challenge": "c"}),
        (200, "{}"),
        answer(activation={"message": "only a message"}),
    ]
    device = SimulatedDevice(ota.config())
    await device.boot()
    await device.close()
    assert len(ota.requests) == 3
    assert (device.screen, device.sounds) == ([], [])
    assert device.activations[0].code is None


async def test_py_xiaozhi_wraps_the_body_and_polls_sixty_times(ota: OtaServer) -> None:
    ota.answers = [sections(activation=CODE), *[(202, "{}")] * 59, (200, "{}"), answer()]
    config = ota.config(client="py-xiaozhi", serial_number="SN-1", activation_retry=0.0)
    device = SimulatedDevice(config)
    await device.boot()
    await device.close()
    assert len(device.activations) == 1
    bodies: list[Any] = [body for path, _, body in ota.requests if path.endswith("activate")]
    assert len(bodies) == 60
    assert bodies[0]["Payload"]["serial_number"] == "SN-1"


async def test_py_xiaozhi_without_a_serial_number_ignores_activation(ota: OtaServer) -> None:
    ota.answers = [answer(activation=CODE), sections(activation=CODE)]
    device = SimulatedDevice(ota.config(client="py-xiaozhi"))
    await device.boot()
    assert device.activations == []
    starting = asyncio.create_task(device.boot())
    with pytest.raises(OtaError, match="without being asked"):
        await device.wait_for_activation()
    await starting
    await device.close()


async def test_the_wait_for_a_code_ends_with_a_boot_that_fails(ota: OtaServer) -> None:
    ota.answers = [(403, "{}")]
    device = SimulatedDevice(ota.config())
    starting = asyncio.create_task(device.boot())
    with pytest.raises(OtaError, match="HTTP 403"):
        await device.wait_for_activation()
    with pytest.raises(OtaError, match="HTTP 403"):
        await starting


async def test_a_boot_can_be_cancelled(ota: OtaServer) -> None:
    ota.respond = House()
    device = SimulatedDevice(ota.config(activation_retry=1000.0, activation_rounds=None))
    starting = asyncio.create_task(device.start())
    await device.wait_for_activation()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert len(asyncio.all_tasks()) == 1
