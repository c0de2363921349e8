"""What the assistant is to say first: reminders, timers, alarms, messages, announcements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, Field

from vixio.core.errors import ToolError
from vixio.core.session.speech import Priority
from vixio.core.wall_clock import now_ms
from vixio.data.reminders.asked import Day, at_time
from vixio.data.reminders.records import MAX_TEXT, Delivery, Kind, Order, ReminderError
from vixio.data.reminders.repository import ReminderRepository
from vixio.data.reminders.service import RemindersUnavailable
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import Body, Filter, Limit, Offset
from vixio.web.api.problems import Problem, unavailable
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService

T = TypeVar("T")

DAY_S = 86_400

ReminderPath = Annotated[str, Path(description="Its id.", pattern="^[0-9a-f]{12}$")]
Text = Annotated[str, Field(max_length=MAX_TEXT, pattern=r"^[^\x00-\x1f\x7f]*$")]
DeviceName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$")]
Urgency = Literal["low", "normal", "high"]


class Reminder(BaseModel):
    """Something to be said to a device. Times are milliseconds since 1970."""

    id: str
    series: str = Field(description="Common to the devices of one announcement.")
    kind: str
    device_id: str
    online: bool = Field(
        description="Whether the device is connected now; otherwise it hears it at its next "
        "contact, or it expires."
    )
    text: str
    due_at: int
    expires_at: int
    rule: str = Field(description="When it repeats; empty: once.")
    priority: str
    state: str = Field(
        description="pending, claimed, speaking, delivered, expired, cancelled, failed or unknown"
    )
    created_at: int
    created_by: str
    ended_at: int | None
    heard: str = Field(description="What was heard of it.")
    reason: str
    shown_at: int | None = Field(
        description="When the device has shown it, since it cannot be made to speak while it is "
        "idle. It is said at the next contact."
    )


class ReminderList(BaseModel):
    """The next due first; of those that are over, the last that ended."""

    reminders: list[Reminder]
    zone: str = Field(
        description="The time zone of times of day, as an IANA name; empty: the server's."
    )


class Place(BaseModel):
    """A room, and the devices that the settings or a profile put there."""

    name: str
    devices: list[str] = Field(description="Their ids.")


class PlaceList(BaseModel):
    """All places, by name."""

    places: list[Place]


class ReminderBody(Body):
    """What to say, to whom, and when; at once if no time is given."""

    device: DeviceName = Field(description="Its id or its name.")
    kind: Literal["reminder", "timer", "alarm", "message"] = "reminder"
    text: Text = ""
    in_seconds: Annotated[int, Field(ge=0, le=366 * DAY_S)] = 0
    at: Annotated[str, Field(max_length=5, pattern="^([0-2][0-9]:[0-5][0-9])?$")] = Field(
        default="", description="A local time, HH:MM, in the assistant's time zone."
    )
    day: Annotated[str, Field(max_length=10, pattern="^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")] = Field(
        default="", description="With `at`: the day; empty: the next such time."
    )
    days: Annotated[list[Day], Field(max_length=7)] = Field(
        default_factory=list, description="With `at`: on these days, again and again."
    )
    priority: Urgency = "normal"


class AnnounceBody(Body):
    """What to say to many."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=r"^[^\x00-\x1f\x7f]*$")]
    devices: Annotated[list[DeviceName], Field(max_length=500)] = Field(
        default_factory=list,
        description="Ids or names. Without devices and places: all that are connected or have a "
        "name.",
    )
    places: Annotated[list[DeviceName], Field(max_length=100)] = Field(
        default_factory=list, description="Such as kitchen: all devices there, besides `devices`."
    )
    priority: Urgency = "normal"


async def list_reminders(
    service: Service,
    device: Filter = "",
    kind: Annotated[Kind | None, Query()] = None,
    series: Annotated[str, Query(pattern="^([0-9a-f]{12})?$")] = "",
    over: bool = False,
    past: bool = False,
    limit: Limit = 100,
    offset: Offset = 0,
) -> ReminderList:
    """List what is to be said, to all or to one device.

    ``over``: also what has been; ``past``: only that, the last first. ``series``: the devices of
    one announcement, or the times of what repeats.
    """
    device_id = (await service.device(device)).id if device else ""
    kinds = () if kind is None else (kind,)
    found = await _with_repository(
        service,
        lambda repository: repository.deliveries(
            device_id,
            kinds=kinds,
            series=series,
            over=over,
            past=past,
            limit=limit,
            offset=offset,
        ),
    )
    return _listed(service, found)


async def list_places(service: Service) -> PlaceList:
    """List the places of devices, for announcements."""
    found = service.ports.listeners.places()
    return PlaceList(
        places=[
            Place(name=name, devices=[each.device_id for each in there])
            for name, there in found.items()
        ]
    )


