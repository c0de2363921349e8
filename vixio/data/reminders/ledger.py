"""How a delivery becomes exactly one: each step is a transaction, and is made before its effect.

``pending`` → ``claimed`` when its turn to be said has come → ``speaking`` before the first sound →
``delivered``. A process that ends in between leaves a lease that runs out: what was claimed is free
again, what was being said is ``unknown``, for it may have been heard.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vixio.data.database.database import Database
from vixio.data.reminders.records import WAITING, Delivery, State
from vixio.data.reminders.tables import DeliveryTable, Due

_log = logging.getLogger(__name__)

CLAIM_MS: Final = 60_000
"""How long others leave a claimed delivery alone: longer than a voice takes for its first sound."""

SPEAKING_MS: Final = 10 * 60_000
"""The same for one that is being said: longer than all that is said at once takes."""

RETRY_MS: Final = 60_000
"""After a failure, and after the user has cut it before it was heard."""

ATTEMPTS: Final = 3
"""Then it has failed."""

TOGETHER: Final = 8
"""How many are said at once; the others follow behind."""

KEEP_MS: Final = 30 * 24 * 3_600_000
"""How long the record of one that is over is kept."""


class Ended(NamedTuple):
    """What became of a delivery at last; PENDING: it was shown, and is still to be said."""

    delivery: Delivery
    state: State


@dataclass(frozen=True, slots=True)
class Look:
    """What is due, by device, and when there will be more to do (milliseconds since 1970)."""

    due: Mapping[str, Sequence[Due]]
    next_at: int | None
    ended: Sequence[Ended] = ()
    """What was not delivered, and is noted now."""


async def look(database: Database, now: int) -> Look:
    """Return what is due. What has expired is noted, and what a process left behind."""
    async with database.transaction(write=False) as transaction:
        table = DeliveryTable(transaction)
        settle = bool(await table.overdue(now) or await table.lost(now))
        found = Look(await table.due(now), await table.next_at(now))
    if not settle:
        return found
    ended = await _settle(database, now)
    async with database.transaction(write=False) as transaction:
        table = DeliveryTable(transaction)
        return Look(await table.due(now), await table.next_at(now), ended)


async def _settle(database: Database, now: int) -> Sequence[Ended]:
    ended: list[Ended] = []
    async with database.transaction() as transaction:
        table = DeliveryTable(transaction)
        await transaction.lock("vixio.deliveries")
        for delivery in await table.overdue(now):
            if await table.change(
                delivery.id,
                WAITING,
                state=State.EXPIRED.value,
                ended_at=now,
                reason="it could not be said in time",
            ):
                await _repeat(table, delivery, now)
                ended.append(Ended(delivery, State.EXPIRED))
        ended += [
            Ended(delivery, State.UNKNOWN)
            for delivery in await table.lost(now)
            if await table.change(
                delivery.id,
                (State.SPEAKING,),
                state=State.UNKNOWN.value,
                ended_at=now,
                reason="the server ended while it was said",
            )
        ]
        await table.forget(now - KEEP_MS)
    for delivery, state in ended:
        _log.info(
            "not delivered",
            extra={
                "device": delivery.device_id,
                "delivery": delivery.id,
                "kind": delivery.kind.value,
                "state": state.value,
            },
        )
    return ended


async def claim(
    database: Database,
    device_id: str,
    owner: str,
    now: int,
    *,
    quiet: bool = False,
    again: bool = True,
) -> Sequence[Delivery]:
    """Take what is due for a device, the most important first.

    ``quiet``: only what is for quiet hours. ``again``: also what it has shown.
    """
    async with database.transaction() as transaction:
        table = DeliveryTable(transaction)
        await table.hold(device_id)
        lease = now + CLAIM_MS
        return await table.claim(device_id, owner, now, lease, TOGETHER, quiet=quiet, again=again)


async def begin(
    database: Database, device_id: str, owner: str, wanted: Sequence[str], now: int
) -> bool:
    """Note that these are about to be heard; false: not all of them may be, so none is."""
    async with database.transaction() as transaction:
        table = DeliveryTable(transaction)
        await table.hold(device_id)
        owned = await table.owned(owner, State.CLAIMED, State.SPEAKING)
        if {each.id for each in owned} != set(wanted):
            return False
        for delivery in owned:
            await table.change(
                delivery.id,
                (State.CLAIMED, State.SPEAKING),
                state=State.SPEAKING.value,
                lease_until=now + SPEAKING_MS,
            )
            # Now and not behind it: a process that is killed in between leaves the next one.
            await _repeat(table, delivery, now)
    return True


async def end(
    database: Database,
    device_id: str,
    owner: str,
    heard: Mapping[str, str],
    now: int,
    failed: str = "",
    *,
    shown: bool = False,
) -> Sequence[Ended]:
    """Note what was heard, by the id of each; what is not among them will be tried again.

    Returns those that are over now, or were shown. ``failed``: why not, which counts; empty: it
    could not have been said, which does not. ``shown``: whether the device has shown it instead.
    """
    ended: list[Ended] = []
    async with database.transaction() as transaction:
        table = DeliveryTable(transaction)
        await table.hold(device_id)
        for delivery in await table.owned(owner, State.CLAIMED, State.SPEAKING):
            mine = (State.CLAIMED, State.SPEAKING)
            if delivery.id in heard:
                await table.change(
                    delivery.id,
                    mine,
                    state=State.DELIVERED.value,
                    ended_at=now,
                    heard=heard[delivery.id],
                )
                ended.append(Ended(delivery, State.DELIVERED))
            elif failed and delivery.attempts + 1 >= ATTEMPTS:
                await table.change(
                    delivery.id,
                    mine,
                    state=State.FAILED.value,
                    attempts=delivery.attempts + 1,
                    ended_at=now,
                    reason=failed,
                )
                await _repeat(table, delivery, now)
                ended.append(Ended(delivery, State.FAILED))
            else:
                await table.change(
                    delivery.id,
                    mine,
                    state=State.PENDING.value,
                    owner="",
                    lease_until=0,
                    attempts=delivery.attempts + bool(failed),
                    not_before=now + RETRY_MS if failed else delivery.not_before,
                    shown_at=now if shown else delivery.shown_at,
                )
                ended += [Ended(delivery, State.PENDING)] * shown
    return ended


async def _repeat(table: DeliveryTable, delivery: Delivery, now: int) -> None:
    """Add the next one of a repeated delivery, if it is not there."""
    rule = delivery.repeat
    if rule is None or await table.has_later(delivery):
        return
    due = rule.next(max(delivery.due_at, now))
    await table.add(
        replace(
            delivery,
            id=secrets.token_hex(6),
            due_at=due,
            not_before=due,
            expires_at=due + delivery.expires_at - delivery.due_at,
            state=State.PENDING,
            owner="",
            lease_until=0,
            attempts=0,
            shown_at=None,
        )
    )
