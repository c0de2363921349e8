"""The delay between `tts start` and the Speaking state with a reset decoder.

The firmware changes the state in a scheduled task, and resets its decoder when it handles the state
change (Application::OnIncomingJson, HandleStateChangedEvent). Audio that arrives before that is
lost: it is dropped in another state, or cleared by the reset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from firmware_test_client.main_task import Slow


class SpeakingSwitch:
    """Changes to Speaking some time after each `tts start`.

    Args:
        delay: seconds.
        switch: takes the arrival of the message; changes the state.
    """

    def __init__(self, delay: float, switch: Callable[[float], None]) -> None:
        self.pending = 0  # `tts start` messages that have not taken effect
        self._delay = delay
        self._switch = switch
        self._due: tuple[float, float] | None = None  # when, and arrival of `tts start`

    def start(self, arrived: float, now: float, *, at_once: bool) -> Slow | None:
        """Handle a `tts start`; the main task is busy while the result is awaited."""
        self._due = (now + self._delay, arrived)
        if at_once or not self._delay:
            self._finish()
            return None
        return self._finish_later()

    def catch_up(self, now: float) -> None:
        """Do what is due: the event loop may be late, the device is not."""
        if self._due is not None and now >= self._due[0]:
            self._finish()

    async def _finish_later(self) -> None:
        await asyncio.sleep(self._delay)
        self._finish()

    def _finish(self) -> None:
        if self._due is None:
            return
        (_, arrived), self._due = self._due, None
        self.pending -= 1
        self._switch(arrived)
