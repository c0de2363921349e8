"""Users' tool servers at access points: they come, serve their own profile or device, and go."""

from __future__ import annotations

import asyncio
import json
import logging
import urllib.error
import urllib.request
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.e2e.access import BOUND_S, HALL, KITCHEN, Listener, address, quiet
from tests.e2e.harness import RunningServer, settings
from tests.support.access_server import WebSocketServer, piped, said, server_at, tool
from tests.support.waiting import until
from tests.unit.tools.mcp.servers import SCRIPT
from vixio.core.tools.source import Scope
from vixio.web.access import link, points
from vixio.web.access import server as access_server


async def refused(url: str) -> int:
    try:
        async with connect(url):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


async def closed(server: WebSocketServer) -> tuple[int | None, str | None]:
    async with asyncio.timeout(BOUND_S):
        await server.client.wait_closed()
    return server.client.close_code, server.client.close_reason


async def test_tools_appear_are_called_change_and_go() -> None:
    async with quiet() as server:
        mine, other = Listener(server), Listener(server, "hall", "y")
        url = await address(server, KITCHEN)
        async with server_at(url, "My lamps", tool("on", where="string")) as lamps:
            await mine.sees("on")
            result = await mine.call("on", '{"where": "hall"}')
            assert json.loads(result.result or "") == {"where": "hall"}
            assert lamps.seen[0]["method"] == "initialize", "as programs for other servers expect"
            await lamps.change(tool("on"), tool("off"))
            await mine.sees("on", "off")
            (found,) = server.app.access.servers(KITCHEN)
            assert found.name == "profile/My-lamps"
            assert (other.names(), server.app.access.servers(HALL)) == ([], [])
        await mine.sees()
        assert server.count("access.connected") == 1
        assert server.count("tool.profile.calls") == 1


async def test_a_device_has_an_address_of_its_own_and_so_has_a_profile() -> None:
    device = "02:00:00:00:00:01"
    async with quiet() as server:
        await server.app.registry.with_repository(lambda each: each.add(device, "me"))
        mine = Listener(server, device=device)
        other = Listener(server)
        of_device = await address(server, Scope(device=device))
        of_profile = await address(server, KITCHEN)
        async with (
            server_at(of_device, "a", tool("own")),
            server_at(of_profile, "a", tool("shared")),
        ):
            await until(lambda: sorted(mine.names()) == ["own", "shared"], seconds=BOUND_S)
            await other.sees("shared")


async def test_revoked_the_connections_close_at_once_and_the_address_is_dead() -> None:
    async with quiet() as server:
        mine = Listener(server)
        url = await address(server, KITCHEN)
        async with server_at(url, "a", tool("on")) as lamps, server_at(url, "b", tool("off")) as b:
            await until(lambda: sorted(mine.names()) == ["off", "on"], seconds=BOUND_S)
            await server.app.registry.with_repository(
                lambda each: each.access_points.revoke(KITCHEN, "me")
            )
            assert await closed(lamps) == (1008, "this address is not valid any more")
            assert (await closed(b))[0] == 1008
            await mine.sees()
        assert await refused(url) == 401
        newer = await address(server, KITCHEN)
        async with server_at(newer, "a", tool("on")) as lamps:
            await mine.sees("on")
            await server.app.registry.with_repository(
                lambda each: each.profiles.remove("kitchen", "me")
            )
            assert (await closed(lamps))[0] == 1008, "gone with its profile"
        assert await refused(newer) == 401


async def test_the_mcp_packages_own_server_behind_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_server, "HANDSHAKE_S", 120.0)  # on a busy machine
    async with quiet() as server:
        mine = Listener(server)
        url = await address(server, KITCHEN, "/mcp_endpoint/mcp/")
        async with piped(url, str(SCRIPT), "stdio") as process:
            await until(lambda: "echo" in mine.names(), what="its tools", seconds=120)
            assert (await mine.call("echo", '{"text": "你好"}')).result == "你好"
            assert (await mine.call("mixed")).images
            failed = await mine.call("fail")
            assert (failed.success, failed.error_type) == (False, "failed")
            assert (await mine.call("grow", '{"name": "later"}')).result == "grown"
            await until(lambda: "later" in mine.names(), what="the new tool", seconds=BOUND_S)
            process.kill()  # the pipe stays: only calls show that nothing is behind it
        await mine.sees()


