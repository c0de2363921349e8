"""Timers, alarms and reminders of the device that is spoken to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

from vixio.core.errors import ToolError
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject
from vixio.data.reminders.asked import Day, at_time, done, length_ms, when
from vixio.data.reminders.names import Listeners
from vixio.data.reminders.records import WAITING, Delivery, Kind, Order
from vixio.data.reminders.repository import ReminderRepository
from vixio.data.reminders.schedule import Rule, local
from vixio.data.reminders.service import ReminderService
from vixio.data.reminders.words import duration

OWN: Final = (Kind.TIMER, Kind.ALARM, Kind.REMINDER)
"""What a user has set for the device that is asked."""

_MAX_LISTED: Final = 5
"""How many of a list are said."""

_MAX_TOLD: Final = 1_000
"""Devices whose last list is remembered."""

KindName = Literal["timer", "alarm", "reminder", ""]


class OwnTools:
    """The tools for the device of the turn."""

    def __init__(self, service: ReminderService, listeners: Listeners) -> None:
        self._service = service
        self._listeners = listeners
        self._told: OrderedDict[str, list[str]] = OrderedDict()
        """By device: the ids of the list that was told last, so that "the second one" is meant."""

    async def set_timer(
        self,
        context: ToolContext,
        hours: int = 0,
        minutes: int = 0,
        seconds: int = 0,
        label: str = "",
    ) -> JsonObject:
        """Set a timer. The device says when it is over. Give at least one of the lengths.

        Args:
            hours: Of the length.
            minutes: Of the length; 90 is allowed.
            seconds: Of the length; 600 is allowed.
            label: What it is for, if the user said so, such as pasta.
        """
        length = length_ms(hours, minutes, seconds)
        now = self._service.clock()
        order = Order(
            kind=Kind.TIMER,
            device_id=self._device(context),
            due_at=now + length,
            text=label,
            length_ms=length,
            created_by=f"device:{context.device_id}",
        )
        return await self._set(
            order,
            message("timer_set", context.language, duration=duration(length, context.language)),
        )

    async def set_reminder(
        self,
        context: ToolContext,
        text: str = "",
        hours: int = 0,
        minutes: int = 0,
        seconds: int = 0,
        at: str = "",
        day: str = "",
        days: list[Day] | None = None,
    ) -> JsonObject:
        """Remind the user of something, in some time or at a local time.

        Args:
            text: What of, as it is to be said to the user, such as take your pills.
            hours: In how many hours; with minutes and seconds, if it is in some time.
            minutes: In how many minutes.
            seconds: In how many seconds.
            at: The local time as HH:MM, if it is at a time of day.
            day: The local date as YYYY-MM-DD; empty for the next time that it is this late.
            days: On which days again and again; empty for once.
        """
        language, zone = context.language, self._service.zone
        now = self._service.clock()
        rule: Rule | None = None
        if at:
            due, rule = at_time(at, day, days or (), zone, now)
            spoken = message("reminder_at", language, time=when(due, now, language, zone))
        else:
            length = length_ms(hours, minutes, seconds)
            due = now + length
            spoken = message("reminder_in", language, duration=duration(length, language))
        order = Order(
            kind=Kind.REMINDER,
            device_id=self._device(context),
            due_at=due,
            text=text,
            rule=rule,
            created_by=f"device:{context.device_id}",
        )
        return await self._set(order, spoken)

    async def set_alarm(
        self,
        context: ToolContext,
        hour: int,
        minute: int = 0,
        half: Literal["am", "pm", ""] = "",
        day: Literal["today", "tomorrow", ""] = "",
        label: str = "",
        days: list[Day] | None = None,
    ) -> JsonObject:
        """Set an alarm at a local time, once or on some days of every week.

        Args:
            hour: 0 to 23; with half, 1 to 12.
            minute: 0 to 59.
            half: Of the day, for a clock of twelve hours; empty for one of 24.
            day: If the user named it; empty for the next time that it is this late.
            label: What it is for, if the user said so.
            days: On which days again and again; empty for once, at the next such time.
        """
        if half:
            hour = hour % 12 + (12 if half == "pm" else 0)
        now, zone = self._service.clock(), self._service.zone
        due, rule = at_time(f"{hour:02d}:{minute:02d}", day, days or (), zone, now)
        order = Order(
            kind=Kind.ALARM,
            device_id=self._device(context),
            due_at=due,
            text=label,
            rule=rule,
            created_by=f"device:{context.device_id}",
        )
        told = message("alarm_at", context.language, time=when(due, now, context.language, zone))
        return await self._set(order, told)

    async def list_timers(self, context: ToolContext, kind: KindName = "") -> JsonObject:
        """Get the timers, alarms and reminders that are set, the next one first.

        Args:
            kind: Only those of this kind; empty for all.
        """
        found = await self._waiting(context, kind)
        self._tell(context, found)
        now, language = self._service.clock(), context.language
        spoken = message("none_set", language)
        if found:
            listed = self._listed(found, now, language)
            spoken = message("set_listed", language, n=len(found), listed=listed)
        items = [self._data(number, each, now) for number, each in enumerate(found, 1)]
        return {"set": items, "spoken": spoken}

    async def cancel_timer(
        self, context: ToolContext, which: str = "", kind: KindName = ""
    ) -> JsonObject:
        """Cancel timers, alarms or reminders. One that repeats does not come again.

        Args:
            which: Its number in the last list, or words of its label; all for all of them; empty if
                there is only one.
            kind: Only of this kind; empty for any.
        """
        found = await self._waiting(context, kind)
        chosen = self._chosen(context, found, which)
        language = context.language
        if not chosen:
            if not found or which.strip():
                return {"cancelled": [], "spoken": message("none_set", language)}
            self._tell(context, found)
            listed = self._listed(found, self._service.clock(), language)
            return {"cancelled": [], "spoken": message("which_set", language, listed=listed)}
        gone = []
        for each in chosen:
            try:
                by = f"device:{context.device_id}"
                gone.append(await done(self._service.with_repository(_cancelling(each.id, by))))
            except ToolError:
                if len(chosen) == 1:
                    raise
        now = self._service.clock()
        return {
            "cancelled": [self._data(number, each, now) for number, each in enumerate(gone, 1)],
            "spoken": message("set_cancelled", language, n=len(gone)),
        }

    async def _set(self, order: Order, spoken: str) -> JsonObject:
        delivery = await done(
            self._service.with_repository(lambda repository: repository.add(order))
        )
        return {**self._data(0, delivery, self._service.clock()), "spoken": spoken}

    async def _waiting(self, context: ToolContext, kind: KindName) -> list[Delivery]:
        device, kinds = self._device(context), (Kind(kind),) if kind else OWN
        found = await done(
            self._service.with_repository(
                lambda repository: repository.deliveries(device, kinds=kinds)
            )
        )
        return [each for each in found if each.state in WAITING]

    def _chosen(
        self, context: ToolContext, found: Sequence[Delivery], which: str
    ) -> list[Delivery]:
        wanted = which.strip().casefold()
        if not wanted:
            return list(found) if len(found) == 1 else []
        if wanted == "all":
            return list(found)
        if wanted.isdecimal():
            there = {each.id: each for each in found}
            told = self._told.get(context.device_id)
            order = told if told is not None else list(there)
            number = int(wanted)
            if not 1 <= number <= len(order):
                return []
            return [there[order[number - 1]]] if order[number - 1] in there else []
        if wanted == "last":
            return list(found[-1:])
        return [each for each in found if wanted in each.text.casefold()]

    def _tell(self, context: ToolContext, found: Sequence[Delivery]) -> None:
        self._told[context.device_id] = [each.id for each in found]
        self._told.move_to_end(context.device_id)
        while len(self._told) > _MAX_TOLD:
            self._told.popitem(last=False)

    def _listed(self, found: Sequence[Delivery], now: int, language: str) -> str:
        joint = message("facts_join", language)
        return joint.join(self._item(each, now, language) for each in found[:_MAX_LISTED])

    def _item(self, each: Delivery, now: int, language: str) -> str:
        zone = self._service.zone
        if each.kind is Kind.TIMER:
            left = duration(max(0, each.due_at - now), language)
            key = "timer_named_left" if each.text else "timer_left"
            return message(key, language, duration=left, name=each.text)
        key = "alarm_item" if each.kind is Kind.ALARM else "reminder_item"
        item = message(key, language, time=when(each.due_at, now, language, zone))
        return message("named_item", language, item=item, name=each.text) if each.text else item

    def _data(self, number: int, each: Delivery, now: int) -> JsonObject:
        zone = self._service.zone
        data: JsonObject = {"number": number} if number else {}
        data |= {"kind": each.kind.value, "at": local(each.due_at, zone).isoformat(" ", "minutes")}
        if each.text:
            data["text"] = each.text
        if each.kind is Kind.TIMER:
            data["seconds_left"] = max(0, round((each.due_at - now) / 1000))
        if each.rule:
            data["repeats"] = each.rule
        return data

    def _device(self, context: ToolContext) -> str:
        if self._listeners.find(context.device_id) is None:
            raise ToolError("no_device", "there is no device here that could speak later")
        return context.device_id


def _cancelling(delivery_id: str, by: str) -> Callable[[ReminderRepository], Awaitable[Delivery]]:
    return lambda repository: repository.cancel(delivery_id, by)
