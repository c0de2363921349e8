"""The audit trail: who changed what. It is also how processes and servers hear of changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from vixio.data.database.database import Row, Transaction

_AUDIT: Final = "vixio.audit"


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of the audit trail. ``target``: ``device:ID`` or ``token:ID``."""

    id: int
    at: int
    actor: str
    action: str
    target: str
    detail: str
    """JSON, without secrets."""

    @classmethod
    def of(cls, row: Row) -> Change:
        """Read a row of the table ``audit``."""
        return cls(**row)


class AuditTable:
    """Who changed what. Ids follow the order of commits, so that a reader misses none."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def add(self, at: int, actor: str, action: str, target: str, **detail: Any) -> None:  # noqa: ANN401 - any JSON
        """Note a change. The last statement of a transaction but its end: others wait for it."""
        await self._in.lock(_AUDIT)
        await self._in.execute(
            "INSERT INTO audit (id, at, actor, action, target, detail) "
            "SELECT COALESCE(MAX(id), 0) + 1, CAST(:at AS BIGINT), CAST(:actor AS TEXT), "
            "CAST(:action AS TEXT), CAST(:target AS TEXT), CAST(:detail AS TEXT) FROM audit",
            at=at,
            actor=actor,
            action=action,
            target=target,
            detail=json.dumps(detail, ensure_ascii=False),
        )

    async def since(self, last: int, limit: int = 1_000) -> Sequence[Change]:
        """Return the changes after ``last``, oldest first."""
        rows = await self._in.fetch(
            "SELECT * FROM audit WHERE id > :last ORDER BY id LIMIT :limit", last=last, limit=limit
        )
        return [Change.of(row) for row in rows]

    async def newest_at(self) -> int:
        """Return the time of the newest change, in milliseconds since 1970; 0: there is none."""
        row = await self._in.fetch_one("SELECT at FROM audit ORDER BY id DESC LIMIT 1")
        return int(row["at"]) if row else 0

    async def last(self) -> int:
        """Return the id of the newest change; 0: there is none."""
        row = await self._in.fetch_one("SELECT COALESCE(MAX(id), 0) AS id FROM audit")
        return int(row["id"]) if row else 0
