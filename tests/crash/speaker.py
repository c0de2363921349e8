"""Delivers reminders without a pause, and says each step once it is acknowledged.

A line is a JSON list: what was done, with which delivery. ``heard`` stands for the sound itself:
it is said between the record of the beginning and that of the end. The process is meant to be
killed.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from tests.crash.steps import opened, say
from vixio.core.wall_clock import now_ms
from vixio.data.reminders import ledger
from vixio.data.reminders.records import Kind, Order, ReminderError
from vixio.data.reminders.repository import ReminderRepository

DEVICES = 3


async def work(folder: str, url: str, prefix: str) -> None:
    """Add deliveries for a few devices, and say what is due, without an end."""
    database = await opened(folder, url)
    repository = ReminderRepository(database)
    number = 0
    while True:
        number += 1
        device_id = f"device-{number % DEVICES}"  # the other process says some of them
        order = Order(kind=Kind.REMINDER, device_id=device_id, due_at=now_ms(), text="tea")
        say("added", (await repository.add(order)).id)
        if number % 5 == 0:
            gone = await repository.add(order)
            with suppress(ReminderError):  # the other process has said it
                await repository.cancel(gone.id, "me")
                say("cancelled", gone.id)
        owner = f"{prefix}-{number}"
        claimed = await ledger.claim(database, device_id, owner, now_ms())
        ids = [each.id for each in claimed]
        if ids and await ledger.begin(database, device_id, owner, ids, now_ms()):
            for each in ids:
                say("heard", each)
            heard = dict.fromkeys(ids, "Reminder: tea.")
            await ledger.end(database, device_id, owner, heard, now_ms())
            for each in ids:
                say("delivered", each)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
