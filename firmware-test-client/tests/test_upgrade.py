"""Firmware upgrades: download, refusal, restart."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import threading
from typing import Any

import pytest
from ota_server import Answer, OtaServer, answer
from scripted_server import ScriptedServer

from firmware_test_client import OtaError, SimulatedDevice
from firmware_test_client.image import firmware_image, merged_binary

NEW = firmware_image("2.1.0", size=50_000)


def offering(url: str, server: str = "ws://127.0.0.1:1/", **more: object) -> Answer:
    return answer(server, firmware={"version": "2.1.0", "url": url} | more)


async def test_a_newer_firmware_is_installed_and_started(
    ota: OtaServer, server: ScriptedServer
) -> None:
    url = ota.offer(NEW, "/firmware/f.bin?signature=abc")
    ota.answers = [offering(url, server.url)] * 3
    config = ota.config(mode="manual")
    async with SimulatedDevice(config) as device:
        assert device.boots == ["2.0.3", "2.1.0"]
        assert device.firmware_version == device.mcp.version == "2.1.0"
        upgrade = device.upgrades[0]
        assert upgrade.error is None
        assert (upgrade.received, upgrade.size, upgrade.progress) == (50_000, 50_000, 100)
        assert device.screen[:2] == [
            "alert: OTA Upgrade: System is upgrading... (download)",
            "New version 2.1.0",
        ]
        assert device.screen[-1] == "Upgrade successful, rebooting..."
        assert [line for line in device.screen if line.startswith("100% ")]
    path, headers = ota.downloads[0]
    assert path == "/firmware/f.bin?signature=abc"
    assert set(headers) == {"host", "connection"}
    _, headers, body = ota.requests[1]
    assert headers["user-agent"] == "simulated-board/2.1.0"
    assert upgrade.app is not None
    assert body["application"]["version"] == "2.1.0"
    assert body["application"]["elf_sha256"] == upgrade.app.elf_sha256
    assert body["ota"] == {"label": "ota_1"}
    assert config.flash.state == "valid"
    later = SimulatedDevice(dataclasses.replace(config))  # the same device is switched on again
    await later.boot()
    await later.close()
    assert later.boots == ["2.1.0"]
    assert len(ota.downloads) == 1


@pytest.mark.parametrize(
    ("content", "options", "complaint"),
    [
        (NEW, {"status": 403}, "Failed to get firmware, status code: 403"),
        (NEW, {"status": 206}, "status code: 206"),
        (NEW, {"status": 302}, "status code: 302"),
        (NEW, {"how": "chunked"}, "Failed to get content length"),
        (NEW, {"how": "neither"}, "Failed to get content length"),
        (b"", {}, "Failed to get content length"),
        (NEW, {"cut": 10_000}, "closed after 40000 of 50000 bytes"),
        (b"<html>" * 100, {}, r"invalid magic byte \(expected 0xE9, saw 0x3c\)"),
        (NEW[:100], {}, "100 bytes are no image"),
        (NEW[:40_000], {}, "image is corrupted: the image ends"),
        (merged_binary(NEW), {}, "no app descriptor.*merged binary"),
        (firmware_image("2.1.0", chip="esp32c3"), {}, "chip id 5, this device has 9"),
        (firmware_image("2.1.0", size=0x3F1000), {}, "larger than the slot"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_failed_upgrade_leaves_the_old_firmware(
    ota: OtaServer, content: bytes, options: dict[str, Any], complaint: str
) -> None:
    ota.answers = [offering(ota.offer(content, **options))]
    device = SimulatedDevice(ota.config())
    await device.boot()
    await device.close()
    assert re.search(complaint, device.upgrades[0].error or "")
    assert device.boots == ["2.0.3"]
    assert device.firmware_version == "2.0.3"
    assert device.state == "idle"
    assert device.screen[-1] == "alert: Error: Upgrade failed (cancel)"


async def test_an_unreachable_file(ota: OtaServer) -> None:
    ota.answers = [offering("http://127.0.0.1:9/f.bin")]
    device = SimulatedDevice(ota.config())
    await device.boot()
    await device.close()
    assert (device.upgrades[0].error or "").startswith("Failed to read HTTP data: cannot reach")


async def test_progress_can_be_watched(ota: OtaServer) -> None:
    go_on = threading.Event()
    ota.answers = [offering(ota.offer(NEW, hold=go_on)), answer()]
    device = SimulatedDevice(ota.config())
    starting = asyncio.create_task(device.boot())
    await device.wait_for(
        lambda: device.upgrades and device.upgrades[0].progress >= 40, what="half of it"
    )
    assert device.state == "upgrading"
    assert not device.upgrades[0].ended
    go_on.set()
    assert (await device.wait_for_upgrade()).error is None
    await starting
    await device.close()


async def test_a_download_can_be_cancelled(ota: OtaServer) -> None:
    go_on = threading.Event()
    ota.answers = [offering(ota.offer(NEW, hold=go_on))]
    device = SimulatedDevice(ota.config())
    starting = asyncio.create_task(device.boot())
    await device.wait_for(lambda: device.upgrades and device.upgrades[0].received, what="a page")
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await device.close()
    go_on.set()
    assert device.config.flash.app is None


async def test_force_installs_the_same_version_at_every_second_start(ota: OtaServer) -> None:
    """The new firmware cannot install another one before it has confirmed itself."""
    url = ota.offer(firmware_image("2.0.3"))
    ota.answers = [offering(url, version="2.0.3", force=1)] * 4
    device = SimulatedDevice(ota.config())
    await device.boot()
    assert len(device.boots) == 2
    assert device.upgrades[0].error is None
    assert "running firmware is not confirmed" in (device.upgrades[1].error or "")
    await device.boot()
    assert len(device.upgrades) == 4
    await device.close()


async def test_force_loops_without_rollback(ota: OtaServer) -> None:
    ota.answers = [offering(ota.offer(NEW), force=1)] * 4
    device = SimulatedDevice(ota.config(rollback=False, max_boots=4))
    with pytest.raises(OtaError, match="installed a firmware 4 times in a row"):
        await device.boot()
    assert device.boots == ["2.0.3", "2.1.0", "2.1.0", "2.1.0"]


async def test_a_firmware_that_never_confirms_itself_is_rolled_back(ota: OtaServer) -> None:
    ota.answers = [offering(ota.offer(NEW)), (503, ""), answer()]
    config = ota.config()
    first = SimulatedDevice(config)
    with pytest.raises(OtaError, match="HTTP 503"):
        await first.boot()
    assert first.boots == ["2.0.3", "2.1.0"]
    second = SimulatedDevice(config)
    await second.boot()
    assert second.boots == ["2.0.3"]


async def test_the_tool_upgrades_and_restarts(ota: OtaServer, server: ScriptedServer) -> None:
    ota.answers = [answer(server.url)] * 2
    async with SimulatedDevice(ota.config(mode="manual")) as device:
        arguments = {"url": ota.offer(NEW)}
        params = {"name": "self.upgrade_firmware", "arguments": arguments}
        result = await server.talk.request(1, "tools/call", params)
        assert result["result"]["content"][0]["text"] == "true"
        assert (await device.wait_for_upgrade()).app is not None
        await device.wait_for_boot(2)
        assert device.boots == ["2.0.3", "2.1.0"]
        assert not device.connected
        assert device.state == "idle"
        assert "New version (Manual upgrade)" in device.screen
        await device.connect()
        result = await server.talk.request(1, "initialize")
        assert result["result"]["serverInfo"]["version"] == "2.1.0"


async def test_a_tool_upgrade_that_fails(ota: OtaServer, server: ScriptedServer) -> None:
    ota.answers = [answer(server.url)]
    async with SimulatedDevice(ota.config(mode="manual")) as device:
        params = {"name": "self.upgrade_firmware", "arguments": {"url": ota.offer(NEW, status=404)}}
        await server.talk.request(1, "tools/call", params)
        assert (await device.wait_for_upgrade()).error is not None
        await device.wait_for_state("idle")
        await device.connect()
        assert device.boots == ["2.0.3"]


async def test_a_reboot_asks_for_the_configuration_again(
    ota: OtaServer, server: ScriptedServer
) -> None:
    ota.answers = [answer(server.url), offering(ota.offer(NEW), server.url), answer(server.url)]
    async with SimulatedDevice(ota.config(mode="manual")) as device:
        await server.talk.send({"type": "system", "command": "reboot"})
        await device.wait_for_boot(3)
        assert device.boots == ["2.0.3", "2.0.3", "2.1.0"]
        assert device.state == "idle"
        assert not device.connected


async def test_a_restart_that_fails_is_reported(ota: OtaServer, server: ScriptedServer) -> None:
    ota.answers = [answer(server.url), (403, "")]
    async with SimulatedDevice(ota.config(mode="manual")) as device:
        await server.talk.send({"type": "system", "command": "reboot"})
        with pytest.raises(OtaError, match="HTTP 403"):
            await device.wait_for_boot(2)
