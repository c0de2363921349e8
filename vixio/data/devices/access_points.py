"""Access points: the addresses at which tool servers of users connect, one of a profile or device.

The token in an address is 256 random bits; its SHA-256 is stored, which suffices for a value that
cannot be guessed. An access point goes with its profile or its device.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from vixio.core.tools.source import Scope
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database, Row, Transaction
from vixio.data.devices.profile_repository import unknown
from vixio.data.devices.records import NotKnown
from vixio.data.devices.tables import DeviceTable, ProfileTable

PREFIX: Final = "vixio_mcp_"
"""Of the tokens, by which secret scanners find them."""

TARGET: Final = "access"
"""The kind of their entries in the audit trail."""


@dataclass(frozen=True, slots=True)
class AccessPoint:
    """One address. ``created_at``: milliseconds since 1970. The token itself is not kept."""

    digest: str
    scope: Scope
    created_at: int
    created_by: str

    @classmethod
    def of(cls, row: Row) -> AccessPoint:
        """Read a row of the table ``access_points``."""
        scope = Scope(row["profile"] or "", row["device_id"] or "")
        return cls(row["digest"], scope, row["created_at"], row["created_by"])


def digest(token: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def address(ota_url: str, token: str, path: str = "mcp/") -> str:
    """Return the address with a token, on the host of the OTA URL."""
    base = ota_url.removeprefix("http").removesuffix("xiaozhi/ota/")
    return f"ws{base}{path}?token={token}"


class AccessPointTable:
    """The table, in an open transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def all(self) -> Sequence[AccessPoint]:
        """Return all access points, the newest first."""
        rows = await self._in.fetch("SELECT * FROM access_points ORDER BY created_at DESC, digest")
        return [AccessPoint.of(row) for row in rows]

    async def put(self, point: AccessPoint) -> None:
        """Add an access point, which replaces that of the same profile or device."""
        await self.remove(point.scope)
        await self._in.execute(
            "INSERT INTO access_points (digest, profile, device_id, created_at, created_by) "
            "VALUES (:digest, :profile, :device_id, :created_at, :created_by)",
            digest=point.digest,
            profile=point.scope.profile or None,
            device_id=point.scope.device or None,
            created_at=point.created_at,
            created_by=point.created_by,
        )

    async def remove(self, scope: Scope) -> bool:
        """Remove the access point of a profile or device; return whether there was one."""
        column, value = ("device_id", scope.device) if scope.device else ("profile", scope.profile)
        return bool(
            await self._in.execute(
                f"DELETE FROM access_points WHERE {column} = :value",  # noqa: S608 - one of two
                value=value,
            )
        )


class AccessPointRepository:
    """The operations on an open database. ``clock``: milliseconds since 1970."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock

    async def all(self) -> Sequence[AccessPoint]:
        """Return all access points, the newest first."""
        async with self._database.transaction(write=False) as transaction:
            return await AccessPointTable(transaction).all()

    async def create(self, scope: Scope, actor: str) -> tuple[AccessPoint, str]:
        """Make the access point of a profile or device; return it, and its token.

        An earlier one is void then. Raises RegistryError.
        """
        token = f"{PREFIX}{secrets.token_urlsafe(32)}"
        point = AccessPoint(digest(token), scope, self._clock(), actor)
        async with self._database.transaction() as transaction:
            await transaction.lock("vixio.access_points")
            if scope.device and await DeviceTable(transaction).find(scope.device) is None:
                raise NotKnown(f"no device {scope.device!r} is known: `vixio devices` lists them")
            if scope.profile and await ProfileTable(transaction).find(scope.profile) is None:
                raise unknown(scope.profile)
            await AccessPointTable(transaction).put(point)
            await _note(transaction, point.created_at, actor, "access point made", scope)
        return point, token

    async def revoke(self, scope: Scope, actor: str) -> None:
        """Make the address of a profile or device void. Raises RegistryError."""
        async with self._database.transaction() as transaction:
            if not await AccessPointTable(transaction).remove(scope):
                raise NotKnown(f"there is no access point of the {owner(scope)}")
            await _note(transaction, self._clock(), actor, "access point revoked", scope)


def owner(scope: Scope) -> str:
    """Return whose an access point is, in words: ``profile kitchen``."""
    return f"device {scope.device}" if scope.device else f"profile {scope.profile}"


async def _note(transaction: Transaction, at: int, actor: str, action: str, scope: Scope) -> None:
    key = f"device:{scope.device}" if scope.device else f"profile:{scope.profile}"
    await AuditTable(transaction).add(at, actor, action, f"{TARGET}:{key}")
