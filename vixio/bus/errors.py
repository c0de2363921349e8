"""Failures of a broker; :class:`~vixio.core.errors.ToolError` is the failure of a call."""

from __future__ import annotations

from vixio.core.errors import VixioError


class BrokerError(VixioError):
    """The broker cannot be reached or refuses; one line without secrets.

    ``final``: another attempt with the same settings cannot succeed soon (wrong password).
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class NobodyServes(BrokerError):
    """No service takes messages from the queue; the broker knows that at once."""

    def __init__(self) -> None:
        super().__init__("no service is connected to its queue")


class TooLarge(BrokerError):
    """The broker does not take messages of this size."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"{size} bytes are more than the broker's {limit}")
