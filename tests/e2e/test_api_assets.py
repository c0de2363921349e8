"""Where a device fetches its assets from, set over the API."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.test_upgrade_now import CARRIERS, connected
from vixio.web.api.scopes import Scope

SET = "self.assets.set_download_url"
URL = "https://user.example.org:8443/a/assets.bin?signature=x%20y"


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_the_address_is_kept_by_the_device(tmp_path: Path, carrier: str) -> None:
    async with connected(tmp_path, carrier) as (api, device):
        admin = await api.client(Scope.ADMIN)
        path = f"/devices/{device.config.device_id}/assets"
        assert (await admin("POST", path, {"url": URL})).status == 204
        assert device.hardware.assets_url == URL
        (entry,) = [
            each
            for each in (await admin("GET", "/audit")).body["changes"]
            if each["action"] == "assets set"
        ]
        assert entry["detail"] == {"host": "user.example.org:8443"}, "no more than the host"
        for wrong in (
            "ftp://example.org/a", "example.org", "", "http://", "http://a b/", "http://u:p@h/",
            "http://h/a b", "http://h/" + "x" * 1_000,
        ):  # fmt: skip
            assert (await admin("POST", path, {"url": wrong})).status == 422, wrong
        control = await api.client(Scope.CONTROL)
        assert (await control("POST", path, {"url": URL})).status == 403
        device.remove_tool(SET, notify=False)
        assert (await admin("POST", path, {"url": URL})).status == 404
        assert device.hardware.assets_url == URL
