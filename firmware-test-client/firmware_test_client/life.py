"""The device's starts and restarts, and what the last one came to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from firmware_test_client.boot import Boot
from firmware_test_client.config import DeviceConfig
from firmware_test_client.errors import DeviceError
from firmware_test_client.main_task import Slow
from firmware_test_client.mcp.server import McpServer
from firmware_test_client.ota import OtaAnswer, running_app
from firmware_test_client.protocol import DeviceProtocol
from firmware_test_client.records import Records


class Life:
    """One device's starts.

    Args:
        protocol: the protocol in use.
        beside: runs work beside the main task.

    Attributes:
        ota: the newest answer with which the device started.
        error: why the newest start failed.
        starts: how many were successful.
        ready: whether the newest start is over, successfully.
    """

    def __init__(
        self,
        config: DeviceConfig,
        records: Records,
        boot: Boot,
        mcp: McpServer,
        protocol: Callable[[], DeviceProtocol],
        beside: Callable[[Slow], None],
    ) -> None:
        self._config = config
        self._records = records
        self._boot = boot
        self._mcp = mcp
        self._protocol = protocol
        self._beside = beside
        self.ota: OtaAnswer | None = None
        self.error: DeviceError | None = None
        self.starts = 0
        self.ready = False

    async def start(self) -> OtaAnswer | None:
        """Start, see `Boot.run`."""
        self.error, self.ready = None, False
        try:
            self.ota = await self._boot.run()
        except DeviceError as error:
            self.error = error
            self._records.changed()
            raise
        self._mcp.version = running_app(self._config).version
        self.starts, self.ready = self.starts + 1, True
        return self.ota

    def restart_soon(self, *, after: float = 0) -> None:
        """Application::Reboot, beside the main task, `after` seconds from now."""
        self._beside(self._restart(after))

    async def _restart(self, after: float) -> None:
        await asyncio.sleep(after * self._config.pause_scale)
        await self._protocol().shut_down()
        await asyncio.sleep(self._config.pause_scale)
        with contextlib.suppress(DeviceError):  # kept in `error`
            await self.start()

    async def upgrade(self, url: str) -> None:
        """What self.upgrade_firmware (McpServer::AddUserOnlyTools) schedules on the main task."""
        await self._protocol().close()
        if await self._boot.upgrade(url):
            self.restart_soon()
