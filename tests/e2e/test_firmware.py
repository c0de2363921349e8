"""Firmware updates of devices: the real server and commands, devices that install as real ones."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from firmware_test_client.flash import App, Flash
from firmware_test_client.image import firmware_image, merged_binary
from tests.e2e.processes import (
    LIGHT,
    LIGHT_YAML,
    Running,
    light_environment,
    running,
)
from tests.support import warm
from tests.support.servers import free_ports

VIXIO = Path(sys.executable).with_name("vixio")
DEVICE = "02:00:00:00:00:01"
NEW = firmware_image("2.1.0", size=700_000)


@dataclass
class House:
    """A running server, its commands, and devices."""

    server: Running
    folder: Path
    ota: str

    async def vixio(self, *arguments: str | Path, status: int = 0) -> str:
        """Run `vixio firmware`; return what it writes to people."""
        process = await warm.create_subprocess_exec(
            *map(str, (VIXIO, "firmware", "--config", self.folder / "vixio.yaml", *arguments)),
            cwd=self.folder,
            env={**warm.kept(), **light_environment()},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate()
        assert process.returncode == status, (out + err).decode()
        return (err if status else out).decode()

    async def add(self, image: bytes, *options: str, status: int = 0) -> str:
        file = self.folder / "xiaozhi.bin"
        file.write_bytes(image)
        return await self.vixio("add", file, *options, status=status)

    async def attempts(self, *options: str) -> list[dict[str, Any]]:
        found = json.loads(await self.vixio("attempts", "--json", *options))
        assert isinstance(found, list)
        return found

    def device(self, **options: Any) -> SimulatedDevice:  # noqa: ANN401  fields of any type
        return SimulatedDevice(DeviceConfig(ota_url=self.ota, pause_scale=0, **options))


async def switched_on(device: SimulatedDevice) -> SimulatedDevice:
    """Start a device, or start it again, as far as its connection."""
    async with asyncio.timeout(60):
        again = SimulatedDevice(replace(device.config))
        await again.boot()
        await again.close()
    return again


@asynccontextmanager
async def house(folder: Path, workers: int = 1) -> AsyncIterator[House]:
    port, http_port = free_ports(2)
    (folder / "vixio.yaml").write_text(
        f"server: {{host: 127.0.0.1, port: {port}, http_port: {http_port}, workers: {workers}}}\n"
        f"data: {{folder: {folder / 'data'}}}\nmemory: {{store: none}}\n"
        f"{LIGHT_YAML}api: {{enabled: false}}\n",
        encoding="utf-8",
    )
    command = (*LIGHT, "serve", "--config", folder / "vixio.yaml")
    async with running(command, folder, light_environment()) as server:
        await server.line("silero")
        yield House(server, folder, f"http://127.0.0.1:{http_port}/xiaozhi/ota/")
        await server.stop(signal.SIGTERM)
    everything = "".join(server.out + server.err)
    assert server.process.returncode == 0
    assert "Traceback" not in everything
    assert "ERROR" not in everything


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_device_is_updated(tmp_path: Path, workers: int) -> None:
    async with house(tmp_path, workers) as at:
        device, other = at.device(), at.device()
        assert "merged-binary" in await at.add(merged_binary(NEW), status=2)
        assert "not esp-box-3" in await at.add(NEW, "--board", "esp-box-3", status=2)
        assert "added 2.1.0 for simulated-board (esp32s3" in await at.add(NEW)
        assert (await switched_on(device)).boots == ["2.0.3"]

        said = await at.vixio("release", "2.1.0", "--device", device.config.device_id)
        assert said == "released 2.1.0 of simulated-board to 1 device\n"
        assert (await switched_on(other)).boots == ["2.0.3"]
        updated = await switched_on(device)
        assert updated.boots == ["2.0.3", "2.1.0"]
        assert updated.upgrades[0].received == len(NEW)
        (attempt,) = await at.attempts()
        assert attempt["state"] == "installed"
        async with asyncio.timeout(60):  # the process that sent it may write that down later
            while attempt["sent"] != len(NEW):
                (attempt,) = await at.attempts()
        assert attempt["state"] == "installed"
        assert attempt["device_id"] == device.config.device_id
        assert attempt["offered_at"] <= attempt["started_at"] <= attempt["finished_at"]
        assert (await switched_on(device)).boots == ["2.1.0"]

        await at.vixio("release", "2.1.0", "--percent", "100")
        assert (await switched_on(other)).boots == ["2.0.3", "2.1.0"]
        listed = await at.vixio("list")
        assert "100 %" in listed
        assert "2 installed" in listed


async def test_a_forced_update_goes_back_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        device = at.device()
        for version in ("2.1.0", "1.9.0"):
            await at.add(firmware_image(version))
        await at.vixio("release", "2.1.0", "--percent", "100")
        await at.vixio("release", "1.9.0", "--percent", "100", "--force")
        assert (await switched_on(device)).boots == ["2.0.3", "1.9.0"]
        for _ in range(2):
            assert (await switched_on(device)).boots == ["1.9.0"]
        await at.vixio("release", "2.1.0", "--percent", "100")
        assert (await switched_on(device)).boots == ["1.9.0", "2.1.0"]
        assert [each["state"] for each in await at.attempts()] == ["installed", "installed"]


class CrashingFlash(Flash):
    """The flash of a device on which no new image gets as far as confirming itself."""

    def install(self, app: App) -> None:
        super().install(app)
        self.power_on(DEVICE, rollback=True)


async def test_what_fails_is_on_record_and_given_up(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        device = at.device(device_id=DEVICE, flash=CrashingFlash())
        await at.add(NEW)
        await at.vixio("release", "2.1.0", "--percent", "100")
        started = await switched_on(device)
        assert started.boots == ["2.0.3"] * 4
        assert [each.error for each in started.upgrades] == [None] * 3
        found = await at.attempts("--device", DEVICE)
        assert [each["state"] for each in found] == ["failed"] * 3
        assert {each["reason"].partition(":")[0] for each in found} == {
            "the device came back with 2.0.3"
        }
        mended = at.device(device_id=DEVICE)
        assert (await switched_on(mended)).boots == ["2.0.3"]
        await at.vixio("release", "2.1.0", "--percent", "100", "--retry")
        assert (await switched_on(mended)).boots == ["2.0.3", "2.1.0"]


async def test_an_image_of_another_chip_is_not_offered(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        device = at.device(chip="esp32c3")
        await at.add(NEW)
        await at.vixio("release", "2.1.0", "--percent", "100")
        assert (await switched_on(device)).boots == ["2.0.3"]
        assert await at.attempts() == []