async def test_two_servers_of_one_name_are_told_apart() -> None:
    async with quiet() as server:
        mine = Listener(server)
        url = await address(server, KITCHEN)

        def saying(each: WebSocketServer, words: str) -> None:
            async def answer(params: dict[str, Any]) -> dict[str, Any]:
                return said(words)

            each.answer = answer

        async with server_at(url, "lamp", tool("on")) as first:
            saying(first, "one")
            await mine.sees("on")
            async with server_at(url, "lamp", tool("on")) as second:
                saying(second, "two")
                await mine.sees("on", "profile_lamp-2_on")
                assert (await mine.call("on")).result == "one"
                assert (await mine.call("profile_lamp-2_on")).result == "two"
            await mine.sees("on")


async def test_wrong_tokens_are_refused_and_limited_and_right_ones_are_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(points, "WRONG_PER_MIN", 3.0)
    caplog.set_level(logging.DEBUG)
    async with quiet() as server:
        url = await address(server, KITCHEN)
        base = url.partition("?")[0]
        tried = [await refused(each) for each in (base, f"{base}?token=", f"{url}x", f"{url}y")]
        assert tried == [401, 401, 401, 429]
        assert server.count("access.refused.token") == 3
        assert server.count("access.limited.wrong_tokens") == 1
        async with server_at(url, "a", tool("on")):
            await Listener(server).sees("on")
        plain = urllib.request.Request(base.replace("ws", "http", 1))  # noqa: S310 - the test's own server
        with pytest.raises(urllib.error.HTTPError) as found:
            await asyncio.to_thread(urllib.request.urlopen, plain)
        assert found.value.code == 426
        found.value.close()
        token = url.partition("token=")[2]
    ours = [each for each in caplog.records if each.name.startswith("vixio")]
    assert "connection refused" in {each.message for each in ours}
    assert token not in repr([each.__dict__ for each in ours])


async def test_what_is_no_message_is_answered_counted_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(link, "MALFORMED_PER_MIN", 6)
    async with quiet() as server:
        mine = Listener(server)
        async with server_at(await address(server, KITCHEN), "a", tool("on")) as lamps:
            await mine.sees("on")
            told = len(lamps.seen)
            wrong = ["INFO: started", "[]", '{"id": 5}', "[" * 9_000, '{"jsonrpc":"2.0","id":[]}']
            for each in wrong:
                await lamps.send(each)
            await until(lambda: len(lamps.seen) == told + 5, what="refusals", seconds=BOUND_S)
            errors = [each["error"]["code"] for each in lamps.seen[told:]]
            assert errors == [-32700, -32600, -32600, -32700, -32600]
            # What answers our refusal is not answered again.
            await lamps.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}})
            assert (await mine.call("on")).success, "it works on"
            assert len(lamps.seen) == told + 6
            await lamps.send("x")
            await lamps.send("x")
            assert await closed(lamps) == (1008, "too many malformed messages")
        assert server.count("access.malformed") == 7
        assert server.count("access.cut_malformed") == 1
    lines = [each for each in caplog.records if "malformed message" in each.message]
    assert {each.__dict__["reason"] for each in lines} >= {"this is no JSON"}


@pytest.mark.parametrize("what", ["large", "many"])
async def test_a_server_that_floods_is_cut_off(what: str) -> None:
    async with quiet() as server:
        mine, other = Listener(server), Listener(server, "hall", "y")
        url = await address(server, KITCHEN)
        async with (
            server_at(url, "a", tool("on")) as bad,
            server_at(await address(server, HALL), "b", tool("off")),
        ):
            await mine.sees("on")
            await other.sees("off")
            note = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            if what == "large":
                await bad.send(json.dumps({**note, "params": {"x": "y" * link.MAX_MESSAGE_BYTES}}))
                assert (await closed(bad))[0] == 1009
            else:
                for _ in range(400):
                    await bad.send(note)
                assert await closed(bad) == (1008, "too many messages")
            await mine.sees()
            assert (await other.call("off")).success
        assert server.count("access.too_large" if what == "large" else "access.cut_flood") == 1


