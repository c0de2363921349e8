"""The tables of releases and attempts, in an open transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from vixio.data.database.database import Row, Transaction
from vixio.data.devices.firmware.attempts import Attempt
from vixio.data.devices.firmware.offer import Release

RELEASES: Final = "vixio.firmware.releases"
"""The lock of everything that releases."""

ATTEMPTS_KEPT: Final = 50
"""Of each device, the newest; and those with force, which end the loop of forced updates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRecord:
    """A release as it is stored. Times are milliseconds since 1970."""

    release: Release
    released_at: int
    retry_from: int
    """Failures of this image that were offered before do not count."""

    @classmethod
    def of(cls, row: Row) -> ReleaseRecord:
        """Read a row of the table ``firmware_releases``."""
        values = dict(row)
        released_at, retry_from = values.pop("released_at"), values.pop("retry_from")
        values["devices"] = frozenset(json.loads(values["devices"]))
        values["paused"], values["forced"] = bool(values["paused"]), bool(values["forced"])
        return cls(release=Release(**values), released_at=released_at, retry_from=retry_from)


class ReleaseTable:
    """The releases: at most one of each image."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def all(self, board: str = "") -> Sequence[ReleaseRecord]:
        """Return the releases of a board, or of all, in the order of their ids."""
        rows = await self._in.fetch(
            "SELECT * FROM firmware_releases WHERE CAST(:board AS TEXT) IN ('', board) ORDER BY id",
            board=board,
        )
        return [ReleaseRecord.of(row) for row in rows]

    async def find(self, board: str, version: str) -> ReleaseRecord | None:
        """Return a release; None if there is none of this image."""
        row = await self._in.fetch_one(
            "SELECT * FROM firmware_releases WHERE board = :board AND version = :version",
            board=board,
            version=version,
        )
        return ReleaseRecord.of(row) if row else None

    async def next_id(self) -> int:
        """Return an id above all that were ever used. To be called under the lock RELEASES."""
        row = await self._in.fetch_one(
            "SELECT COALESCE(MAX(id), 0) AS id FROM (SELECT id FROM firmware_releases "
            "UNION ALL SELECT release_id AS id FROM firmware_attempts) AS used"
        )
        return int(row["id"]) + 1 if row else 1

    async def put(self, record: ReleaseRecord) -> None:
        """Add a release, in the place of an earlier one of the same image."""
        release = record.release
        await self.remove(release.board, release.version)
        await self._in.execute(
            "INSERT INTO firmware_releases (board, version, id, chip, sha256, elf_sha256, size, "
            "percent, devices, paused, forced, released_at, retry_from) VALUES (:board, :version, "
            ":id, :chip, :sha256, :elf_sha256, :size, :percent, :devices, :paused, :forced, "
            ":released_at, :retry_from)",
            **asdict(release)
            | {
                "percent": float(release.percent),
                "devices": json.dumps(sorted(release.devices)),
                "paused": int(release.paused),
                "forced": int(release.forced),
                "released_at": record.released_at,
                "retry_from": record.retry_from,
            },
        )

    async def remove(self, board: str, version: str) -> bool:
        """Remove a release; return false if there is none."""
        return bool(
            await self._in.execute(
                "DELETE FROM firmware_releases WHERE board = :board AND version = :version",
                board=board,
                version=version,
            )
        )


class AttemptTable:
    """The attempts."""

    def __init__(self, transaction: Transaction) -> None:
        self._in = transaction

    async def hold(self, device_id: str) -> None:
        """Keep other writers from the attempts of a device until the transaction ends."""
        await self._in.lock(f"vixio.firmware {device_id}")

    async def of_device(self, device_id: str) -> Sequence[Attempt]:
        """Return the attempts of a device, the newest first."""
        rows = await self._in.fetch(
            "SELECT * FROM firmware_attempts WHERE device_id = :device_id "
            "ORDER BY offered_at DESC, id DESC",
            device_id=device_id,
        )
        return [Attempt.of(row) for row in rows]

    async def all(
        self, *, device_id: str = "", board: str = "", version: str = "", limit: int = 100
    ) -> Sequence[Attempt]:
        """Return the newest attempts first; empty: of all."""
        rows = await self._in.fetch(
            "SELECT * FROM firmware_attempts WHERE CAST(:device_id AS TEXT) IN ('', device_id) "
            "AND CAST(:board AS TEXT) IN ('', board) AND CAST(:version AS TEXT) IN ('', version) "
            "ORDER BY offered_at DESC, id DESC LIMIT :limit",
            device_id=device_id,
            board=board,
            version=version,
            limit=limit,
        )
        return [Attempt.of(row) for row in rows]

    async def counts(self) -> dict[tuple[str, str], dict[str, int]]:
        """Return how many devices are in which state, by board and version.

        Each device counts once for an image, with its last attempt.
        """
        rows = await self._in.fetch(
            "SELECT board, version, state, COUNT(*) AS number FROM firmware_attempts AS each "
            "WHERE NOT EXISTS (SELECT 1 FROM firmware_attempts AS later "
            "WHERE later.device_id = each.device_id AND later.board = each.board "
            "AND later.version = each.version AND (later.offered_at > each.offered_at "
            "OR (later.offered_at = each.offered_at AND later.id > each.id))) "
            "GROUP BY board, version, state"
        )
        counts: dict[tuple[str, str], dict[str, int]] = {}
        for row in rows:
            counts.setdefault((row["board"], row["version"]), {})[row["state"]] = row["number"]
        return counts

    async def add(self, attempt: Attempt) -> bool:
        """Add an attempt; return false if the device is not in the registry."""
        added = await self._in.execute(
            "INSERT INTO firmware_attempts (id, device_id, release_id, board, version, sha256, "
            "elf_sha256, from_version, forced, state, reason, size, sent, offered_at) "
            "SELECT CAST(:id AS BIGINT), id, CAST(:release_id AS BIGINT), CAST(:board AS TEXT), "
            "CAST(:version AS TEXT), CAST(:sha256 AS TEXT), CAST(:elf_sha256 AS TEXT), "
            "CAST(:from_version AS TEXT), CAST(:forced AS INTEGER), CAST(:state AS TEXT), '', "
            "CAST(:size AS BIGINT), 0, CAST(:offered_at AS BIGINT) "
            "FROM devices WHERE id = :device_id",
            id=attempt.id,
            device_id=attempt.device_id,
            release_id=attempt.release_id,
            board=attempt.board,
            version=attempt.version,
            sha256=attempt.sha256,
            elf_sha256=attempt.elf_sha256,
            from_version=attempt.from_version,
            forced=int(attempt.forced),
            state=str(attempt.state),
            size=attempt.size,
            offered_at=attempt.offered_at,
        )
        await self._in.execute(
            "DELETE FROM firmware_attempts WHERE device_id = :device_id AND forced = 0 "
            "AND id NOT IN (SELECT id FROM firmware_attempts WHERE device_id = :device_id "
            "ORDER BY offered_at DESC, id DESC LIMIT :kept)",
            device_id=attempt.device_id,
            kept=ATTEMPTS_KEPT,
        )
        return bool(added)

    async def set(self, attempt: Attempt) -> None:
        """Write how far an attempt has come."""
        await self._in.execute(
            "UPDATE firmware_attempts SET state = :state, reason = :reason, sent = :sent, "
            "started_at = :started_at, finished_at = :finished_at, ended_at = :ended_at "
            "WHERE id = :id AND device_id = :device_id",
            id=attempt.id,
            device_id=attempt.device_id,
            state=str(attempt.state),
            reason=attempt.reason,
            sent=attempt.sent,
            started_at=attempt.started_at,
            finished_at=attempt.finished_at,
            ended_at=attempt.ended_at,
        )

    async def find(self, attempt_id: int, device_id: str) -> Attempt | None:
        """Return an attempt of a device; None if it is gone."""
        row = await self._in.fetch_one(
            "SELECT * FROM firmware_attempts WHERE id = :id AND device_id = :device_id",
            id=attempt_id,
            device_id=device_id,
        )
        return Attempt.of(row) if row else None
