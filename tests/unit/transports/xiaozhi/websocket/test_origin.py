"""Which web pages may open the device's WebSocket."""

from __future__ import annotations

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.unit.transports.xiaozhi.support import Server, running
from vixio.core.errors import ConfigError
from vixio.transports.admission.origin import OriginPolicy

PAGE = "https://page.example"


async def status(
    server: Server, origin: str | None, host: str = "", **headers: str
) -> tuple[int, str]:
    """Return status and body of an upgrade with this origin; 101 if it was not refused.

    ``host``: the name under which the server is called; empty: its address.
    """
    sent = {"Device-Id": "aa", **{name.replace("_", "-"): v for name, v in headers.items()}}
    if origin is not None:
        sent["Origin"] = origin
    try:
        port = server.transport.port
        url = server.url().replace(f"127.0.0.1:{port}", host or f"127.0.0.1:{port}")
        async with connect(url, additional_headers=sent, host="127.0.0.1", port=port):
            return 101, ""
    except InvalidStatus as refused:
        body = refused.response.body
        return refused.response.status_code, body.decode() if body else ""


async def test_a_page_of_another_origin_is_refused() -> None:
    async with running() as server:
        code, body = await status(server, PAGE)
        assert code == 403
        assert "server.allowed_origins" in body
        assert (await status(server, "null"))[0] == 403
        assert server.counters.get("xiaozhi.refused.origin") == 2
        assert server.counters.get("xiaozhi.connections") == 0


async def test_a_device_states_no_origin() -> None:
    async with running() as server:
        assert (await status(server, None))[0] == 101


async def test_the_servers_own_origin_is_let_in() -> None:
    """Client libraries state it without being asked."""
    async with running() as server:
        own = f"127.0.0.1:{server.transport.port}"
        assert (await status(server, f"http://{own}"))[0] == 101
        assert (await status(server, "http://127.0.0.1:1"))[0] == 403


async def test_behind_a_proxy_its_own_name_is_the_origin() -> None:
    forwarded = {"X_Forwarded_Host": "page.example"}
    async with running(hosts=("page.example",)) as server:  # loopback is trusted by default
        assert (await status(server, PAGE, **forwarded))[0] == 101
        assert (await status(server, "https://evil.example", **forwarded))[0] == 403
    async with running(trusted_proxies=()) as server:
        assert (await status(server, PAGE, **forwarded))[0] == 403


EVIL = "http://evil.example:8000"


async def test_a_name_that_was_made_to_resolve_to_the_server_is_not_its_own() -> None:
    async with running() as server:
        code, body = await status(server, EVIL, "evil.example:8000")
        assert code == 403
        assert "api.hosts" in body
        # A proxy that passes on what it gets adds nothing.
        proxied = {"X_Forwarded_Host": "evil.example:8000"}
        assert (await status(server, EVIL, "localhost", **proxied))[0] == 403
        assert server.counters.get("xiaozhi.refused.host") == 2
        assert server.counters.get("xiaozhi.refused.origin") == 0
        assert (await status(server, None, "evil.example:8000"))[0] == 101, "no page"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "voice.example"])
async def test_the_servers_names_are_let_in(host: str) -> None:
    async with running(hosts=("voice.example",)) as server:
        assert (await status(server, f"http://{host}", host))[0] == 101


async def test_a_listed_origin_needs_no_name() -> None:
    async with running(allowed_origins=(EVIL,)) as server:
        assert (await status(server, EVIL, "evil.example:8000"))[0] == 101


@pytest.mark.parametrize("allowed", [PAGE, "https://PAGE.example:443/"])
async def test_listed_origins_are_let_in(allowed: str) -> None:
    async with running(allowed_origins=(allowed,)) as server:
        assert (await status(server, PAGE))[0] == 101
        assert (await status(server, "http://page.example"))[0] == 403


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://h", "h", True),
        ("http://h", "h:80", True),
        ("https://h", "h:443", True),
        ("https://H:8000", "h:8000", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://h", "h:8000", False),
        ("https://h", "h:80", False),
        ("http://h.evil", "h", False),
        ("http://user@h", "h", False),
        ("http://h/path", "h", False),
        ("file://", "h", False),
        ("", "h", False),
        ("http://h:99999", "h", False),
    ],
)
def test_the_same_origin(origin: str, host: str, same: bool) -> None:
    assert OriginPolicy().allows([origin], [host]) == same


def test_every_stated_origin_counts() -> None:
    policy = OriginPolicy([PAGE])
    assert policy.allows([], ["h"])
    assert policy.allows([PAGE, PAGE], ["h"])
    assert not policy.allows([PAGE, "https://evil.example"], ["h"])


@pytest.mark.parametrize("wrong", ["page.example", "https://", "https://h/path", "ftp://h", "null"])
def test_what_is_no_origin_is_a_mistake_in_the_settings(wrong: str) -> None:
    with pytest.raises(ConfigError, match="allowed_origins"):
        OriginPolicy([wrong])
