"""States of the device and the transitions that the firmware allows.

Source: DeviceStateMachine::IsValidTransition in main/device_state_machine.cc. The states for
Wi-Fi set-up and loudspeaker tests are left out, since they involve no server.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final


class DeviceState(StrEnum):
    """A state of the device. Compares equal to its name in lower case."""

    STARTING = "starting"
    ACTIVATING = "activating"
    UPGRADING = "upgrading"
    IDLE = "idle"
    CONNECTING = "connecting"
    LISTENING = "listening"
    SPEAKING = "speaking"


_S = DeviceState
_ALLOWED: Final[dict[DeviceState, frozenset[DeviceState]]] = {
    _S.STARTING: frozenset({_S.ACTIVATING}),
    _S.ACTIVATING: frozenset({_S.UPGRADING, _S.IDLE}),
    _S.UPGRADING: frozenset({_S.IDLE, _S.ACTIVATING}),
    _S.IDLE: frozenset({_S.CONNECTING, _S.LISTENING, _S.SPEAKING, _S.ACTIVATING, _S.UPGRADING}),
    # To Speaking only by `speak_request`, which firmware 2.4 does not know.
    _S.CONNECTING: frozenset({_S.IDLE, _S.LISTENING, _S.SPEAKING}),
    _S.LISTENING: frozenset({_S.SPEAKING, _S.IDLE}),
    _S.SPEAKING: frozenset({_S.LISTENING, _S.IDLE}),
}


class StateMachine:
    """Holds the state. `on_change` is called after each change."""

    def __init__(self, on_change: Callable[[DeviceState], None]) -> None:
        self._on_change = on_change
        self.state = DeviceState.STARTING
        self.refused: list[tuple[DeviceState, DeviceState]] = []

    def power_on(self) -> None:
        """The state of a device that starts, whatever it was before."""
        self.state = DeviceState.STARTING
        self._on_change(self.state)

    def to(self, new: DeviceState) -> bool:
        """Change the state (TransitionTo).

        The same state again is accepted and changes nothing: a second `tts start` does not reset
        the decoder. A transition that the firmware does not allow is refused.
        """
        if new is self.state:
            return True
        if new not in _ALLOWED[self.state]:
            self.refused.append((self.state, new))
            return False
        self.state = new
        self._on_change(new)
        return True
