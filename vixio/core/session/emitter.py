"""Publishes the events of one session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from vixio.core.clock import now
from vixio.core.session.events import Event, EventBus

P = ParamSpec("P")


class Emitter:
    """Adds device, session and time to what is published."""

    __slots__ = ("_bus", "_device_id", "_session_id")

    def __init__(self, bus: EventBus, device_id: str, session_id: str) -> None:
        self._bus = bus
        self._device_id = device_id
        self._session_id = session_id

    def __call__(
        self,
        kind: Callable[Concatenate[str, str, float, P], Event],
        *values: P.args,
        **named: P.kwargs,
    ) -> None:
        """Publish a ``kind`` with these values."""
        self._bus.publish(kind(self._device_id, self._session_id, now(), *values, **named))
