"""The floor of a session, each of whose changes is an event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from vixio.core.chunk import ListenMode
from vixio.core.session import events
from vixio.core.session.emitter import Emitter
from vixio.core.turns.floor import Action, Floor, Input


class SessionFloor(Floor):
    """Emits StateChanged for each change of the state, and then calls ``changed``."""

    def __init__(self, emit: Emitter, changed: Callable[[], None]) -> None:
        super().__init__()
        self._emit = emit
        self._changed = changed

    def step(self, happened: Input) -> tuple[Action, ...]:
        """Go to the next state and return the actions."""
        with self._watched():
            return super().step(happened)

    def microphone_on(self, mode: ListenMode) -> bool:
        """The device opened its microphone; return whether that is news for the engine."""
        with self._watched():
            return super().microphone_on(mode)

    def microphone_off(self) -> bool:
        """The device closed its microphone; return whether it was open."""
        with self._watched():
            return super().microphone_off()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        before = self.state
        yield
        if self.state != before:
            self._emit(events.StateChanged, str(before), str(self.state))
            self._changed()
