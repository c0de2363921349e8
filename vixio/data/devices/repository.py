"""What people do with devices and tokens, each in one transaction: by commands and the API.

Every change stands in the audit trail, which is also how running servers learn of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from vixio.core.device import is_mac_address, normalise_device_id
from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import AuditTable, Change
from vixio.data.database.database import Database, Transaction
from vixio.data.devices.access_points import AccessPointRepository
from vixio.data.devices.contacts import CODE_IDLE_MS, DIGITS
from vixio.data.devices.people_repository import PeopleRepository
from vixio.data.devices.profile_repository import ProfileRepository
from vixio.data.devices.records import (
    Carrier,
    DeviceLine,
    DeviceRecord,
    NotKnown,
    RegistryError,
    TokenRecord,
    TooManyTries,
    checked_text,
)
from vixio.data.devices.tables import CODES, DeviceTable
from vixio.data.devices.token_table import TokenTable
from vixio.data.devices.tokens import waiting_id
from vixio.transports.admission.identity import Identity

WRONG_CODES: Final = 10
"""Wrong codes of one actor within :data:`WRONG_MS`, then none is looked up: with a hundred devices
waiting, one guess in a thousand would hit."""

WRONG_MS: Final = 10 * 60_000

KEY_BYTES: Final = 32
"""Of HMAC_KEY0 in the chip's eFuse."""


