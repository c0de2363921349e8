"""Requests before the upgrade, over real sockets."""

from __future__ import annotations

import asyncio

import pytest
from websockets.asyncio.client import connect
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Request

from tests.support.registry import device_tokens, memory_registry
from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import Server, running
from vixio.transports.xiaozhi.websocket.request import read_field, read_identity

AUTH = device_tokens()


async def status(server: Server, url: str, **headers: str) -> tuple[int, str]:
    """Return status and body of a refused upgrade; 101 if it was not refused."""
    try:
        async with connect(
            url, additional_headers={name.replace("_", "-"): v for name, v in headers.items()}
        ):
            return 101, ""
    except InvalidStatus as refused:
        body = refused.response.body
        return refused.response.status_code, body.decode() if body else ""


async def plain_get(server: Server, path: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    async with asyncio.timeout(30):
        answer = (await reader.read()).decode()
    writer.close()
    return answer


async def test_an_identity_stands_in_headers_or_in_the_query() -> None:
    async with running() as server:
        assert (await status(server, server.url(), Device_Id="aa"))[0] == 101
        assert (await status(server, server.url("?device-id=aa&client-id=c")))[0] == 101
        assert (await status(server, server.url("?Device-Id=aa")))[0] == 101
        assert (await status(server, server.url("?device-id=aa", "/xiaozhi/v1")))[0] == 101


async def test_a_request_without_an_identity_is_refused_with_a_reason() -> None:
    async with running() as server:
        code, body = await status(server, server.url())
        assert code == 400
        assert "Device-Id" in body
        assert server.counters.get("admission.refused.no_device_id") == 1
        assert (await status(server, server.url(), Device_Id="x" * 200))[0] == 400
        assert (await status(server, server.url("?device-id=a%0Ab")))[0] == 400
        assert server.counters.get("admission.refused.bad_device_id") == 2


async def test_other_paths_and_plain_requests_get_a_hint() -> None:
    async with running() as server:
        code, body = await status(server, server.url(path="/"), Device_Id="aa")
        assert code == 404
        assert "/xiaozhi/v1/" in body
        page = await plain_get(server, "/xiaozhi/v1/")
        assert page.startswith("HTTP/1.1 426 ")
        assert "Upgrade: websocket" in page
        assert "/xiaozhi/ota/" in page
        assert (await plain_get(server, "/")).startswith("HTTP/1.1 404 ")


async def test_a_broken_request_is_counted_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as server:
        for garbage in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"POST / HTTP/1.1\r\nHost: h\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.transport.port)
            writer.write(garbage)
            await asyncio.wait_for(reader.read(), 30)
            writer.close()
        await until(lambda: server.counters.get("xiaozhi.refused.handshake") == 2)
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_token_is_checked_before_the_upgrade() -> None:
    token = AUTH.issue("aa", "c").text
    expired = device_tokens(1, clock=lambda: 0.0).issue("aa", "c").text
    async with running(access=memory_registry(tokens=AUTH)) as server:
        url = server.url()
        for value in (f"Bearer {token}", token, f"bearer  {token}"):
            headers = {"Device_Id": "aa", "Client_Id": "c", "Authorization": value}
            assert (await status(server, url, **headers))[0] == 101
        query = server.url(f"?device-id=aa&client-id=c&authorization=Bearer%20{token}")
        assert (await status(server, query))[0] == 101

        said: set[tuple[int, str]] = set()
        for value in ("", "Bearer nonsense", f"Bearer {expired}", f"Basic {token}"):
            headers = {"Device_Id": "aa", "Client_Id": "c", "Authorization": value}
            said.add(await status(server, url, **headers))
        said.add(await status(server, url, Device_Id="bb", Client_Id="c", Authorization=token))
        # The client gets the same answer to all; the counters differ.
        assert {code for code, _ in said} == {401}
        assert len(said) == 1
        counted = {
            name.rpartition(".")[2]: number
            for name, number in server.counters.snapshot().items()
            if name.startswith("admission.refused.token")
        }
        assert counted == {"token_missing": 2, "token_wrong": 2, "token_expired": 1}


async def test_every_spelling_of_an_id_is_the_same_device() -> None:
    mac = "aa:bb:cc:dd:ee:0f"
    async with running() as server, server.client("AA-BB-CC-DD-EE-0F") as older:
        session = await server.session()
        assert session.connection.device.id == mac
        assert session.connection.device.sent_id == "AA-BB-CC-DD-EE-0F"
        async with server.client(mac):
            await older.wait_closed()
            assert older.close_code == 4001, "the newer connection replaces the older one"
            again = await server.session()
            assert (again.connection.device.id, again.connection.device.sent_id) == (mac, "")
            assert server.admission.is_connected(mac)


@pytest.mark.parametrize("issued_for", ["kitchen", "Kitchen"])
async def test_a_token_is_valid_for_every_spelling(issued_for: str) -> None:
    """Also one that was issued before ids were normalised."""
    token = AUTH.issue(issued_for, "c").text
    async with running(access=memory_registry(tokens=AUTH)) as server:
        headers = {"Client_Id": "c", "Authorization": token}
        assert (await status(server, server.url(), Device_Id="Kitchen", **headers))[0] == 101
        assert (await status(server, server.url(), Device_Id="Kitchens", **headers))[0] == 401


async def test_a_full_server_admits_a_connected_device_again() -> None:
    async with running(max_connections=2) as server, server.client("a") as first:
        async with server.client("b"):
            code, body = await status(server, server.url(), Device_Id="c")
            assert code == 503
            assert "2 connections" in body
            assert server.counters.get("admission.refused.full") == 1
            async with server.client("a"):  # the same device again: it replaces itself
                await first.wait_closed()
                assert first.close_code == 4001
        await until(lambda: server.transport.stats()["connected"] == 0)
        async with server.client("c"), server.client("d"):
            stats = server.transport.stats()
            assert (stats["connected"], stats["max_connections"]) == (2, 2)


def request(path: str = "/xiaozhi/v1/", **headers: str) -> Request:
    return Request(path, Headers({"Upgrade": "websocket", **headers}))


@pytest.mark.parametrize("query", ["?a=b&&=&%ff=%zz", "?" + "a=1&" * 1000, "?device-id=%FF"])
def test_no_query_breaks_the_reading(query: str) -> None:
    identity = read_identity(request("/xiaozhi/v1/" + query))
    assert identity.token == ""


def test_a_header_goes_before_the_query_and_may_be_doubled() -> None:
    doubled = request("/xiaozhi/v1/?device-id=query&protocol-version=3")
    doubled.headers["Device-Id"] = "one"
    doubled.headers["Device-Id"] = "two"
    identity = read_identity(doubled)
    assert identity.device_id == "one"
    assert read_field(doubled, "Protocol-Version") == "3"