async def show_reminder(service: Service, reminder: ReminderPath) -> Reminder:
    """Show one, also after it was said."""
    return _reminder(service, await _known(service, reminder))


async def add_reminder(service: Service, who: Who, body: ReminderBody) -> Reminder:
    """Have something said to a device. The answer says whether the device is connected."""
    device = await service.device(body.device)
    if body.at and body.in_seconds:
        raise Problem(422, "give at or in_seconds, not both")
    if (body.day or body.days) and not body.at:
        raise Problem(422, "day and days need at")
    now, rule = now_ms(), None
    due = now + body.in_seconds * 1000
    if body.at:
        try:
            due, rule = at_time(body.at, body.day, body.days, service.ports.reminders.zone, now)
        except ToolError as error:
            raise Problem(422, str(error)) from None
    order = Order(
        kind=Kind(body.kind),
        device_id=device.id,
        due_at=due,
        text=body.text,
        length_ms=body.in_seconds * 1000,
        rule=rule,
        priority=Priority[body.priority.upper()],
        created_by=who.actor,
    )
    return _reminder(service, await _change(service, lambda repository: repository.add(order)))


async def announce(service: Service, who: Who, body: AnnounceBody) -> ReminderList:
    """Have something said to many devices, now or at their next contact within an hour."""
    ids = [(await service.device(device)).id for device in body.devices]
    ids += _in_places(service, body.places)
    if not body.devices and not body.places:
        ids = [each.device_id for each in service.ports.listeners.for_all()]
    now = now_ms()
    orders = [
        Order(
            kind=Kind.ANNOUNCEMENT,
            device_id=device_id,
            due_at=now,
            text=body.text,
            priority=Priority[body.priority.upper()],
            created_by=who.actor,
        )
        for device_id in dict.fromkeys(ids)
    ]
    found = await _change(service, lambda repository: repository.announce(orders))
    return _listed(service, found)


async def cancel_reminder(service: Service, who: Who, reminder: ReminderPath) -> Reminder:
    """Cancel what has not begun to be said; one that repeats does not come again."""
    await _known(service, reminder)
    found = await _change(service, lambda repository: repository.cancel(reminder, who.actor))
    return _reminder(service, found)


def _in_places(service: ApiService, places: Sequence[str]) -> list[str]:
    """Return the ids of the devices there. Raises Problem for a place without devices."""
    ids: list[str] = []
    for place in places:
        if not (there := service.ports.listeners.at(place)):
            known = ", ".join(list(service.ports.listeners.places())[:20])
            hint = f"these are there: {known}" if known else "no device has a place"
            raise Problem(404, f"no device is in the place {place!r}; {hint}")
        ids += [each.device_id for each in there]
    return ids


async def _known(service: ApiService, reminder: str) -> Delivery:
    """Raises Problem where there is none of this id."""

    async def find(repository: ReminderRepository) -> Delivery | None:
        try:
            return await repository.delivery(reminder)
        except ReminderError:
            return None

    found = await _with_repository(service, find)
    if found is None:
        raise Problem(404, f"no reminder {reminder} is known")
    return found


async def _with_repository(
    service: ApiService, work: Callable[[ReminderRepository], Awaitable[T]]
) -> T:
    """Raises Problem for what the repository refuses."""
    try:
        return await service.ports.reminders.with_repository(work)
    except RemindersUnavailable as error:
        raise unavailable(str(error)) from None
    except ReminderError as error:
        raise Problem(409, str(error)) from None


async def _change(service: ApiService, work: Callable[[ReminderRepository], Awaitable[T]]) -> T:
    """Make the change, then publish it. Raises Problem."""
    result = await _with_repository(service, work)
    await service.ports.registry.catch_up()
    return result


def _listed(service: ApiService, found: Sequence[Delivery]) -> ReminderList:
    shown = [_reminder(service, each) for each in found]
    return ReminderList(reminders=shown, zone=service.ports.reminders.zone)


def _reminder(service: ApiService, each: Delivery) -> Reminder:
    values: dict[str, Any] = each.row()
    values["priority"] = each.priority.name.lower()
    known = {name: value for name, value in values.items() if name in Reminder.model_fields}
    return Reminder(**known, online=service.online(each.device_id))


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("reminders")
    scope, one = SCOPED[Scope.REMINDERS], "/reminders/{reminder}"
    routes.add("GET", "/reminders", list_reminders, scope, errors=(404, 409))
    routes.add("POST", "/reminders", add_reminder, scope, status=201, errors=(404, 409))
    routes.add("GET", one, show_reminder, scope, errors=(404, 409))
    routes.add("DELETE", one, cancel_reminder, scope, errors=(404, 409))
    routes.add("GET", "/places", list_places, scope)
    routes.add("POST", "/announcements", announce, scope, status=201, errors=(404, 409))
    return routes