class DeviceRepository:
    """The operations on an open database. ``clock``: milliseconds since 1970."""

    def __init__(self, database: Database, clock: Callable[[], int] = now_ms) -> None:
        self._database = database
        self._clock = clock
        self.profiles = ProfileRepository(database, clock)
        self.people = PeopleRepository(database, clock)
        self.access_points = AccessPointRepository(database, clock)

    async def claim(self, wanted: str, actor: str, name: str = "") -> DeviceRecord:
        """Claim the device that shows this code, or has this id and shows none.

        Raises RegistryError: also for a name, which does not say which device it is.
        """
        code = "".join(wanted.split())
        by_code = code.isdecimal() and len(code) == DIGITS
        device_id = await self._by_code(code, actor) if by_code else _checked_id(wanted)
        async with self._changing(device_id, actor, "claimed") as (devices, device, at):
            if not by_code and device.code is not None:
                raise RegistryError(
                    f"{device.id} shows a code: claim it by that. `vixio devices add {device.id}` "
                    "lets in whoever has this id"
                )
            await self._claim(devices, device, actor, name, at, code if by_code else "")
        return await self.device(device.id)

    async def add(
        self, device_id: str, actor: str, *, name: str = "", serial: str = "", key: str = ""
    ) -> DeviceRecord:
        """Claim a device before its first visit. Raises RegistryError.

        ``key``: the one in its eFuse, 32 bytes in hexadecimal. It then has to prove who it is
        (activation version 2, with ``serial``).
        """
        device_id, serial, key = _checked_id(device_id), checked_text(serial), _checked_key(key)
        async with self._database.transaction() as transaction:
            devices = DeviceTable(transaction)
            device = await devices.hold(device_id)
            at = await self._now(transaction)
            if device is None:
                await devices.add(device_id, at, seen=False)
                device = await devices.find(device_id)
            assert device is not None  # noqa: S101 - it is held
            await self._claim(devices, device, actor, name, at)
            if key:
                await devices.set(device_id, serial=serial, hmac_key=key, verified_at=None)
            await AuditTable(transaction).add(at, actor, "added", f"device:{device_id}")
        return await self.device(device_id)

    async def _now(self, transaction: Transaction) -> int:
        """Return the time of a change: behind all that the registry has seen.

        A clock that is set back would give a time before that of tokens which the change is to make
        void, now or when a device that was forgotten is claimed anew.
        """
        seen = await AuditTable(transaction).newest_at()
        issued = await TokenTable(transaction).newest_at()
        return max(self._clock(), seen, issued + 1)

    async def _claim(
        self,
        devices: DeviceTable,
        device: DeviceRecord,
        actor: str,
        name: str,
        at: int,
        code: str = "",
    ) -> None:
        if device.blocked_at is not None:
            raise RegistryError(
                f"{device.id} is blocked: `vixio devices unblock {device.id}` first"
            )
        if code and device.code == code:  # it may have another one since it was looked up
            await devices.tokens.grant(waiting_id(device), at)
        same = device.claimed_at is not None and device.asking_client in ("", device.client_id)
        await devices.set(
            device.id,
            claimed_at=at,
            claimed_by=actor,
            client_id=device.asking_client or device.client_id,
            asking_client="",
            code=None,
            challenge="",
            # Who claims a device anew does not want the tokens that it had before.
            tokens_from=device.tokens_from if same else at,
            **({"name": checked_text(name)} if name else {}),
        )

    async def _by_code(self, code: str, actor: str) -> str:
        """Return the id of the device with this code; its wrong uses are counted, and limited."""
        at = self._clock()
        async with self._database.transaction() as transaction:
            await transaction.lock(CODES)
            devices = DeviceTable(transaction)
            wrong = await devices.wrong_codes(actor, at - WRONG_MS)
            if len(wrong) >= WRONG_CODES:
                wait = (wrong[0] + WRONG_MS - at) // 1000 + 1
                raise TooManyTries(f"too many wrong codes: try again in {wait} s", wait)
            device = await devices.by_code(code)
            if device is not None and at - device.last_seen <= CODE_IDLE_MS:
                return device.id
            await devices.wrong_code(actor, at)
        if device is not None:
            raise NotKnown(
                f"the code {code} has expired: its device has not asked for an hour; start the "
                "device again, and use the code that it shows then"
            )
        raise NotKnown(
            f"no device waits with the code {code}. If a device shows it, the device has asked "
            "another server, often the official one (xiaozhi.me): set the OTA address of this "
            "server in the device (docs/devices.md)"
        )

    async def device(self, device_id: str) -> DeviceRecord:
        """Return a device, by its id in any spelling or by its name. Raises RegistryError.

        Anybody can invent an id that is somebody's name for a device: the name wins over an id
        that is no MAC address and that nobody has claimed.
        """
        wanted = normalise_device_id(device_id)
        async with self._database.transaction(write=False) as transaction:
            devices = DeviceTable(transaction)
            found = await devices.find(wanted)
            if found is not None and is_mac_address(wanted):
                return found
            meant = dict.fromkeys(await devices.called(device_id.strip()))
            if found is not None and (not meant or found.claimed_at is not None):
                meant[found.id] = None
            if len(meant) == 1:
                found = await devices.find(next(iter(meant)))
        if len(meant) > 1:
            raise RegistryError(
                f"{len(meant)} devices are called {device_id!r}: use the id of one of them, "
                + ", ".join(meant)
            )
        if found is None or not meant:
            raise NotKnown(f"no device {device_id!r} is known: `vixio devices` lists them")
        return found

    async def devices(self) -> Sequence[DeviceRecord]:
        """Return all devices, the last seen first."""
        async with self._database.transaction(write=False) as transaction:
            return await DeviceTable(transaction).all()

    async def some_devices(
        self, *, limit: int, offset: int = 0
    ) -> tuple[Sequence[DeviceRecord], int]:
        """Return a part of the devices, the last seen first, and how many there are in all."""
        async with self._database.transaction(write=False) as transaction:
            devices = DeviceTable(transaction)
            return await devices.part(limit=limit, offset=offset), await devices.count()

    async def with_profile(self, profile: str, limit: int) -> tuple[Sequence[tuple[str, str]], int]:
        """Return id and name of devices that have a profile, and how many there are in all."""
        async with self._database.transaction(write=False) as transaction:
            return await DeviceTable(transaction).with_profile(profile, limit)

    async def lines(self) -> Sequence[DeviceLine]:
        """Return a line of each device, to be searched; the last seen first."""
        async with self._database.transaction(write=False) as transaction:
            return await DeviceTable(transaction).lines()

    async def these_devices(self, ids: Sequence[str]) -> Sequence[DeviceRecord]:
        """Return devices by their ids, in this order; unknown ones are left out."""
        async with self._database.transaction(write=False) as transaction:
            return await DeviceTable(transaction).some(ids)

    async def rename(
        self, device_id: str, name: str | None, actor: str, place: str | None = None
    ) -> DeviceRecord:
        """Give a device another name, and say where it stands; empty: none, None: as before.

        Raises RegistryError.
        """
        words = {"name": name, "place": place}
        given = {key: checked_text(each) for key, each in words.items() if each is not None}
        async with self._changing(device_id, actor, "renamed", **given) as changing:
            devices, device, _ = changing
            if given:
                await devices.set(device.id, **given)
        return await self.device(device_id)

    async def assign(self, device_id: str, profile: str, actor: str) -> DeviceRecord:
        """Give a device a profile; empty: none. A role that it has ends. Raises RegistryError."""
        if profile:
            await self.profiles.find(profile)
        async with self._changing(device_id, actor, "assigned", profile=profile) as changing:
            devices, device, _ = changing
            await devices.set(device.id, profile=profile or None, role=None)
        return await self.device(device.id)

    async def take_role(self, device_id: str, role: str, actor: str) -> DeviceRecord:
        """Let a device have the role of a profile, over its own; empty: no role.

        Whether it may is for the caller to see to. Raises RegistryError.
        """
        if role:
            await self.profiles.find(role)
        async with self._changing(device_id, actor, "role", role=role) as changing:
            devices, device, _ = changing
            await devices.set(device.id, role=role or None)
        return await self.device(device.id)

    async def give(self, device_id: str, person: str, actor: str) -> DeviceRecord:
        """Let a device belong to a person; empty: to nobody. Raises RegistryError."""
        owner = (await self.people.find(person)).id if person else ""
        async with self._changing(device_id, actor, "given", person=owner) as changing:
            devices, device, _ = changing
            if not await devices.give(device.id, owner):
                raise NotKnown(f"the person {person!r} has just been removed")
        return await self.device(device.id)

    async def switch(self, device_id: str, carrier: Carrier, actor: str) -> DeviceRecord:
        """Have a device come by this carrier from its next start. Raises RegistryError."""
        async with self._changing(device_id, actor, "switched", carrier=carrier) as changing:
            devices, device, _ = changing
            await devices.set(device.id, carrier=carrier)
        return await self.device(device.id)

    async def block(self, device_id: str, reason: str, actor: str) -> DeviceRecord:
        """Refuse a device, with a reason that it shows. Raises RegistryError."""
        reason = checked_text(reason)
        async with self._changing(device_id, actor, "blocked", reason=reason) as (
            devices,
            device,
            at,
        ):
            await devices.set(
                device.id, blocked_at=at, block_reason=reason, code=None, challenge=""
            )
        return await self.device(device_id)

    async def unblock(self, device_id: str, actor: str) -> DeviceRecord:
        """Let a device in as before. Raises RegistryError."""
        async with self._changing(device_id, actor, "unblocked") as (devices, device, _):
            await devices.set(device.id, blocked_at=None, block_reason="")
        return await self.device(device_id)

    async def forget(self, device_id: str, actor: str) -> str:
        """Remove a device with its tokens; return its id. Raises RegistryError."""
        async with self._changing(device_id, actor, "forgotten") as (devices, device, _):
            await devices.remove(device.id)
        return device.id

    async def tokens(self, device_id: str = "") -> Sequence[TokenRecord]:
        """Return the tokens of a device, or of all, the newest first. Raises RegistryError."""
        found = (await self.device(device_id)).id if device_id else ""
        async with self._database.transaction(write=False) as transaction:
            return await TokenTable(transaction).all(found)

    async def revoke_token(self, token_id: str, actor: str) -> None:
        """Revoke one token. Raises RegistryError."""
        at = self._clock()
        async with self._database.transaction() as transaction:
            if not await TokenTable(transaction).revoke(token_id, at):
                known = await TokenTable(transaction).find(token_id)
                if known:
                    raise RegistryError(f"the token {token_id} is revoked already")
                raise NotKnown(f"no token {token_id} is known: `vixio tokens` lists them")
            await AuditTable(transaction).add(at, actor, "revoked", f"token:{token_id}")

    async def revoke_tokens(self, device_id: str, actor: str) -> DeviceRecord:
        """Revoke all tokens of a device. Raises RegistryError."""
        async with self._changing(device_id, actor, "tokens revoked") as (devices, device, at):
            await devices.set(device.id, tokens_from=at + 1)
        return await self.device(device_id)

    async def note(self, wanted: str, actor: str, action: str, **detail: str) -> None:
        """Note what was done to a device, which the registry keeps nothing else of.

        Raises RegistryError.
        """
        async with self._changing(wanted, actor, action, **detail):
            pass

    async def audit(self, number: int) -> Sequence[Change]:
        """Return the last ``number`` changes, the newest last."""
        async with self._database.transaction(write=False) as transaction:
            audit = AuditTable(transaction)
            return await audit.since(await audit.last() - number)

    @asynccontextmanager
    async def _changing(
        self, wanted: str, actor: str, action: str, **detail: str
    ) -> AsyncIterator[tuple[DeviceTable, DeviceRecord, int]]:
        """Hold a known device for a change, which is noted; give its time too.

        Raises RegistryError.
        """
        device_id = (await self.device(wanted)).id
        async with self._database.transaction() as transaction:
            devices = DeviceTable(transaction)
            device = await devices.hold(device_id)
            if device is None:
                raise NotKnown(f"the device {device_id} has just been removed")
            at = await self._now(transaction)
            yield devices, device, at
            audit = AuditTable(transaction)
            await audit.add(at, actor, action, f"device:{device_id}", **detail)


def _checked_id(device_id: str) -> str:
    """Return an id in its one spelling. Raises RegistryError."""
    normalised = normalise_device_id(device_id)
    if not normalised or not Identity(normalised).well_formed or " " in normalised:
        raise RegistryError(
            f"{device_id!r} is no device's id: that is its MAC address, such as 02:00:00:00:00:01"
        )
    return normalised


def _checked_key(key: str) -> str:
    """Return a key in lower case; empty: none. Raises RegistryError."""
    try:
        right = not key or len(bytes.fromhex(key)) == KEY_BYTES
    except ValueError:
        right = False
    if not right:
        raise RegistryError(f"the key has {KEY_BYTES} bytes: {2 * KEY_BYTES} hexadecimal digits")
    return key.lower()
