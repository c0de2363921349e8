"""Finds a running session by its device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vixio.core.session.session import Session


class SessionDirectory:
    """The sessions of this process. Iterates over them, oldest first."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._by_device: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._sessions.values()))

    def find(self, device_id: str) -> Session | None:
        """Return the session of a device (normalised id); the newest if it is being replaced."""
        return self._by_device.get(device_id)

    def get(self, session_id: str) -> Session | None:
        """Return the session of this id."""
        return self._sessions.get(session_id)

    def add(self, session: Session) -> None:
        """Enter a session that begins."""
        self._sessions[session.session_id] = session
        self._by_device[session.device_id] = session

    def remove(self, session: Session) -> None:
        """Strike out a session that has ended. Idempotent."""
        self._sessions.pop(session.session_id, None)
        if self._by_device.get(session.device_id) is session:
            del self._by_device[session.device_id]
