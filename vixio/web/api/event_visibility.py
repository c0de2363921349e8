"""What of the stream of events a token lets its holder see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vixio.web.api.access import Principal
from vixio.web.api.scopes import Scope
from vixio.web.feed.content import CHANGED
from vixio.web.feed.entry import DEVICE, Entry

SCOPES: Final[Mapping[str, Scope]] = {
    DEVICE: Scope.DEVICES_READ,
    "token": Scope.DEVICES_WRITE,
    "profile": Scope.PROFILES,
    "person": Scope.DEVICES_READ,
    "reminder": Scope.REMINDERS,
    "memory": Scope.CONVERSATIONS_READ,
    "paper": Scope.CONVERSATIONS_READ,
    "firmware": Scope.FIRMWARE,
}
"""By what an event is about, the scope that lets it be seen; of anything else, it is admin."""

_AUDIT_ONLY: Final = ("actor", "detail")
"""Fields of changes that only the audit trail shows."""


def sees_anything(who: Principal) -> bool:
    """Whether a token has a scope that lets any event be seen."""
    return any(who.may(scope) for scope in SCOPES.values())


class EventVisibility(NamedTuple):
    """Which fields of an event a token may read."""

    audit: bool
    """Who made a change, and its details."""
    words: bool
    """What was said."""


def sees(entry: Entry, who: Principal) -> EventVisibility | None:
    """Return how much of an event a token lets be seen; None: nothing, not even that it was."""
    if not who.may(SCOPES.get(entry.about, Scope.ADMIN)):
        return None
    return EventVisibility(who.may(Scope.ADMIN), who.may(Scope.CONVERSATIONS_READ))


def seen(entry: Entry, visible: EventVisibility) -> dict[str, Any]:
    """Return an event as it may be seen."""
    event: dict[str, Any] = {"type": entry.type, "at": entry.at}
    if entry.device_id:
        event["device_id"] = entry.device_id
    event |= entry.fields
    if not visible.audit:
        for name in _AUDIT_ONLY if entry.type == CHANGED else ():
            event.pop(name, None)
    if visible.words:
        event |= entry.words
    return event
