"""Whether the tools of a session's device are known yet."""

from __future__ import annotations

import asyncio

from vixio.core.waiters import Waiters


class DeviceToolsState:
    """Pending from the hello of a device that announces tools until its first list is there.

    A device that announces none, or no device at all, is never pending. The list counts as there
    when it came, when an earlier list of the device stands in for it, and when it will not come.
    """

    def __init__(self) -> None:
        self._pending = False
        self._settled = Waiters()
        self._wait_s = 0.0

    @property
    def pending(self) -> bool:
        """Whether the first list is still on its way."""
        return self._pending

    def expect(self, wait_s: float) -> None:
        """Begin to be pending. A turn waits at most ``wait_s`` seconds after its end."""
        self._wait_s = wait_s
        self._pending = True

    def settle(self) -> None:
        """The list is there, or will not come."""
        self._pending = False
        self._settled.wake()

    async def settled(self, since: float) -> bool:
        """Wait for the list; return whether it is there.

        ``since``: when the user's turn ended, on the loop's clock; the limit counts from then.
        """
        left = since + self._wait_s - asyncio.get_running_loop().time()
        if not self.pending or left <= 0:
            return not self.pending
        try:
            async with asyncio.timeout(left):
                while self._pending:
                    await self._settled.wait()
        except TimeoutError:
            return False
        return True
