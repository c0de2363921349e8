"""The HTTP API of a real server, with the simulated device."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from firmware_test_client import McpFaults, Misbehaviour, SimulatedDevice
from tests.e2e.api_client import Answer, api_server
from tests.support.firmware_images import application
from tests.support.waiting import until
from vixio.web.api import mount
from vixio.web.api.first_login import FILE_NAME
from vixio.web.api.front import MAX_BODY_BYTES
from vixio.web.api.keys import Keys
from vixio.web.api.scopes import Scope

ABSENT = "02:00:00:00:00:77"


def refused(answer: Answer, status: int, words: str = "") -> None:
    """Check that a request was refused, for this reason."""
    assert answer.status == status, answer.body
    assert words in answer.body["detail"]


async def test_a_connected_device_speaks_answers_and_uses_its_tools(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as device,
    ):
        call = await api.client(Scope.CONTROL, Scope.DEVICES_READ)
        one = f"/devices/{device.config.device_id}"
        shown = await call("GET", one)
        assert (shown.status, shown.body["online"]) == (200, True)

        said = await call("POST", f"{one}/say", {"text": "Dinner is ready.", "wait": True})
        assert said.body == {"status": "played", "heard": "Dinner is ready.", "until": ""}
        assert device.replies[-1].text == "Dinner is ready."

        refused(await call("POST", f"{one}/say", {"text": "\u001d"}), 422, "nothing to say")
        asked = await call("POST", f"{one}/ask", {"text": "set the volume to thirty percent"})
        assert asked.status == 200, asked.body
        assert asked.body["status"] == "played"
        assert asked.body["heard"] == device.replies[-1].text
        assert device.volume == 30

        known: list[str] = []
        async with asyncio.timeout(60):  # what it can do is in the registry, also when it is gone
            while not known:
                known = (await call("GET", one)).body["tools"]
        assert "self.audio_speaker.set_volume" in known
        listed = await call("GET", f"{one}/tools")
        names = {tool["name"] for tool in listed.body["tools"]}
        assert "self.audio_speaker.set_volume" in names
        assert "self.reboot" not in names
        called = await call(
            "POST", f"{one}/tools/self.audio_speaker.set_volume", {"arguments": {"volume": 55}}
        )
        assert (called.status, called.body["success"]) == (200, True)
        assert device.volume == 55
        wrong = await call(
            "POST", f"{one}/tools/self.audio_speaker.set_volume", {"arguments": {"volume": 555}}
        )
        assert (wrong.status, wrong.body["success"]) == (200, False)
        refused(await call("POST", f"{one}/tools/self.reboot", {}), 404, "no such tool")
        refused(await call("GET", f"{one}/user-tools"), 403, "user-tools")
        refused(await call("POST", f"{one}/reboot"), 403, "user-tools")

        user = await api.client(Scope.USER_TOOLS)
        listed = await user("GET", f"{one}/user-tools")
        names = {tool["name"] for tool in listed.body["tools"]}
        assert {"self.reboot", "self.get_system_info"} <= names
        assert "self.audio_speaker.set_volume" not in names
        called = await user("POST", f"{one}/user-tools/self.get_system_info", {})
        assert called.body["success"] is True

        assert (await call("POST", f"{one}/face", {"emotion": "happy"})).status == 204
        alert = {"title": "Door", "text": "Someone rings.", "emotion": "surprised"}
        assert (await call("POST", f"{one}/alert", alert)).status == 204
        await device.wait_for(lambda: device.alerts, what="the alert")
        assert (await call("POST", f"{one}/interrupt")).status == 204
        assert (await call("POST", f"{one}/disconnect")).status == 204
        await until(
            lambda: api.server.session(device.config.device_id) is None,
            what="the end of the session",
        )
        absent = await call("POST", f"{one}/say", {"text": "hello"})
        refused(absent, 409, "not connected")
        assert absent.body["last_seen"] > 0
        assert (await call("GET", one)).body["online"] is False


async def test_a_call_waits_for_what_a_device_lists_as_it_connects(tmp_path: Path) -> None:
    """A page asks for the volume as soon as the device is back."""
    slow = Misbehaviour(mcp=McpFaults(delay=0.7))
    async with api_server(tmp_path) as api:
        config = api.server.device(mode="manual", misbehaviour=slow)
        call = await api.client(Scope.CONTROL)
        async with SimulatedDevice(config):
            path = f"/devices/{config.device_id}/tools"
            called = await call("POST", f"{path}/self.get_device_status", {})
            assert called.status == 200, called.body
            assert called.body["success"]
            assert (await call("GET", path)).body["tools"]


async def test_devices_are_claimed_and_managed(tmp_path: Path) -> None:
    async with api_server(tmp_path, server={"access": "activation"}) as api:
        call = await api.client(Scope.DEVICES_READ, Scope.DEVICES_WRITE)
        config = api.server.device(
            mode="manual",
            activation_rounds=None,
            activation_retry=0.1,
            activation_error_retry=0.1,
            pause_scale=0.01,
        )
        device = SimulatedDevice(config)
        starting = asyncio.create_task(device.start())
        shown = await device.wait_for_activation()
        (pending,) = (await call("GET", "/devices")).body["devices"]
        assert (pending["id"], pending["state"]) == (config.device_id, "unclaimed")
        assert pending["code"] == shown.code
        assert shown.code is not None
        wrong = f"{(int(shown.code) + 1) % 1_000_000:06}"
        refused(await call("POST", "/devices/claim", {"code": wrong}), 404, "xiaozhi.me")
        claimed = await call("POST", "/devices/claim", {"code": shown.code, "name": "Kitchen"})
        assert (claimed.status, claimed.body["name"]) == (200, "Kitchen")
        async with asyncio.timeout(60):
            await starting

        # the device's own token opens its own record, and nothing else
        token = config.flash.nvs.string("websocket", "token")
        identity = {"Device_Id": config.device_id, "Client_Id": config.client_id}
        own = api.bearer(token, **identity)
        assert (await own("GET", "/device")).body["id"] == config.device_id
        of_words = ("/conversations/s/turns/1/sound", "/conversations/s")
        for path in ("/devices", "/me", "/tokens", f"/devices/{config.device_id}", *of_words):
            refused(await own("GET", path), 403)
        refused(await api.bearer(token)("GET", "/device"), 401)
        other = api.bearer(token, Device_Id=ABSENT, Client_Id=config.client_id)
        refused(await other("GET", "/device"), 401)
        refused(await call("GET", "/device"), 403)

        tokens = (await call("GET", f"/devices/{config.device_id}/tokens")).body["tokens"]
        # One came with the code and was granted by its claim, one with the next question.
        assert [each["client_id"] for each in tokens] == [config.client_id] * 2
        renamed = await call("PATCH", f"/devices/{config.device_id}", {"name": "Bath"})
        assert renamed.body["name"] == "Bath"
        moved = await call("PATCH", "/devices/Bath", {"place": "First floor"})
        assert (moved.body["name"], moved.body["place"]) == ("Bath", "First floor")
        assert (await call("GET", "/devices/Bath")).body["id"] == config.device_id
        blocked = await call("POST", "/devices/Bath/block", {"reason": "lost"})
        assert blocked.body["state"] == "blocked"
        await until(lambda: api.server.session(config.device_id) is None, what="its farewell")
        refused(await own("GET", "/device"), 401)
        assert (await call("POST", "/devices/Bath/unblock")).body["state"] == "claimed"
        assert (await call("DELETE", "/devices/Bath")).status == 204
        refused(await call("GET", "/devices/Bath"), 404)
        added = await call("POST", "/devices", {"id": ABSENT, "name": "Shed"})
        assert (added.status, added.body["last_seen"]) == (201, 0)
        refused(await call("POST", "/devices", {"id": "no device's"}), 409)
        refused(await call("GET", "/audit"), 403)
        audit = await (await api.client(Scope.ADMIN))("GET", "/audit")
        actions = [each["action"] for each in audit.body["changes"]]
        assert {"claimed", "renamed", "blocked", "unblocked", "forgotten", "added"} <= set(actions)
        await device.close()


async def test_the_first_login_and_personal_tokens(tmp_path: Path) -> None:
    async with api_server(tmp_path, api={"logins_per_minute": 5}) as api:
        nobody = await api.client()
        refused(await nobody("GET", "/me"), 401, "vixio api-tokens create")
        for task in asyncio.all_tasks():
            if task.get_name() == "api login":
                await asyncio.wait([task])
        file = tmp_path / "data" / FILE_NAME
        password = file.read_text().strip()
        assert (await nobody("GET", "/login")).body == {"password_file": str(file)}
        for header in ("X-Forwarded-For", "Forwarded"):  # somebody behind a proxy of this machine
            asked = await nobody("GET", "/login", headers={header: "for=192.0.2.1"})
            assert asked.body == {"password_file": None}
        file.rename(file.with_suffix(".kept"))  # another password is in force
        assert (await nobody("GET", "/login")).body == {"password_file": None}
        login = await nobody("POST", "/login", {"password": password})
        assert login.status == 200, login.body
        admin = api.bearer(login.body["token"])
        assert (await admin("GET", "/me")).body["kind"] == "session"
        made = await admin("POST", "/tokens", {"name": "phone", "scopes": ["devices:read"]})
        assert made.status == 201
        phone = api.bearer(made.body["token"])
        assert (await phone("GET", "/devices")).status == 200
        refused(await phone("POST", "/devices", {"id": ABSENT}), 403, "devices:write")
        refused(await phone("GET", "/tokens"), 403, "admin")
        assert "token" not in (await admin("GET", "/tokens")).body["tokens"][0]
        assert (await admin("DELETE", f"/tokens/{made.body['id']}")).status == 204
        refused(await phone("GET", "/devices"), 401)
        assert (await admin("POST", "/logout")).status == 204
        refused(await admin("GET", "/me"), 401)
        link = await api.server.app.registry.use(lambda database: Keys(database).make_link("me"))
        followed = await nobody("POST", "/login/link", {"link": link})
        assert followed.status == 200, followed.body
        assert (await api.bearer(followed.body["token"])("GET", "/me")).body["kind"] == "session"
        refused(await nobody("POST", "/login/link", {"link": link}), 401, "vixio console")
        wrong = {"password": "wrong password"}
        first, _, last = [await nobody("POST", "/login", wrong) for _ in range(3)]
        refused(first, 401, "vixio api-password")
        refused(last, 429)
        assert int(last.headers["Retry-After"]) > 0


async def test_what_is_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.ADMIN)
        refused(await call("GET", "/nothing"), 404, "openapi.json")
        refused(await call("PUT", "/devices"), 405)
        say = f"/devices/{ABSENT}/say"
        refused(await call("POST", say, {"text": "x"}), 404, "no device")
        refused(await call("POST", say, {}), 422, "text")
        refused(await call("POST", say, {"text": 5}), 422, "text")
        refused(await call("POST", say, {"text": "x", "wait": "yes"}), 422, "wait")
        refused(await call("POST", say, {"text": "x", "more": 1}), 422, "more")
        as_json = {"headers": {"Content-Type": "application/json"}}
        refused(await call("POST", say, data=b"{", **as_json), 400, "JSON")
        refused(await call("POST", say, data=b"text=x"), 415, "application/json")
        huge = b'"' + b"x" * MAX_BODY_BYTES + b'"'
        refused(await call("POST", say, data=huge, **as_json), 413)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_pages_of_other_origins_and_other_names_are_refused(
    tmp_path: Path, method: str
) -> None:
    listed = "https://console.example.org"
    async with api_server(tmp_path, server={"allowed_origins": [listed]}) as api:
        call = await api.client(Scope.ADMIN)
        path = {"GET": "/devices", "POST": f"/devices/{ABSENT}/unblock"}[method]
        right = {"GET": 200, "POST": 404}[method]
        for origin in ("https://evil.example", "null"):
            refused(await call(method, path, headers={"Origin": origin}), 403, "origin")
        for origin in (api.server.http_url, listed):
            assert (await call(method, path, headers={"Origin": origin})).status == right
        refused(await call(method, path, headers={"Host": "evil.example"}), 403, "api.hosts")
        assert (await call(method, path, headers={"Host": "localhost:1"})).status == right
        async with api.http.post(
            api.server.ota_url, headers={"Origin": "https://evil.example"}
        ) as answer:
            assert answer.status == 403


async def test_requests_of_a_token_are_limited(tmp_path: Path) -> None:
    async with api_server(tmp_path, api={"requests_per_minute": 5}) as api:
        call = await api.client(Scope.ADMIN)
        answers = [await call("GET", "/me") for _ in range(6)]
        assert [each.status for each in answers] == [200] * 5 + [429]
        assert int(answers[-1].headers["Retry-After"]) > 0


async def test_firmware_is_uploaded_and_released(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.FIRMWARE)
        content = application()
        octets = {"headers": {"Content-Type": "application/octet-stream"}}
        added = await call("POST", "/firmware/images", data=content, **octets)
        assert added.status == 201, added.body
        board, version = added.body["board"], added.body["version"]
        assert added.body["size"] == len(content)
        as_text = {"headers": {"Content-Type": "text/plain"}}
        refused(await call("POST", "/firmware/images", data=content, **as_text), 415)
        bad = await call("POST", "/firmware/images", data=b"\xe9 no image", **octets)
        refused(bad, 422)
        assert str(tmp_path) not in bad.body["detail"]
        one = f"/firmware/{board}/{version}"
        refused(await call("POST", f"{one}/pause"), 404)
        released = await call("PUT", f"{one}/release", {"percent": 10})
        assert (released.status, released.body["percent"]) == (200, 10)
        assert (await call("POST", f"{one}/pause")).body["paused"] is True
        assert (await call("POST", f"{one}/resume")).body["paused"] is False
        (listed,) = (await call("GET", "/firmware")).body["images"]
        assert listed["release"]["percent"] == 10
        assert (await call("GET", "/firmware/attempts")).body == {"attempts": []}
        assert (await call("DELETE", one)).status == 204
        assert (await call("GET", "/firmware")).body == {"images": []}
        assert not list((tmp_path / "data").glob(".upload-*"))


async def test_a_request_that_comes_early_waits_for_the_api(tmp_path: Path) -> None:
    async with api_server(tmp_path, loaded=False) as api:
        refused(await (await api.client())("GET", "/me"), 401)


async def test_a_server_without_the_library_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mount, "find_spec", lambda _: None)
    async with (
        api_server(tmp_path) as api,
        api.http.get(f"{api.server.http_url}/api/v1/me") as answer,
    ):
        assert answer.status == 503
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.content_type == "application/problem+json"
    assert "install fastapi" in caplog.text
    assert not (tmp_path / "data" / FILE_NAME).exists()


async def test_the_api_can_be_turned_off(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path, api={"enabled": False}) as api,
        api.http.get(f"{api.server.http_url}/api/v1/me") as answer,
    ):
        assert answer.status == 404
