"""What tools, commands and the API do with deliveries, each in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database, Transaction
from vixio.data.reminders.records import (
    MAX_TEXT,
    WAITING,
    Delivery,
    Kind,
    Order,
    ReminderError,
    State,
)
from vixio.data.reminders.tables import DeliveryTable

HOUR_MS: Final = 3_600_000

STALE_MS: Final = {Kind.TIMER: HOUR_MS, Kind.ALARM: HOUR_MS, Kind.ANNOUNCEMENT: HOUR_MS}
"""How long after its time a thing of this kind is worth saying at most: nobody wants to hear in the
evening that dinner was ready at noon."""

FARTHEST_MS: Final = 5 * 366 * 24 * HOUR_MS
"""How far ahead something may be due."""


BY_VOICE: Final = "device:"
"""Prefix of the actor of a change that was made by voice."""


class ReminderChange(NamedTuple):
    """What a user had done by voice: ``set`` or ``cancelled``."""

    action: str
    delivery: Delivery
    by: str


@dataclass(frozen=True, slots=True)
class Limits:
    """``expires_ms``: how long after its time a thing is worth saying; ``per_device``: how many
    wait for one device at most."""

    expires_ms: int = 24 * HOUR_MS
    per_device: int = 100


class ReminderRepository:
    """The operations on an open database. ``clock``: milliseconds since 1970."""

    def __init__(
        self,
        database: Database,
        limits: Limits = Limits(),
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._database = database
        self._limits = limits
        self._clock = clock
        self.changes: list[ReminderChange] = []
        """What users had done by voice."""

    async def add(self, order: Order) -> Delivery:
        """Have something said to a device. Raises ReminderError."""
        delivery = self._delivery(order)
        async with self._database.transaction() as transaction:
            if not await self._added(transaction, delivery):
                raise ReminderError(
                    f"{self._limits.per_device} things wait for this device already: cancel some "
                    "(`vixio reminders`)"
                )
            await self._note(transaction, "set", delivery, delivery.created_by)
        return delivery

    async def announce(self, orders: Sequence[Order]) -> list[Delivery]:
        """Have something said to many devices; return what was added.

        A device for which too much waits is left out. Raises ReminderError.
        """
        deliveries = [self._delivery(order) for order in orders]
        series = deliveries[0].id if deliveries else ""
        added = []
        async with self._database.transaction() as transaction:
            # In one order, so that two announcements do not wait for each other.
            for each in sorted(deliveries, key=lambda each: each.device_id):
                delivery = replace(each, series=series)
                if await self._added(transaction, delivery):
                    added.append(delivery)
            if added:
                first = added[0]
                await self._note(transaction, "set", first, first.created_by, len(added))
        return added

    async def cancel(self, delivery_id: str, by: str) -> Delivery:
        """Cancel what has not begun to be said; a repeated one will not come again.

        Raises ReminderError.
        """
        async with self._database.transaction() as transaction:
            table = DeliveryTable(transaction)
            delivery = await table.find(delivery_id)
            if delivery is None:
                raise ReminderError(
                    f"nothing with the id {delivery_id} is known: `vixio reminders` lists them"
                )
            await table.hold(delivery.device_id)
            cancelled = await table.change(
                delivery_id,
                WAITING,
                state=State.CANCELLED.value,
                ended_at=self._clock(),
                reason=f"cancelled by {by}" if by else "cancelled",
            )
            found = await table.find(delivery_id)
            if not cancelled or found is None:
                state = (found or delivery).state.value
                raise ReminderError(f"it cannot be cancelled any more: it is {state}")
            await self._note(transaction, "cancelled", found, by)
        return found

    async def delivery(self, delivery_id: str) -> Delivery:
        """Return a delivery. Raises ReminderError."""
        async with self._database.transaction(write=False) as transaction:
            found = await DeliveryTable(transaction).find(delivery_id)
        if found is None:
            raise ReminderError(
                f"nothing with the id {delivery_id} is known: `vixio reminders` lists them"
            )
        return found

    async def deliveries(
        self,
        device_id: str = "",
        *,
        kinds: Collection[Kind] = (),
        series: str = "",
        over: bool = False,
        past: bool = False,
        limit: int = 1_000,
        offset: int = 0,
    ) -> list[Delivery]:
        """Return those of a device or of all, the next due first. ``over``: also those that are;
        ``past``: only those, the last that ended first."""
        async with self._database.transaction(write=False) as transaction:
            return await DeliveryTable(transaction).all(
                device_id,
                kinds=kinds,
                series=series,
                over=over,
                past=past,
                limit=limit,
                offset=offset,
            )

    async def _added(self, transaction: Transaction, delivery: Delivery) -> bool:
        table = DeliveryTable(transaction)
        await table.hold(delivery.device_id)
        if await table.waiting_count(delivery.device_id) >= self._limits.per_device:
            return False
        await table.add(delivery)
        return True

    async def _note(
        self,
        transaction: Transaction,
        action: str,
        delivery: Delivery,
        actor: str,
        devices: int = 1,
    ) -> None:
        """Add to the audit trail what operators and programs do, without the words.

        What users say to their devices is told, and not kept there: it would drown the rest.
        """
        if actor.startswith(BY_VOICE):
            self.changes.append(ReminderChange(action, delivery, actor))
            return
        key = delivery.id if devices == 1 else delivery.series
        where = {"device": delivery.device_id} if devices == 1 else {"devices": devices}
        await AuditTable(transaction).add(
            self._clock(), actor, action, f"reminder:{key}", kind=delivery.kind.value, **where
        )

    def _delivery(self, order: Order) -> Delivery:
        now = self._clock()
        text = " ".join(order.text.split())
        if len(text) > MAX_TEXT or not text.isprintable():
            raise ReminderError(f"at most {MAX_TEXT} characters, without control characters")
        if not text and order.kind in (Kind.MESSAGE, Kind.ANNOUNCEMENT):
            raise ReminderError("there is nothing to say: give a text")
        if not now - HOUR_MS <= order.due_at <= now + FARTHEST_MS:
            raise ReminderError("the time is in the past, or more than five years ahead")
        expires_ms = order.expires_ms
        if expires_ms is None:
            expires_ms = min(self._limits.expires_ms, STALE_MS.get(order.kind, FARTHEST_MS))
        new_id = secrets.token_hex(6)
        return Delivery(
            id=new_id,
            series=new_id,
            kind=order.kind,
            device_id=order.device_id,
            text=text,
            length_ms=order.length_ms,
            due_at=order.due_at,
            not_before=order.due_at,
            rule=str(order.rule) if order.rule is not None else "",
            zone=order.rule.zone if order.rule is not None else "",
            priority=order.priority,
            expires_at=order.due_at + max(1, expires_ms),
            created_at=now,
            created_by=order.created_by,
            sender=" ".join(order.sender.split())[:MAX_TEXT],
        )
