"""The stream of events of a real server, with the simulated device."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import ApiServer, api_server
from tests.e2e.event_stream import Event, EventStream, streaming
from tests.support.waiting import until
from vixio.web.api.routes.events import MAX_STREAMS
from vixio.web.api.scopes import Scope
from vixio.web.feed.content import Content

NOISE = "x" * 3_000
"""Ten thousand of these are more than any kernel takes for one connection."""

WORDS = ("text", "guess", "arguments", "output")


async def test_a_conversation_is_followed_with_its_words_or_without(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        url = api.server.http_url
        reader = await api.token(Scope.DEVICES_READ, Scope.CONVERSATIONS_READ)
        watcher = await api.token(Scope.DEVICES_READ)
        async with (
            streaming(api.http, url, reader) as read,
            streaming(api.http, url, watcher) as watched,
            SimulatedDevice(api.server.device(mode="manual")) as device,
        ):
            reply = await device.type_text("set the volume to thirty percent")
            seen = await read.until_type("turn.ended")
            mac = device.config.device_id
            assert {event["device_id"] for event in seen} == {mac}
            kinds = [event["type"] for event in seen]
            assert kinds[0] == "session.opened"
            order = ["transcript", "turn.started", "tool.started", "tool.ended", "speech.started"]
            assert [kind for kind in kinds if kind in order] == order
            by_type = {event["type"]: event for event in seen}
            assert by_type["transcript"]["text"] == "set the volume to thirty percent"
            assert by_type["tool.started"]["tool"].endswith("set_volume")
            assert '"volume"' in by_type["tool.started"]["arguments"]
            assert by_type["tool.ended"]["success"] is True
            assert by_type["speech.played"]["text"] == reply.text
            assert by_type["turn.ended"]["outcome"] == "answered"
            assert "first_frame" in by_type["turn.ended"]["stages"]
            same = await watched.until_type("turn.ended")
            assert [event["type"] for event in same] == kinds
            assert not any(word in event for event in same for word in WORDS)
        await until(lambda: not len(api.server.app.host.sessions), what="the end")


async def test_who_comes_back_has_missed_nothing(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        url, token = api.server.http_url, await api.token(Scope.DEVICES_READ)
        async with SimulatedDevice(api.server.device(mode="manual")) as device:
            async with streaming(api.http, url, token, types="turn") as first:
                await device.type_text("hello")
                whole = await first.until_type("turn.started")
                known = first.id
                whole += await first.until_type("turn.ended")
            await device.type_text("hello again")
            async with streaming(api.http, url, token, after=known, types="turn") as again:
                await again.until(lambda event: event["type"] == "turn.ended" and event["turn"] > 1)
                assert again.events[0] == whole[1]
                kinds = [event["type"] for event in again.events]
                assert kinds == ["turn.ended", "turn.started", "turn.ended"]
        async with streaming(api.http, url, token, after="cafe:17.changes:0") as stranger:
            assert (await stranger.until_type("missed"))[0] == {"type": "missed"}


async def test_changes_are_seen_by_those_whom_they_concern(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        url = api.server.http_url
        admin, keeper = await api.token(Scope.ADMIN), await api.token(Scope.DEVICES_READ)
        change = await api.client(Scope.DEVICES_WRITE, Scope.PROFILES)
        async with (
            streaming(api.http, url, admin) as audit,
            streaming(api.http, url, keeper) as devices,
        ):
            made = await change("PUT", "/profiles/kitchen", {"content": {"language": "en"}})
            assert made.status == 200, made.body
            added = await change("POST", "/devices", {"id": "02:00:00:00:00:09", "name": "hall"})
            assert added.status < 300, added.body
            seen = await audit.until(lambda event: event.get("about") == "device")
            assert [event["about"] for event in seen] == ["profile", "device"]
            assert seen[1]["key"] == seen[1]["device_id"] == "02:00:00:00:00:09"
            assert seen[1]["actor"] == "api:test"
            (only,) = await devices.until_type("changed")
            assert only == {key: seen[1][key] for key in only}
            assert "actor" not in only
            assert "detail" not in only


async def test_changes_of_tokens_are_seen_at_once(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        token, admin = await api.token(Scope.ADMIN), await api.client(Scope.ADMIN)
        async with streaming(api.http, api.server.http_url, token, types="changed") as audit:
            made = await admin("POST", "/tokens", {"name": "wall", "scopes": ["devices:read"]})
            gone = await admin("DELETE", f"/tokens/{made.body['id']}")
            assert (made.status, gone.status) == (201, 204)
            seen = await audit.until(lambda event: event["action"] == "revoked")
            assert [(each["about"], each["action"]) for each in seen] == [
                ("api-token", "created"),
                ("api-token", "revoked"),
            ]
            assert {each["key"] for each in seen} == {made.body["id"]}


async def test_a_revoked_token_ends_its_stream(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        url = api.server.http_url
        admin = await api.client(Scope.ADMIN)
        made = await admin("POST", "/tokens", {"name": "wall", "scopes": ["devices:read"]})
        assert made.status == 201, made.body
        async with streaming(api.http, url, made.body["token"]) as stream:
            gone = await admin("DELETE", f"/tokens/{made.body['id']}")
            assert gone.status < 300, gone.body
            assert await stream.rest() == []


async def test_the_end_of_the_server_does_not_wait_for_streams(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        token = await api.token(Scope.ADMIN)
        async with streaming(api.http, api.server.http_url, token) as stream:
            stopping = asyncio.create_task(api.server.app.stop())
            await stream.rest()
            await stopping


async def test_what_is_refused(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        url = api.server.http_url
        nobody, blind = await api.client(), await api.client(Scope.CONTROL)
        assert (await nobody("GET", "/events")).status == 401
        assert (await blind("GET", "/events")).status == 403
        call = await api.client(Scope.DEVICES_READ)
        for path in ("?types=Turn", "?types=a,,b", "?after=x", "?after=a:1;b:2"):
            assert (await call("GET", f"/events{path}")).status == 422, path
        headers = {"Last-Event-ID": "\u00e9"}
        assert (await call("GET", "/events", headers=headers)).status == 422
        assert (await call("GET", "/events?device=attic")).status == 404
        open_ones = [streaming(api.http, url, call.token) for _ in range(MAX_STREAMS)]
        streams: list[EventStream] = [await each.__aenter__() for each in open_ones]
        answer = await call("GET", "/events")
        assert answer.status == 429
        assert int(answer.headers["Retry-After"]) > 0
        streams[0].answer.close()
        await until(lambda: api.server.app.feed.watches < MAX_STREAMS, what="a place")
        async with streaming(api.http, url, call.token):
            pass
        for each in open_ones[1:]:
            await each.__aexit__(None, None, None)


async def test_of_one_device(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as api,
        SimulatedDevice(api.server.device(mode="manual")) as one,
        SimulatedDevice(api.server.device(mode="manual")) as other,
    ):
        token, mac = await api.token(Scope.DEVICES_READ), one.config.device_id
        assert mac != other.config.device_id
        async with streaming(api.http, api.server.http_url, token, device=mac) as stream:
            await other.type_text("hello")
            await one.type_text("hello")
            seen = await stream.until_type("turn.ended")
            assert {event["device_id"] for event in seen} == {mac}


def is_number(number: int, event: Event) -> bool:
    return bool(event.get("number") == number)


@asynccontextmanager
async def slow_reader(api: ApiServer) -> AsyncIterator[asyncio.StreamReader]:
    """Open a stream of which nothing is read unless the test does."""
    token, feed = await api.token(Scope.DEVICES_READ), api.server.app.feed
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)  # less than the kernel likes
    slow.connect(("127.0.0.1", int(api.server.http_url.rpartition(":")[2])))
    reader, writer = await asyncio.open_connection(sock=slow, limit=16_384)
    head = f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}"
    writer.write(f"{head}\r\n\r\n".encode())
    assert b"200" in await reader.readline()
    await until(lambda: feed.watches == 1, what="the slow one")
    yield reader
    writer.close()


async def test_a_slow_reader_costs_nobody_else_anything(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api, slow_reader(api) as reader:
        token, feed = await api.token(Scope.DEVICES_READ), api.server.app.feed
        async with streaming(api.http, api.server.http_url, token) as quick:
            for number in range(10_000):
                feed.tell("", Content("noise", {"number": number, "words": NOISE}))
                if not number % 100:
                    await quick.until(partial(is_number, number))
            assert [event["number"] for event in quick.events] == list(range(9_901))
        kinds: list[str] = []
        async with asyncio.timeout(60):
            while '"number":9999' not in (line := (await reader.readline()).decode()):
                if line.startswith("data: "):
                    kinds.append(json.loads(line[6:])["type"])
        assert kinds.count("missed") == 1, "it is told, and goes on with what is there"
        assert len(kinds) < 9_000


async def test_the_end_of_the_server_does_not_wait_for_a_slow_reader(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with api_server(tmp_path) as api, slow_reader(api):
        stuck = "http.limited.stalled"
        for number in range(10_000):
            api.server.app.feed.tell("", Content("noise", {"number": number, "words": NOISE}))
            if not number % 100:
                await asyncio.sleep(0)
        await api.server.app.stop()
        assert not api.server.app.counters.get(stuck)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_streams_that_are_asked_for_at_once_count_at_once(tmp_path: Path) -> None:
    """One token takes its own places alone, however it asks."""
    async with api_server(tmp_path) as api:
        token = await api.token(Scope.DEVICES_READ)
        url, headers = f"{api.server.http_url}/api/v1/events", {"Authorization": f"Bearer {token}"}
        answers = await asyncio.gather(*(api.http.get(url, headers=headers) for _ in range(40)))
        statuses = sorted(answer.status for answer in answers)
        assert statuses == [200] * MAX_STREAMS + [429] * (40 - MAX_STREAMS)
        other = await api.token(Scope.DEVICES_READ)
        async with streaming(api.http, api.server.http_url, other):
            pass
        for answer in answers:
            answer.close()
