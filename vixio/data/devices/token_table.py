"""The table of the tokens, in an open transaction. What may be done is decided above."""

from __future__ import annotations

from collections.abc import Sequence

from vixio.data.database.database import Transaction
from vixio.data.devices.records import TokenRecord
from vixio.data.devices.tokens import IssuedToken


class TokenTable:
    """The tokens."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def add(self, token: IssuedToken) -> None:
        """Note a token that was issued; once more changes nothing, as for a device that is gone."""
        await self._in.execute(
            "INSERT INTO tokens (id, device_id, client_id, issued_at, expires_at) "
            "SELECT CAST(:id AS TEXT), id, CAST(:client_id AS TEXT), CAST(:issued_at AS BIGINT), "
            "CAST(:expires_at AS BIGINT) FROM devices "
            "WHERE id = :device_id AND NOT EXISTS (SELECT 1 FROM tokens WHERE id = :id)",
            id=token.id,
            device_id=token.device_id,
            client_id=token.client_id,
            issued_at=token.issued_at,
            expires_at=token.expires_at,
        )

    async def add_waiting(self, token: IssuedToken) -> None:
        """Note a token that is void until the claim. A device has one: that of who asked last."""
        await self._in.execute(
            "DELETE FROM tokens WHERE device_id = :device_id AND issued_at = 0 AND id <> :id",
            device_id=token.device_id,
            id=token.id,
        )
        await self.add(token)

    async def grant(self, token_id: str, at: int) -> None:
        """Let a token that waits for the claim be valid from now on."""
        await self._in.execute(
            "UPDATE tokens SET issued_at = :at "
            "WHERE id = :id AND issued_at = 0 AND revoked_at IS NULL",
            id=token_id,
            at=at,
        )

    async def all(self, device_id: str = "") -> Sequence[TokenRecord]:
        """Return the tokens of a device, or of all, the newest first; none that waits."""
        rows = await self._in.fetch(
            "SELECT * FROM tokens WHERE issued_at > 0 "
            "AND CAST(:device_id AS TEXT) IN ('', device_id) "
            "ORDER BY issued_at DESC, id",
            device_id=device_id,
        )
        return [TokenRecord.of(row) for row in rows]

    async def find(self, token_id: str) -> TokenRecord | None:
        """Return a token; None for an unknown one."""
        row = await self._in.fetch_one("SELECT * FROM tokens WHERE id = :id", id=token_id)
        return TokenRecord.of(row) if row else None

    async def revoked(self, since: int) -> dict[str, int]:
        """Return the ids of revoked tokens that expire after ``since``, with their expiry."""
        rows = await self._in.fetch(
            "SELECT id, expires_at FROM tokens "
            "WHERE revoked_at IS NOT NULL AND expires_at > :since",
            since=since,
        )
        return {row["id"]: row["expires_at"] for row in rows}

    async def revoke(self, token_id: str, at: int) -> bool:
        """Revoke a token; return false if it is unknown or revoked already."""
        return bool(
            await self._in.execute(
                "UPDATE tokens SET revoked_at = :at WHERE id = :id AND revoked_at IS NULL",
                id=token_id,
                at=at,
            )
        )

    async def lasting(
        self, device_id: str, client_id: str, *, since: int, until: int
    ) -> TokenRecord | None:
        """Return the newest token of a device and client that was issued at ``since`` or later, is
        not revoked and does not expire before ``until``; None: there is none."""
        row = await self._in.fetch_one(
            "SELECT * FROM tokens WHERE device_id = :device_id AND client_id = :client_id "
            "AND issued_at >= :since AND expires_at >= :until AND revoked_at IS NULL "
            "ORDER BY issued_at DESC, id LIMIT 1",
            device_id=device_id,
            client_id=client_id,
            since=since,
            until=until,
        )
        return TokenRecord.of(row) if row else None

    async def use(self, token_id: str, at: int) -> dict[str, int]:
        """Note the first use of a token; revoke those that it replaces, and return their ids, with
        their expiry.

        These are what the same device and client got before it: the device has stored the new one.
        """
        token = await self.find(token_id)
        if token is None:
            return {}
        await self._in.execute(
            "UPDATE tokens SET used_at = :at WHERE id = :id AND used_at IS NULL",
            id=token_id,
            at=at,
        )
        rows = await self._in.fetch(
            "UPDATE tokens SET revoked_at = :at WHERE device_id = :device_id "
            "AND client_id = :client_id AND id <> :id AND issued_at <= :issued_at "
            "AND revoked_at IS NULL RETURNING id, expires_at",
            at=at,
            id=token_id,
            device_id=token.device_id,
            client_id=token.client_id,
            issued_at=token.issued_at,
        )
        return {row["id"]: row["expires_at"] for row in rows}

    async def newest_at(self) -> int:
        """Return when the newest token was issued, in milliseconds since 1970; 0: there is none."""
        row = await self._in.fetch_one("SELECT COALESCE(MAX(issued_at), 0) AS at FROM tokens")
        return int(row["at"]) if row else 0

    async def expire(self, before: int) -> int:
        """Remove the tokens that have expired before then."""
        return await self._in.execute("DELETE FROM tokens WHERE expires_at < :at", at=before)
