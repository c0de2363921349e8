"""What the stream says of devices outside their conversations: as :mod:`vixio.web.feed.content`."""

from __future__ import annotations

from typing import Any, Final

from vixio.data.devices.firmware.attempts import Attempt, AttemptState
from vixio.data.devices.records import DeviceRecord
from vixio.data.reminders.ledger import Ended
from vixio.data.reminders.records import State
from vixio.data.reminders.repository import ReminderChange
from vixio.web.feed.content import CHANGED, Content

FIRMWARE: Final = "firmware"
REMINDER: Final = "reminder"


def waiting(device: DeviceRecord) -> Content:
    """Of a device that asks to be let in for the first time, or with a new code."""
    fields = {"board": device.board, "firmware": device.firmware, "address": device.address}
    return Content("device.waiting", {**fields, "code": device.code or ""})


def attempt(attempt: Attempt) -> Content:
    """Of firmware that a device is offered, or of how that ended."""
    fields: dict[str, Any] = {"attempt": attempt.id, "version": attempt.version}
    fields |= {"from_version": attempt.from_version, "forced": attempt.forced}
    if attempt.ended_at is None:
        return Content("firmware.offered", fields, about=FIRMWARE)
    fields |= {"state": attempt.state.value, "reason": attempt.reason}
    return Content("firmware.ended", fields, about=FIRMWARE)


def download(attempt: int, version: str, state: AttemptState, sent: int, reason: str) -> Content:
    """Of a step of a download; ``sent``: bytes so far."""
    fields = {"attempt": attempt, "version": version, "state": state.value}
    return Content("firmware.download", {**fields, "sent": sent, "reason": reason}, about=FIRMWARE)


def reminder_changed(change: ReminderChange) -> Content:
    """Of a reminder that a user has set or cancelled by voice: as if it were a change."""
    delivery = change.delivery
    fields = {"about": REMINDER, "key": delivery.id, "action": change.action, "actor": change.by}
    detail = {"kind": delivery.kind.value, "device": delivery.device_id}
    return Content(CHANGED, {**fields, "detail": detail}, about=REMINDER)


def ended(ended: Ended) -> Content:
    """Of a reminder that was delivered, or never will be; or was only shown, and waits."""
    delivery, shown = ended.delivery, ended.state is State.PENDING
    fields = {"reminder": delivery.id, "kind": delivery.kind.value, "state": ended.state.value}
    kind = "reminder.shown" if shown else "reminder.ended"
    return Content(kind, fields, {"text": delivery.text}, about=REMINDER)
