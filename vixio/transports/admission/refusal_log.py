"""Log lines of refused connections, bounded: a flood of them must not be one of lines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from vixio.core.log_fields import shared_context
from vixio.transports.admission.limits import Bucket

BURST = 5
"""Lines of one reason that may come at once."""

EVERY_S = 10.0
"""Then one line of that reason in so many seconds, with the number of those left out."""

MAX_CHARS = 64
"""Of a device id: a refused client may have sent any text."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Reason:
    bucket: Bucket = field(default_factory=lambda: Bucket(BURST * EVERY_S))
    left_out: int = 0
    timer: asyncio.TimerHandle | None = None


class RefusalLog:
    """One for all ports of a server. ``clock``: monotonic, in seconds.

    Reasons are words of this program, so their number is bounded.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._reasons: dict[str, _Reason] = {}

    def add(self, reason: str, address: str = "", device: str = "") -> None:
        """Log a refusal, or count it for the next line of its reason."""
        known = self._reasons.setdefault(reason, _Reason())
        if not known.bucket.take(EVERY_S, self._clock()):
            known.left_out += 1
            if known.timer is None:
                loop = asyncio.get_running_loop()
                known.timer = loop.call_later(
                    EVERY_S, self._report, reason, known, context=shared_context()
                )
            return
        fields: dict[str, object] = {"reason": reason}
        if address:
            fields["address"] = address
        if device:
            fields["device"] = device[:MAX_CHARS]
        if known.left_out:
            fields["left_out"] = known.left_out
        _log.warning("connection refused", extra=fields)
        _forget(known)

    def flush(self) -> None:
        """Log how many were left out. At the end of the server."""
        for reason, known in self._reasons.items():
            self._report(reason, known)

    def _report(self, reason: str, known: _Reason) -> None:
        if known.left_out:
            fields = {"reason": reason, "left_out": known.left_out}
            _log.warning("more connections refused", extra=fields)
        _forget(known)


def _forget(known: _Reason) -> None:
    known.left_out = 0
    if known.timer is not None:
        known.timer.cancel()
        known.timer = None
