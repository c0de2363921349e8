"""Firmware as a running server uses it: offers to devices that ask, and what becomes of them.

A device never waits long for the database: without an answer it is offered nothing. How a download
proceeds is written behind.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from vixio.core.metrics import Counters
from vixio.core.wall_clock import now_ms
from vixio.data.database.database import Database, Transaction
from vixio.data.database.link import Link, Operation, Rejected, Unavailable
from vixio.data.database.write_behind import WriteBehind
from vixio.data.devices.firmware.attempts import Attempt, AttemptState, broken_off, history, settle
from vixio.data.devices.firmware.folder import FirmwareFolder
from vixio.data.devices.firmware.offer import Offer, Stated, choose
from vixio.data.devices.firmware.tables import AttemptTable, ReleaseTable

_log = logging.getLogger(__name__)

ANSWER_S: Final = 3.0
"""How long a device's question waits for the database."""

MAX_KEPT: Final = 1_000
"""Of the steps of different downloads, while the database cannot be reached."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far the download of an attempt has come."""

    device_id: str
    state: AttemptState
    sent: int
    at: int
    began: int
    """When the first step was noted that is not written yet."""
    reason: str = ""
    """Why the download was refused; empty: it was not."""


class FirmwareService:
    """``folder``: of the images that this server can send. ``clock``: milliseconds since 1970."""

    def __init__(
        self,
        link: Link[Database],
        folder: FirmwareFolder,
        counters: Counters,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._link = link
        self._folder = folder
        self._counters = counters
        self._clock = clock
        self.on_attempt: Callable[[Attempt], None] = lambda _attempt: None
        """Called with an offer, and with how it ended."""
        self._behind: WriteBehind[dict[int, Step], None] = WriteBehind(
            link,
            dict,
            _write_steps,
            singly=lambda steps: [{number: step} for number, step in steps.items()],
            dropped=lambda _step: counters.add("firmware.rejected"),
        )

    async def stop(self) -> None:
        """Write what is left, for a bounded time. Idempotent."""
        if not await self._behind.close():
            self._counters.add("firmware.notes_lost", len(self._unwritten))

    @property
    def _unwritten(self) -> dict[int, Step]:
        """The newest step of each download, of those that are not written."""
        return {number: step for some in self._behind.unwritten for number, step in some.items()}

    async def offer(self, device: Stated) -> Attempt | None:
        """Note that a device is back, and return the attempt that it is offered, if any.

        Never raises.
        """
        own = {
            number: step
            for number, step in self._unwritten.items()
            if step.device_id == device.device_id
        }
        try:
            async with asyncio.timeout(ANSWER_S):
                ended, attempt = await self._link.call(
                    Operation(partial(_visit, device, self._folder, own, self._clock()))
                )
        except (Unavailable, Rejected, TimeoutError):
            self._counters.add("firmware.offline_visits")
            return None
        if ended is not None:
            self._counters.add(f"firmware.{ended.state}")
            why = {"reason": ended.reason} if ended.reason else {}
            _log.info("firmware update ended", extra=_fields(ended) | {"state": ended.state} | why)
            self.on_attempt(ended)
        if attempt is not None:
            self._counters.add("firmware.offered")
            _log.info("firmware offered", extra=_fields(attempt) | {"forced": attempt.forced})
            self.on_attempt(attempt)
        return attempt

    def note(
        self, attempt_id: int, device_id: str, state: AttemptState, sent: int, reason: str = ""
    ) -> None:
        """Note a step of a download. Returns at once."""
        at = self._clock()
        steps = self._behind.batch
        earlier = steps.pop(attempt_id, None)
        began = earlier.began if earlier is not None else at
        steps[attempt_id] = Step(device_id, state, sent, at, began, reason)
        if len(steps) > MAX_KEPT:
            del steps[next(iter(steps))]
            self._counters.add("firmware.notes_lost")
        self._behind.touch()


async def _visit(
    device: Stated, folder: FirmwareFolder, steps: dict[int, Step], at: int, database: Database
) -> tuple[Attempt | None, Attempt | None]:
    """Settle the last attempt of a device, and offer it another one; return both.

    Mostly there is neither, and nothing is written.
    """
    async with database.transaction(write=False) as transaction:
        if await _decide(transaction, device, folder, steps, at) == (None, None):
            return None, None
    async with database.transaction() as transaction:
        table = AttemptTable(transaction)
        await table.hold(device.device_id)
        ended, attempt = await _decide(transaction, device, folder, steps, at)
        if ended is not None:
            await table.set(ended)
        if attempt is not None and not await table.add(attempt):
            attempt = None  # the registry has forgotten the device meanwhile
    return ended, attempt


async def _decide(
    transaction: Transaction,
    device: Stated,
    folder: FirmwareFolder,
    steps: dict[int, Step],
    at: int,
) -> tuple[Attempt | None, Attempt | None]:
    """Return the last attempt if it has ended now, and the next one; None: there is none."""
    attempts = list(await AttemptTable(transaction).of_device(device.device_id))
    releases = await ReleaseTable(transaction).all(device.board) if device.board else []
    ended: Attempt | None = None
    if attempts:
        step = steps.get(attempts[0].id)
        last = _stepped(attempts[0], step) if step is not None else attempts[0]
        ended = settle(last, device, at)
        attempts[0] = ended or last
        if ended is not None and ended.state is AttemptState.INSTALLED:
            # It confirms the new image only behind this answer, and takes no other one before
            # (application.cc, CheckNewVersion; ESP_ERR_OTA_ROLLBACK_INVALID_STATE).
            return ended, None
    retry_from = {each.release.sha256: each.retry_from for each in releases}
    # Several servers may share the database, each with a folder of its own.
    there = [
        each.release for each in releases if folder.has(each.release.board, each.release.version)
    ]
    offer = choose(device, there, history(attempts, retry_from))
    return ended, _attempt(device, offer, at) if offer is not None else None


def _attempt(device: Stated, offer: Offer, at: int) -> Attempt:
    release = offer.release
    return Attempt(
        id=secrets.randbelow(2**53),
        device_id=device.device_id,
        release_id=release.id,
        board=release.board,
        version=release.version,
        sha256=release.sha256,
        elf_sha256=release.elf_sha256,
        from_version=device.version,
        forced=offer.force,
        size=release.size,
        offered_at=at,
    )


async def _write_steps(steps: dict[int, Step], database: Database) -> None:
    """Write steps of downloads. Doing it twice changes nothing."""
    async with database.transaction() as transaction:
        table = AttemptTable(transaction)
        in_order = sorted(steps.items(), key=lambda item: item[1].device_id)  # so no deadlock
        for attempt_id, step in in_order:
            await table.hold(step.device_id)
            known = await table.find(attempt_id, step.device_id)
            if known is not None:
                await table.set(_stepped(known, step))


def _stepped(attempt: Attempt, step: Step) -> Attempt:
    """Return the attempt as it is after a step of its download.

    A step that another process writes when the device is back already changes only the figures.
    """
    over = attempt.ended_at is not None
    refused = bool(step.reason)
    reason = step.reason
    if step.state is AttemptState.FAILED and not refused:
        reason = broken_off(step.sent, attempt.size)
    return replace(
        attempt,
        state=attempt.state if over else step.state,
        reason=attempt.reason if over else reason,
        sent=step.sent,
        started_at=attempt.started_at if refused else (attempt.started_at or step.began),
        finished_at=step.at if step.state is AttemptState.DOWNLOADED else attempt.finished_at,
    )


def _fields(attempt: Attempt) -> dict[str, Any]:
    """Return the fields of a log line about an attempt."""
    return {
        "device": attempt.device_id,
        "board": attempt.board,
        "firmware": attempt.version,
        "from_version": attempt.from_version,
    }
