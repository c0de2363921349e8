"""What the server notes of devices that come: each visit in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vixio.core.device import is_mac_address
from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database, Transaction
from vixio.data.devices.activation import Proof
from vixio.data.devices.records import AccessMode, DeviceRecord, NameTaken
from vixio.data.devices.tables import CODES, DeviceTable
from vixio.data.devices.token_table import TokenTable
from vixio.data.devices.tokens import LASTING_S, DeviceTokens, IssuedToken
from vixio.transports.admission.access import OtaRequest

CODE_IDLE_MS: Final = 60 * 60_000
"""A code expires when its device has not asked for so long. While it asks, it keeps its code: it
shows and reads aloud whatever it gets, about every forty seconds."""

CODE_LIFE_MS: Final = 24 * 60 * 60_000
"""Then even a device that keeps asking gets another code."""

RENEWED_MS: Final = 90 * 24 * 60 * 60_000
"""A device gets the same lasting token for so long, whenever it starts: each that is replaced is
kept as revoked until it expires."""

UNCLAIMED: Final = 10_000
"""Unclaimed devices that are kept, the last seen: anyone can invent ids."""

DIGITS: Final = 6
"""Of a code. The firmware reads each aloud."""


@dataclass(frozen=True, slots=True)
class Contact:
    """What a device's connection tells: from its hello, and at its end."""

    at: int
    address: str = ""
    features: Sequence[str] | None = None
    tools: Sequence[str] | None = None
    may_be_new: bool = False
    """Whether a device that is not known is added: it may have been forgotten meanwhile."""


