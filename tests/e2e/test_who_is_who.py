"""A stranger's id that is the name of somebody's device: every place that takes "a device" means
the one that is called so."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import ApiServer, api_server
from tests.e2e.event_stream import streaming
from vixio.data.devices.contacts import Contact
from vixio.data.devices.records import DeviceRecord
from vixio.web.api.scopes import Scope

OWN, STRANGER = "02:00:00:00:00:0a", "kitchen"

NOTHING: Any = None
FACT = {"text": "likes tea"}
WALK: list[tuple[str, str, Any]] = [
    ("GET", "/devices/{device}", NOTHING),
    ("PATCH", "/devices/{device}", {"name": "Kitchen"}),
    ("GET", "/devices/{device}/tokens", NOTHING),
    ("DELETE", "/devices/{device}/tokens", NOTHING),
    ("GET", "/devices/{device}/tools", NOTHING),
    ("POST", "/devices/{device}/tools/{tool}", {"arguments": {}}),
    ("GET", "/devices/{device}/user-tools", NOTHING),
    ("POST", "/devices/{device}/user-tools/{tool}", {"arguments": {}}),
    ("GET", "/devices/{device}/screen", NOTHING),
    ("POST", "/devices/{device}/picture", NOTHING),
    ("POST", "/devices/{device}/upgrade", NOTHING),
    ("POST", "/devices/{device}/assets", {"url": "https://assets.example/a.bin"}),
    ("POST", "/devices/{device}/say", {"text": "hello"}),
    ("POST", "/devices/{device}/ask", {"text": "what time is it"}),
    ("POST", "/devices/{device}/alert", {"title": "Door", "text": "It is open."}),
    ("POST", "/devices/{device}/face", {"emotion": "happy"}),
    ("POST", "/devices/{device}/custom", {"payload": {}}),
    ("POST", "/devices/{device}/interrupt", NOTHING),
    ("GET", "/devices/{device}/turns", NOTHING),
    ("DELETE", "/devices/{device}/turns", NOTHING),
    ("PUT", "/devices/{device}/profile", {"profile": ""}),
    ("DELETE", "/devices/{device}/role", NOTHING),
    ("PUT", "/devices/{device}/person", {"person": ""}),
    ("POST", "/devices/{device}/trial", {"content": {"language": "de"}}),
    ("GET", "/devices/{device}/trial", NOTHING),
    ("DELETE", "/devices/{device}/trial", NOTHING),
    ("POST", "/devices/{device}/access-point", NOTHING),
    ("GET", "/devices/{device}/access-point", NOTHING),
    ("DELETE", "/devices/{device}/access-point", NOTHING),
    ("GET", "/devices/{device}/memory", NOTHING),
    ("PUT", "/devices/{device}/memory/summary", {"summary": "They spoke of tea."}),
    ("POST", "/devices/{device}/memory/facts", FACT),
    ("PUT", "/devices/{device}/memory/facts/{fact}", FACT),
    ("DELETE", "/devices/{device}/memory/facts/{fact}", NOTHING),
    ("DELETE", "/devices/{device}/memory", NOTHING),
    ("POST", "/devices/{device}/disconnect", NOTHING),
    ("POST", "/devices/{device}/reboot", NOTHING),
    ("POST", "/devices/{device}/block", {"reason": "lost"}),
    ("POST", "/devices/{device}/unblock", NOTHING),
    ("DELETE", "/devices/{device}", NOTHING),
]
"""Every route of a device, what is harmless first."""

ADDRESS = "192.0.2.1"


async def records(api: ApiServer) -> dict[str, DeviceRecord]:
    found = await api.server.app.registry.with_repository(lambda repository: repository.devices())
    return {each.id: each for each in found}


async def address(api: ApiServer) -> str:
    """Return the stranger's address, as it is on record."""
    found = (await records(api)).get(STRANGER)
    return found.address if found is not None else ""


async def routes_of_a_device(api: ApiServer) -> set[tuple[str, str]]:
    async with api.http.get(f"{api.server.http_url}/api/v1/openapi.json") as answer:
        paths = json.loads(await answer.text())["paths"]
    return {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, methods in paths.items()
        for method in methods
        if "{device}" in path
    }


@pytest.mark.slow
async def test_every_place_means_the_device_that_is_called_so(tmp_path: Path) -> None:
    memory = {"store": "database"}
    async with api_server(tmp_path, memory=memory, api={"requests_per_minute": 0}) as api:
        assert {(method, path) for method, path, _ in WALK} == await routes_of_a_device(api)
        registry, remembered = api.server.app.registry, api.server.app.memory
        assert remembered is not None
        stranger = api.server.device(device_id=STRANGER, ws_url=api.server.ws_url, mode="manual")
        own = api.server.device(device_id=OWN, mode="manual")
        call = await api.client(Scope.ADMIN)
        url = f"{api.server.http_url}/api/v1"
        bearer: dict[str, Any] = {"headers": {"Authorization": f"Bearer {call.token}"}}
        async with SimulatedDevice(stranger) as other, SimulatedDevice(own):
            # It is on record, as one that came before anything was called so.
            registry._contacts.seen(STRANGER, Contact(1, ADDRESS, may_be_new=True))
            async with asyncio.timeout(90):
                # Its own contact may be written first.
                while (await address(api)) != ADDRESS:  # noqa: ASYNC110 - of another thread
                    await asyncio.sleep(0.05)
            await registry.with_repository(
                lambda repository: repository.rename(OWN, "Kitchen", "me")
            )
            await remembered.facts.add(STRANGER, "is a stranger")
            before = (await records(api))[STRANGER]
            async with streaming(api.http, api.server.http_url, call.token, device="Kitchen") as on:
                reminder = {"device": "kitchen", "text": "the cat", "in_seconds": 3_600}
                assert (await call("POST", "/reminders", reminder)).body["device_id"] == OWN
                for method, path, body in WALK:
                    place = path.format(device="Kitchen", tool="nothing", fact="0" * 16)
                    more = {} if body is NOTHING else {"json": body}
                    async with api.http.request(
                        method, f"{url}{place}", **bearer, **more
                    ) as answer:
                        said = (place, answer.status, await answer.read())
                    assert answer.status != 422, said
                    assert answer.status < 500 or answer.status == 504, said
                assert {event.get("device_id", OWN) for event in on.events} <= {OWN, ""}
            after = (await records(api))[STRANGER]
            assert replace(after, last_seen=before.last_seen) == before
            assert await remembered.facts.facts(STRANGER) == ["is a stranger"]
            assert not other.replies
            assert not other.alerts
            assert other.connected
        assert OWN not in await records(api), "the last of them has forgotten it"


async def test_ota_refuses_an_id_that_is_somebodys_name(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        registry = api.server.app.registry
        await registry.with_repository(lambda repository: repository.add(OWN, "me", name="Kitchen"))
        for spelling in ("kitchen", "Kitchen"):
            headers = {"Device-Id": spelling, "Client-Id": "c"}
            async with api.http.post(api.server.ota_url, headers=headers, json={}) as answer:
                said = await answer.json()
            assert "websocket" not in said
            assert said["activation"]["message"]
        assert set(await records(api)) == {OWN}
        assert api.server.count("registry.names_taken") >= 2
