"""Joins firmware of devices with the HTTP server: offers at OTA, downloads, and their record."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from vixio.composition.registry import data_folder, signing_secret
from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters
from vixio.core.session.session import Session
from vixio.core.tools.types import JsonObject
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.devices.firmware.attempts import AttemptState
from vixio.data.devices.firmware.errors import FirmwareError
from vixio.data.devices.firmware.folder import FirmwareFolder
from vixio.data.devices.firmware.offer import Stated
from vixio.data.devices.firmware.service import FirmwareService
from vixio.settings import Settings
from vixio.transports.admission.identity import Identity
from vixio.web.feed.content import Content
from vixio.web.feed.happenings import attempt, download
from vixio.web.http.firmware_link import FirmwareLinks, FirmwareTicket
from vixio.web.http.firmware_offer import (
    FirmwareOffers,
    OfferedFirmware,
    RunningFirmware,
    read_running,
)
from vixio.web.http.ota import read_ota_request
from vixio.web.http.public_url import HttpAddress
from vixio.web.http.routes.firmware import (
    BUSY,
    DownloadStep,
    FirmwareDownloads,
    FirmwareSettings,
)

if TYPE_CHECKING:
    from starlette.routing import Route

_log = logging.getLogger(__name__)

FOLDER_NAME: Final = "firmware"
"""In the data folder."""

UPGRADE: Final = "self.upgrade_firmware"
SYSTEM_INFO: Final = "self.get_system_info"
"""The firmware's tools (mcp_server.cc, AddUserOnlyTools). The second returns what the device sends
to OTA (ota.cc, CheckVersion)."""

_STATES: Final = {
    DownloadStep.STARTED: AttemptState.DOWNLOADING,
    DownloadStep.PROGRESS: AttemptState.DOWNLOADING,
    DownloadStep.FINISHED: AttemptState.DOWNLOADED,
    DownloadStep.ABORTED: AttemptState.FAILED,
    DownloadStep.REFUSED: AttemptState.FAILED,
}


def firmware_folder(settings: Settings) -> FirmwareFolder:
    """Return where the images are."""
    return FirmwareFolder(data_folder(settings) / FOLDER_NAME)


def make_firmware(
    settings: Settings,
    link: Link[Database],
    counters: Counters,
    http_port: Callable[[], int],
    secret: str,
) -> Firmware:
    """Return the part of a server. ``secret`` signs links where the settings have none."""
    return Firmware(
        firmware_folder(settings),
        link,
        counters,
        HttpAddress(http_port, settings.server.public_host, settings.server.public_url),
        secret=_secret(settings) or secret,
    )


def _secret(settings: Settings) -> str:
    """Return what signs links, so that they outlive a restart; empty: nothing is kept here."""
    if not settings.data.kept and not settings.server.auth.secret.get_secret_value():
        return ""
    try:
        return signing_secret(settings)
    except ConfigError as error:  # a folder that cannot be written to has no firmware either
        _log.warning("links to firmware end with the process", extra={"reason": str(error)})
        return ""


class Firmware:
    """``secret`` signs links; empty: one that ends with the process."""

    def __init__(
        self,
        folder: FirmwareFolder,
        link: Link[Database],
        counters: Counters,
        address: HttpAddress,
        *,
        secret: str = "",
    ) -> None:
        links = FirmwareLinks(secret=(secret or secrets.token_hex(32)).encode(), address=address)
        self._service = FirmwareService(link, folder, counters)
        self._downloads = FirmwareDownloads(
            FirmwareSettings(
                links=links, open_image=folder.open, report=self._report, counters=counters
            )
        )
        self.tell: Callable[[str, Content], None] = lambda _device_id, _content: None
        """Called with the device and what happened to its firmware."""
        self._service.on_attempt = lambda each: self.tell(each.device_id, attempt(each))
        self.offers = FirmwareOffers(links, self._ask, lambda: self._downloads.busy)

    async def stop(self) -> None:
        """Write what is left, for a bounded time. Idempotent."""
        await self._service.stop()

    def routes(self) -> Sequence[Route]:
        """Return the route of downloads."""
        return self._downloads.routes()

    async def upgrade(self, session: Session, arguments: JsonObject) -> JsonObject | None:
        """Have a connected device install at once what OTA would offer it.

        ``board``: the one that it stated to OTA. Returns ``version`` and ``from_version``; None:
        its firmware cannot be asked to. Raises FirmwareError, ToolError.
        """
        client, device = session.connection.tool_client, session.connection.device
        tools = {each.name for each in await client.list_user_tools()} if client else set()
        if client is None or not {UPGRADE, SYSTEM_INFO} <= tools:
            return None
        if self._downloads.busy:
            raise FirmwareError(BUSY)
        said = await client.call_tool(SYSTEM_INFO, {})
        body = str(said.result if said.success else "").encode()
        stated = read_ota_request(Identity(device.id), {}, body, "")
        stated = replace(stated, board=arguments["board"] or stated.board)
        if not (stated.board and stated.chip and stated.firmware):
            raise FirmwareError("it does not say which board and firmware it has")
        offered = await self._ask(read_running(stated, body))
        if offered is None:
            raise FirmwareError(
                f"it runs {stated.firmware}, and nothing newer is released to it ({stated.board})"
            )
        ticket = offered.ticket
        url = device.http_url + self.offers.links.path(ticket)
        asked = await client.call_tool(UPGRADE, {"url": url})
        if not asked.success:
            why = f"it did not begin: {str(asked.error)[:200]}"
            self._service.note(ticket.attempt, device.id, AttemptState.FAILED, 0, why)
            raise FirmwareError(why)
        return {"version": ticket.version, "from_version": stated.firmware}

    async def _ask(self, running: RunningFirmware) -> OfferedFirmware | None:
        attempt = await self._service.offer(Stated(**asdict(running)))
        if attempt is None:
            return None
        ticket = FirmwareTicket(
            attempt=attempt.id,
            device_id=attempt.device_id,
            board=attempt.board,
            version=attempt.version,
            sha256=attempt.sha256,
        )
        return OfferedFirmware(ticket, force=attempt.forced)

    def _report(self, ticket: FirmwareTicket, step: DownloadStep, sent: int, reason: str) -> None:
        state = AttemptState.POSTPONED if reason == BUSY else _STATES[step]
        self._service.note(ticket.attempt, ticket.device_id, state, sent, reason)
        self.tell(ticket.device_id, download(ticket.attempt, ticket.version, state, sent, reason))
