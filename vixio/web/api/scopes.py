"""What a token permits: a small closed set, stated by every route."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final

from vixio.data.devices.records import RegistryError


class Scope(StrEnum):
    """A kind of action. ``admin`` includes all others."""

    DEVICES_READ = "devices:read"
    """List and show devices, and whether they are connected."""
    DEVICES_WRITE = "devices:write"
    """Claim, add, rename, give, block and forget devices; list and revoke their tokens; name
    people."""
    CONTROL = "control"
    """Speak on connected devices, interrupt, ask, show, call the tools of the assistant."""
    USER_TOOLS = "user-tools"
    """List and call the tools that a device keeps from the assistant: reboot, upgrade, ..."""
    CONVERSATIONS_READ = "conversations:read"
    """Read what was said, with timelines and tool calls, and what is remembered."""
    CONVERSATIONS_WRITE = "conversations:write"
    """Erase it; edit what is remembered."""
    PROFILES = "profiles"
    """Read and write profiles, and give them to devices."""
    REMINDERS = "reminders"
    """List, add and cancel reminders, timers, alarms and messages; announce."""
    FIRMWARE = "firmware"
    """Upload, release, pause and remove firmware, and see what became of it."""
    ADMIN = "admin"
    """Everything, and with it personal tokens and the audit trail."""


ALL: Final = frozenset(Scope)


def read_scopes(names: Collection[str]) -> frozenset[Scope]:
    """Return the scopes of these names. Raises RegistryError."""
    known = {scope.value for scope in Scope}
    if unknown := sorted(set(names) - known):
        raise RegistryError(
            f"there is no scope {unknown[0]!r}; these are there: {', '.join(sorted(known))}"
        )
    if not names:
        raise RegistryError(f"name a scope: {', '.join(sorted(known))}")
    return frozenset(Scope(name) for name in names)
