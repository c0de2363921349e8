"""Access points over the HTTP API: made, shown once, seen with their servers, revoked."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.access import BOUND_S
from tests.e2e.api_client import api_server
from tests.support.access_server import server_at, tool
from tests.support.waiting import until
from vixio.web.api.scopes import Scope

DEVICE = "02:00:00:00:00:01"


async def test_made_shown_once_used_and_revoked(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.PROFILES)
        assert (await call("POST", "/profiles/kitchen/access-point")).status == 404
        await call("PUT", "/profiles/kitchen", {"content": {}})
        before = (await call("GET", "/profiles/kitchen/access-point")).body
        assert (before["exists"], before["servers"]) == (False, [])
        made = await call("POST", "/profiles/kitchen/access-point")
        assert made.status == 201
        url = made.body["url"]
        port = api.server.http_url.rpartition(":")[2]
        assert url.startswith(f"ws://127.0.0.1:{port}/mcp/?token=vixio_mcp_")
        assert made.body["url_of_others"] == url.replace("/mcp/", "/mcp_endpoint/mcp/")
        assert made.body["picture"].startswith("<?xml")
        async with server_at(url, "Lamps", tool("on", "Turn it on")):
            access = api.server.app.access
            await until(lambda: access._servers, what="the server", seconds=BOUND_S)
            shown = (await call("GET", "/profiles/kitchen/access-point")).body
            assert "url" not in shown
            assert shown["servers"] == [
                {"name": "profile/Lamps", "tools": [{"name": "on", "description": "Turn it on"}]}
            ]
            (listed,) = (await call("GET", "/access-points")).body["access_points"]
            assert listed == shown
            assert (await call("DELETE", "/profiles/kitchen/access-point")).status == 204
            await until(lambda: not access._servers, what="its end", seconds=BOUND_S)
        assert (await call("DELETE", "/profiles/kitchen/access-point")).status == 404
        admin = await api.client(Scope.ADMIN)
        audit = (await admin("GET", "/audit?limit=9")).body["changes"]
        found = [(each["action"], each["target"]) for each in audit if "access" in each["target"]]
        assert found == [
            ("access point made", "access:profile:kitchen"),
            ("access point revoked", "access:profile:kitchen"),
        ]
        assert url.partition("token=")[2] not in str(audit)


async def test_of_a_device_by_its_name_and_by_who_may(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        registry = api.server.app.registry
        await registry.with_repository(lambda each: each.add(DEVICE, "me"))
        await registry.with_repository(lambda each: each.rename(DEVICE, "Kitchen", "me"))
        reader, call = await api.client(Scope.DEVICES_READ), await api.client(Scope.DEVICES_WRITE)
        path = "/devices/kitchen/access-point"
        assert (await reader("POST", path)).status == 403
        assert (await call("POST", path)).body["device"] == DEVICE
        assert (await reader("GET", path)).body["exists"] is True
        assert (await call("DELETE", path)).status == 204
        assert (await call("GET", "/access-points")).status == 403
