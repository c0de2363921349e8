"""The section ``firmware`` of the OTA answer: what a device runs, and what it is offered.

Of a device that is offered nothing the section has its own version and an empty URL, as without
this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from vixio.transports.admission.access import OtaRequest
from vixio.web.http.firmware_link import FirmwareLinks, FirmwareTicket

_APPLICATION: Final = 0
_FIRST_OTA: Final = 0x10
_LAST_OTA: Final = 0x1F
"""``esp_partition_subtype_t``: ota_0 to ota_15."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningFirmware:
    """What a device states of its firmware; empty where it says nothing."""

    device_id: str
    """Normalised."""
    board: str = ""
    chip: str = ""
    version: str = ""
    """Digits and dots."""
    elf_sha256: str = ""
    room: int | None = None
    """Bytes of the partition to which it writes an update; 0: it has none; None: not stated."""


@dataclass(frozen=True, slots=True)
class OfferedFirmware:
    """What a device is offered. ``force``: it installs it although it is not newer."""

    ticket: FirmwareTicket
    force: bool = False


Ask = Callable[[RunningFirmware], Awaitable[OfferedFirmware | None]]
"""Returns what a device is offered now; None for nothing. Never raises."""


@dataclass(frozen=True, slots=True)
class FirmwareOffers:
    """Makes the section for devices. ``busy``: whether no download can begin now."""

    links: FirmwareLinks
    ask: Ask
    busy: Callable[[], bool] = lambda: False

    async def section(
        self,
        ota_request: OtaRequest,
        body: bytes,
        headers: Mapping[str, str],
        own_host: str,
        *,
        trust_forwarded: bool,
    ) -> dict[str, Any]:
        """Return what stands in the section for a device that is offered something, else nothing.

        ``headers`` and the rest are those of :func:`~vixio.web.http.public_url.public_url`.
        """
        if self.busy():
            return {}
        offered = await self.ask(read_running(ota_request, body))
        if offered is None:
            return {}
        url = self.links.url(offered.ticket, headers, own_host, trust_forwarded=trust_forwarded)
        section = {"version": offered.ticket.version, "url": url}
        return section | ({"force": 1} if offered.force else {})  # a number (ota.cc, CheckVersion)


def read_running(ota_request: OtaRequest, body: bytes) -> RunningFirmware:
    """Return what a device states, of which ``ota_request`` has a part already."""
    document: Any = None
    with suppress(ValueError, RecursionError):  # every field is optional, so is the body
        document = json.loads(body)
    if not isinstance(document, dict):
        document = {}
    application = document.get("application")
    digest = application.get("elf_sha256") if isinstance(application, dict) else None
    return RunningFirmware(
        device_id=ota_request.device_id,
        board=ota_request.board,
        chip=ota_request.chip,
        version=ota_request.firmware,
        elf_sha256=digest if isinstance(digest, str) and _DIGEST.fullmatch(digest) else "",
        room=_room(document),
    )


def _room(document: Mapping[str, Any]) -> int | None:
    """Return the size of the partition behind the running one, in the order of their numbers.

    That is the one that ``esp_ota_get_next_update_partition`` gives (esp_ota_ops.c).
    """
    table, running = document.get("partition_table"), document.get("ota")
    if not isinstance(table, list) or not isinstance(running, dict):
        return None
    slots: dict[int, tuple[Any, int]] = {}
    for entry in table:
        if not isinstance(entry, dict) or entry.get("type") != _APPLICATION:
            continue
        subtype, size = entry.get("subtype"), entry.get("size")
        if not isinstance(subtype, int) or not isinstance(size, int):
            continue
        if _FIRST_OTA <= subtype <= _LAST_OTA:
            slots[subtype] = (entry.get("label"), size)
    numbers = sorted(slots)
    own = next((n for n in numbers if slots[n][0] == running.get("label")), None)
    others = [number for number in numbers if number != own]
    if not others:
        return 0
    following = [number for number in others if own is not None and number > own]
    return slots[(following or others)[0]][1]