async def test_a_call_that_hangs_costs_itself_and_too_many_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access_server, "CALL_S", 0.3)
    monkeypatch.setattr(access_server, "MAX_CALLS", 2)
    async with quiet() as server:
        mine = Listener(server)
        async with server_at(await address(server, KITCHEN), "a", tool("on")) as lamps:

            async def hang(params: dict[str, Any]) -> None:
                return None

            lamps.answer = hang
            await mine.sees("on")
            three = await asyncio.gather(*(mine.call("on") for _ in range(3)))
            assert sorted(each.error_type for each in three) == ["busy", "timeout", "timeout"]
            lamps.answer = lamps._said
            assert (await mine.call("on")).success


async def test_a_server_that_does_not_begin_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_server, "HANDSHAKE_S", 0.3)
    async with quiet() as server:
        url = await address(server, KITCHEN)
        async with server_at(url, "a", tool("on"), silent=["initialize"]) as lamps:
            assert (await closed(lamps))[1] == "no answer within 0.3 s"
        async with server_at(url, "a", tool("on"), silent=["tools/list"]) as lamps:
            assert (await closed(lamps))[0] == 1000
        assert server.count("access.connected") == 0


async def test_lists_and_answers_are_bounded() -> None:
    async with quiet() as server:
        mine = Listener(server)
        url = await address(server, KITCHEN)
        many = [tool(f"t{number}", "words " * 600) for number in range(100)]
        async with server_at(url, "a", *many) as lamps:
            await until(mine.names, what="tools", seconds=BOUND_S)
            assert 40 < len(mine.names()) < 64, "as many as fit"
            descriptions = [each.description for each in mine.tools.toolset.definitions()]
            assert max(map(len, descriptions)) == 2_000

            async def long(params: dict[str, Any]) -> dict[str, Any]:
                return {"content": [{"type": "text", "text": "ab"}] * 5_000}

            lamps.answer = long
            result = await mine.call("t0")
            assert len(result.result or "") < 300
            await lamps.change(tool("x" * 300), tool(""), tool("fit"), tool("fit"))
            await mine.sees("fit")


async def test_sixteen_servers_fit_at_one_address() -> None:
    async with quiet() as server:
        url = await address(server, KITCHEN)
        clients = [await connect(url) for _ in range(points.MAX_AT_ONE)]
        assert await refused(url) == 503
        await clients[0].close()
        await until(lambda: not server.app.access._connected.get("x"), seconds=1)
        async with asyncio.timeout(BOUND_S):
            while await refused(url) == 503:
                pass
        for client in clients:
            await client.close()


async def test_a_thousand_reconnects_leave_nothing() -> None:
    config = settings(server={"limits": {"connects_per_address": 0}})
    async with quiet(config) as server:
        mine = Listener(server)
        url = await address(server, KITCHEN)
        for number in range(1_000):
            async with server_at(url, "lamp", tool("on")):
                if number % 100 == 0:
                    await mine.sees("on")
        await mine.sees()
        app: Any = server.app
        await until(lambda: not app.access._links, what="the end of all links", seconds=BOUND_S)
        assert not app.access._servers
        assert not app.access._connected
        assert not [key for key in app.tools._guarded if "lamp" in key]
        assert not [key for key in mine.tools.toolset._sources if "lamp" in key]
        assert not [name for name in app.tools.counters.snapshot() if "lamp" in name]
        await until(lambda: len(app.access._tasks) == 0, what="the end of tasks", seconds=BOUND_S)


async def test_servers_go_with_the_server() -> None:
    async with quiet() as running:
        server: RunningServer = running
        client = await connect(await address(server, KITCHEN))
    async with asyncio.timeout(BOUND_S):
        await client.wait_closed()
    assert (client.close_code, client.close_reason) == (1001, "the server is stopping")
