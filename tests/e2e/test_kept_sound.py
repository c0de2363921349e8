"""What the user says is kept as sound where a device's profile says so, and nowhere else."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import wave
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firmware_test_client import SimulatedDevice
from firmware_test_client.pcm import Pcm
from tests.e2e.api_client import DEFAULTS, ApiServer, Client, api_server
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.event_stream import streaming
from tests.e2e.harness import settings
from tests.support.waiting import until
from vixio.core.device import Device
from vixio.core.session.events import Event
from vixio.data.database.database import Database
from vixio.server import Server
from vixio.web.api.scopes import Scope

OWN = "02:00:00:00:00:41"
SAID = "what time is it"
LONGEST_STATED = 2_500
"""Characters of a text of an event: sound of a tenth of a second would be more."""


async def sound(api: ApiServer, call: Client, path: str, **headers: str) -> tuple[int, bytes]:
    """Ask for the sound of a turn."""
    headers = {"Authorization": f"Bearer {call.token}", **call.headers, **headers}
    async with api.http.get(f"{call.url}/api/v1{path}/sound", headers=headers) as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        if answer.status == 200:
            assert answer.content_type == "audio/wav"
        return answer.status, await answer.read()


async def rows(api: ApiServer) -> int:
    """Return how many sounds are in the database."""

    async def count(database: Database) -> int:
        async with database.transaction(write=False) as transaction:
            (row,) = await transaction.fetch("SELECT COUNT(*) AS number FROM turn_sounds")
        return int(row["number"])

    return await api.server.app.registry.use(count)


async def turns(call: Client, device: str) -> list[dict[str, Any]]:
    """Return what is on record of a device."""
    found: list[dict[str, Any]] = (await call("GET", f"/devices/{device}/turns")).body["turns"]
    return found


def read(wav: bytes) -> Pcm:
    with wave.open(io.BytesIO(wav)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)
        return Pcm(file.readframes(file.getnframes()), 16_000)


def loudest(pcm: Pcm) -> float:
    """Return the RMS of the loudest half second."""
    squares = np.cumsum(np.square(pcm.samples.astype(np.float64)))
    return float(np.sqrt((squares[8_000:] - squares[:-8_000]).max() / 8_000))


async def test_what_was_said_can_be_heard_and_recognised_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    everything: list[Event] = []
    kept = {"keep_sound_days": 7}
    async with api_server(tmp_path, made=DEFAULTS, devices={OWN: kept}) as api:
        call = await api.client(Scope.CONVERSATIONS_READ, Scope.DEVICES_READ)
        api.server.app.events.attach(everything.append)
        async with (
            streaming(api.http, api.server.http_url, call.token) as stream,
            SimulatedDevice(api.server.device(device_id=OWN)) as device,
        ):
            reply = await device.ask(SAID)
            assert reply.stt == SAID
            ended = (await stream.until_type("turn.ended"))[-1]
            (turn,) = await turns(call, OWN)
            path = f"/conversations/{turn['session_id']}/turns/{turn['turn']}"
            status, wav = await sound(api, call, path)
            assert status == 200
            heard, said = read(wav), device.spoken[-1].utterance
            voiced = said.voice_end - said.voice_start
            assert voiced < heard.duration < voiced + 2.0
            assert turn["sound_ms"] == ended["sound_ms"] == round(heard.duration * 1000)
            assert loudest(heard) == pytest.approx(loudest(said.pcm.resampled(16_000)), rel=0.2)
            again = await device.ask(heard)
            assert again.stt == SAID
            assert_nothing_wrong(device)
            session = api.server.session(OWN)
            assert session is not None

            # In none of what others read.
            assert all(len(line) < LONGEST_STATED for line in texts(stream.events))
            assert all(not isinstance(each, bytes) for each in leaves(everything))
            assert all(len(line.getMessage()) < LONGEST_STATED for line in caplog.records)
            shown = json.dumps(await turns(call, OWN))
            assert len(shown) < 2 * LONGEST_STATED

            # Another device's token opens nothing of it, nor does one for other things.
            wrong = await api.client(Scope.DEVICES_READ)
            assert (await sound(api, wrong, path))[0] == 403
            assert (await sound(api, call, "/conversations/none/turns/1"))[0] == 404
            assert (await sound(api, call, f"/conversations/{turn['session_id']}/turns/99"))[
                0
            ] == 404
        assert (await call("GET", f"/devices/{OWN}")).body["keeps_sound_days"] == 7


def leaves(value: object) -> list[object]:
    """Return what is in events, at whatever depth."""
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return leaves(asdict(value)) if hasattr(value, "__dataclass_fields__") else [value]  # type: ignore[call-overload]  # an instance


def texts(value: object) -> list[str]:
    return [leaf for leaf in leaves(value) if isinstance(leaf, str)]


async def test_nothing_is_kept_by_default(tmp_path: Path) -> None:
    async with api_server(tmp_path, made=DEFAULTS) as api:
        call = await api.client(Scope.CONVERSATIONS_READ, Scope.DEVICES_READ)
        async with SimulatedDevice(api.server.device(device_id=OWN)) as device:
            assert (await device.ask(SAID)).stt == SAID
            (turn,) = await turns(call, OWN)
            assert turn["sound_ms"] == 0
            path = f"/conversations/{turn['session_id']}/turns/{turn['turn']}"
            assert (await sound(api, call, path))[0] == 404
        assert await rows(api) == 0
        assert (await call("GET", f"/devices/{OWN}")).body["keeps_sound_days"] == 0


async def test_a_profile_turns_it_on_and_off(tmp_path: Path) -> None:
    async with api_server(tmp_path, made=DEFAULTS) as api:
        call = await api.client(Scope.ADMIN)
        await call("PUT", "/profiles/heard", {"content": {"keep_sound_days": 3}})
        async with SimulatedDevice(api.server.device(device_id=OWN)) as device:
            await call("PUT", f"/devices/{OWN}/profile", {"profile": "heard"})
            session = api.server.session(OWN)
            assert session is not None
            await until(lambda: session.profile.keep_sound_days == 3, what="the change")
            assert (await call("GET", f"/devices/{OWN}")).body["keeps_sound_days"] == 3
            for _ in range(2):
                assert (await device.ask(SAID)).stt == SAID
            first, second = await turns(call, OWN)
            assert await rows(api) == 2

            # One of them alone goes, and its words stay.
            path = f"/conversations/{first['session_id']}/turns/{first['turn']}"
            reader = await api.client(Scope.CONVERSATIONS_READ)
            assert (await reader("DELETE", f"{path}/sound")).status == 403
            assert (await call("DELETE", f"{path}/sound")).status == 204
            assert (await call("DELETE", f"{path}/sound")).status == 404
            last = (await call("GET", "/audit")).body["changes"][-1]
            assert (last["action"], last["target"]) == ("sound erased", f"device:{OWN}")
            left = await turns(call, OWN)
            assert [each["sound_ms"] for each in left] == [0, second["sound_ms"]]
            assert [each["heard"] for each in left] == [SAID, SAID]

            # Turned off, what there is goes at once.
            await call("PUT", "/profiles/heard", {"content": {"keep_sound_days": 0}})
            await until(lambda: session.profile.keep_sound_days == 0, what="the change back")
            async with asyncio.timeout(60):
                while await rows(api):  # noqa: ASYNC110 - a database
                    await asyncio.sleep(0.01)
            assert (await device.ask(SAID)).stt == SAID
            assert len(await turns(call, OWN)) == 3
            assert await rows(api) == 0


def test_before_the_profiles_are_read_nothing_is_said_of_them(tmp_path: Path) -> None:
    """Else what is kept would go with the first look of a server that starts."""
    kept = {"keep_sound_days": 7}
    data = {"folder": str(tmp_path), "database": ""}
    services = Server(settings(data=data, assistant=kept))._device_services
    assert services.sound_days(Device(OWN)) is None
    services.registry.known.last = 0
    assert services.sound_days(Device(OWN)) == 7
    assert Server(settings(assistant=kept))._device_services.sound_days(Device(OWN)) == 0
