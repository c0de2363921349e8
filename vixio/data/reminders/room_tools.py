"""Messages to other devices, by the names of devices, rooms and people."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject
from vixio.data.reminders.asked import done
from vixio.data.reminders.names import Listener, Listeners, names_of
from vixio.data.reminders.records import Kind, Order
from vixio.data.reminders.service import ReminderService


class RoomTools:
    """The tools that speak to other devices."""

    def __init__(self, service: ReminderService, listeners: Listeners) -> None:
        self._service = service
        self._listeners = listeners

    async def tell_device(self, to: str, text: str, context: ToolContext) -> JsonObject:
        """Pass a message on to another room or to somebody: the device there says it.

        Args:
            to: The name of the device, the room or the person, such as kitchen.
            text: What to say, in words for the listener, such as dinner is ready.
        """
        others = self._listeners.named(to, but=context.device_id)
        if not others:
            known = names_of(self._listeners.for_all(context.device_id))
            spoken = message("no_such_device", context.language, name=to)
            return {"told": [], "known_devices": known[:50], "spoken": spoken}
        return await self._say(Kind.MESSAGE, others, text, context)

    async def announce(self, text: str, context: ToolContext) -> JsonObject:
        """Say something on all other devices.

        Args:
            text: What to say, in words for the listeners.
        """
        others = self._listeners.for_all(context.device_id)
        if not others:
            return {"told": [], "spoken": message("no_other_device", context.language)}
        return await self._say(Kind.ANNOUNCEMENT, others, text, context)

    async def _say(
        self, kind: Kind, listeners: Collection[Listener], text: str, context: ToolContext
    ) -> JsonObject:
        me = self._listeners.find(context.device_id)
        order = Order(
            kind=kind,
            device_id="",
            due_at=self._service.clock(),
            text=text,
            created_by=f"device:{context.device_id}",
            sender=me.called if me is not None else "",
        )
        orders = [replace(order, device_id=each.device_id) for each in listeners]
        added = await done(
            self._service.with_repository(lambda repository: repository.announce(orders))
        )
        told = {each.device_id for each in added}
        connected = [each for each in listeners if each.device_id in told and each.connected]
        key = "passed_on" if connected else "passed_on_later"
        return {
            "told": [each.called or each.device_id for each in listeners if each.device_id in told],
            "connected": len(connected),
            "spoken": message(key, context.language),
        }
