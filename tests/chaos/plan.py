"""Which fault meets which device at which stage. Lives in the server's process."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass

from vixio.core.metrics import Counters

device: ContextVar[str] = ContextVar("device", default="")
"""Whose connection the running task serves; the tasks it starts inherit it."""


MET = "chaos.met."
"""Counter of the faults met, followed by the device."""


@dataclass(slots=True)
class Fault:
    """``kind`` at ``stage`` for the next ``times`` calls."""

    stage: str
    kind: str
    times: int


class Plan:
    """The faults ordered, by device, and how often each was met."""

    def __init__(self) -> None:
        self._faults: dict[str, list[Fault]] = {}
        self.met: Counter[str] = Counter()
        self.counters: Counters | None = None
        """The server's: attackers see on the health page that their fault was met."""
        self.stubborn = 0
        """Calls that were cancelled and go on all the same."""

    def order(self, device_id: str, stage: str, kind: str, times: int) -> None:
        """Have ``kind`` happen to ``device_id``."""
        self._faults.setdefault(device_id, []).append(Fault(stage, kind, times))

    def take(self, stage: str) -> str:
        """Return the fault for this call of the running task's device; empty for none."""
        waiting = self._faults.get(device.get(), [])
        for fault in waiting:
            if fault.stage == stage and fault.times > 0:
                fault.times -= 1
                self.met[f"{stage}.{fault.kind}"] += 1
                if self.counters is not None:
                    self.counters.add(f"{MET}{device.get()}")
                return fault.kind
        return ""

    def peek(self, stage: str) -> str:
        """Return the fault that the next call would meet."""
        for fault in self._faults.get(device.get(), []):
            if fault.stage == stage and fault.times > 0:
                return fault.kind
        return ""

    def clear(self) -> None:
        """Order nothing any more."""
        self._faults.clear()