class DeviceContacts:
    """The operations on an open database. ``clock``: milliseconds since 1970."""

    def __init__(self, database: Database, clock: Callable[[], int] = now_ms) -> None:
        self._database = database
        self._clock = clock

    async def decide(
        self,
        ota_request: OtaRequest,
        mode: AccessMode,
        tokens: DeviceTokens | None,
        by_mqtt: Callable[[str], bool] = lambda _carrier: False,
    ) -> tuple[DeviceRecord, IssuedToken | None]:
        """Note a device that asks OTA; return its record, and its token if it is let in; if it
        waits with a code, one that is void until the claim.

        A device that is not let in has a code afterwards, where claims need one, and a challenge.
        ``by_mqtt``: whether a device of this carrier of its own is served over MQTT.
        Raises NameTaken.
        """
        at = self._clock()
        async with self._database.transaction() as transaction:
            devices = DeviceTable(transaction)
            device = await devices.hold(ota_request.device_id)
            if (device is None or device.claimed_at is None) and await _is_anothers_name(
                devices, ota_request.device_id
            ):
                raise NameTaken(f"{ota_request.device_id!r} is the name of another device")
            if device is None:
                await devices.add(ota_request.device_id, at)
                await devices.shed(UNCLAIMED)
            changed: dict[str, Any] = {
                name: value
                for name in ("address", "board", "chip", "firmware", "serial", "language", "rssi")
                if (value := getattr(ota_request, name))
            }
            if device is not None and device.standing.lets_in(mode, ota_request.client_id):
                if not device.client_id and device.claimed_at is not None:
                    changed["client_id"] = ota_request.client_id  # trusted at its first visit
            elif mode is not AccessMode.OPEN:
                changed["asking_client"] = ota_request.client_id
                changed |= await self._waiting(transaction, device, ota_request, mode, at)
            await devices.set(ota_request.device_id, last_seen=at, **changed)
            found = await devices.find(ota_request.device_id)
            assert found is not None  # noqa: S101 - it is held
            token = None
            if tokens is not None and found.standing.lets_in(mode, ota_request.client_id):
                # Issued here: a claim may have come while the visit waited for the database, and
                # what was issued before it is void.
                token = await _token(
                    TokenTable(transaction),
                    found,
                    ota_request.client_id,
                    tokens,
                    at if by_mqtt(found.carrier) else None,
                )
            elif tokens is not None and mode is AccessMode.ACTIVATION and found.code is not None:
                token = tokens.issue_waiting(found)
                await TokenTable(transaction).add_waiting(token)
        return found, token

    async def prove(self, device_id: str, client_id: str, proof: Proof) -> DeviceRecord | None:
        """Check the proof of a device whose key is known; return its record as it is then.

        The right proof claims the device for this client.
        """
        at = self._clock()
        async with self._database.transaction() as transaction:
            devices = DeviceTable(transaction)
            device = await devices.hold(device_id)
            if device is None or not proof.holds(device.hmac_key, device.challenge):
                return device
            await devices.set(
                device_id,
                client_id=client_id,
                verified_at=at,
                claimed_at=device.claimed_at or at,
                challenge="",
                code=None,
            )
            await AuditTable(transaction).add(at, "device", "verified", f"device:{device_id}")
            return await devices.find(device_id)

    async def seen(self, everything: dict[str, Contact]) -> None:
        """Note what connections told."""
        async with self._database.transaction() as transaction:
            devices = DeviceTable(transaction)
            for device_id, seen in sorted(everything.items()):  # one order: no deadlock
                known = await devices.hold(device_id)
                if known is None:
                    if not seen.may_be_new:
                        continue
                    await devices.add(device_id, seen.at)
                told: dict[str, Any] = {
                    name: value
                    for name in ("address", "features", "tools")
                    if (value := getattr(seen, name)) not in (None, "")
                }
                last = max(seen.at, known.last_seen if known else 0)
                await devices.set(device_id, last_seen=last, **told)

    async def tokens_issued(self, tokens: Sequence[IssuedToken]) -> None:
        """Note tokens that were issued while the database could not be reached."""
        async with self._database.transaction() as transaction:
            for token in tokens:
                await TokenTable(transaction).add(token)

    async def tokens_used(self, token_ids: Sequence[str]) -> dict[str, int]:
        """Note the first use of tokens; return those that they replace, as `TokenTable.use`."""
        replaced: dict[str, int] = {}
        async with self._database.transaction() as transaction:
            for token_id in token_ids:
                replaced |= await TokenTable(transaction).use(token_id, self._clock())
            await TokenTable(transaction).expire(self._clock() - CODE_LIFE_MS)
        return replaced

    async def _waiting(
        self,
        transaction: Transaction,
        device: DeviceRecord | None,
        ota_request: OtaRequest,
        mode: AccessMode,
        at: int,
    ) -> dict[str, Any]:
        """Return the columns of a device that has to wait."""
        if device is not None and device.blocked_at is not None:
            return {}
        challenge = device.challenge if device is not None else ""
        waiting: dict[str, Any] = {"challenge": challenge or secrets.token_hex(16)}
        by_key = device is not None and device.hmac_key
        if mode is AccessMode.ACTIVATION and not by_key:
            code, code_at = (device.code, device.code_at or 0) if device is not None else (None, 0)
            asked = device.last_seen if device is not None else 0
            if code is None or at - code_at > CODE_LIFE_MS or at - asked > CODE_IDLE_MS:
                waiting |= {"code": await _new_code(transaction), "code_at": at}
        return waiting


async def _token(
    table: TokenTable, device: DeviceRecord, client_id: str, tokens: DeviceTokens, at: int | None
) -> IssuedToken:
    """Return the token of a device that is let in, which is noted. ``at``: now, of one that is to
    last; None: of another."""
    kept = None
    if at is not None:
        kept = await table.lasting(
            device.id,
            client_id,
            since=max(device.tokens_from, at - RENEWED_MS),
            until=at + round(LASTING_S * 500),
        )
    if kept is not None:
        return tokens.again(kept)
    since = device.tokens_from
    token = tokens.issue(device.id, client_id, since=since, lasting=at is not None)
    await table.add(token)
    return token


async def _is_anothers_name(devices: DeviceTable, device_id: str) -> bool:
    """Whether an id that is no MAC address is what somebody calls another device."""
    if is_mac_address(device_id):
        return False
    return any(each != device_id for each in await devices.called(device_id))


async def _new_code(transaction: Transaction) -> str:
    """Return a code that no device has, at random: one tells nothing about another."""
    await transaction.lock(CODES)
    while True:
        code = f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
        if await DeviceTable(transaction).by_code(code) is None:
            return code
