"""What the services on the broker offer at which time, and what each device is offered of it.

A tool is called ``svc3_g12_t1``: it belongs to service 3, was made in its 12th generation and is
the second of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tests.load.tool_churn.notes import Notes, clock

TOOLS = 4
"""Tools of a service at a time."""

LATE_S = 30.0
"""Seconds in which every list has to follow; the machine may be busy. The report says how long it
took."""

CONSTANT = 1
"""The service of which nothing changes: every call is answered."""
LASTING = 2
"""The service of which no instance goes: a call fails if its tool was replaced, else never."""

VANISHED = frozenset({"not_found", "disconnected", "busy", "timeout"})
"""Errors that a call may end with because its service or its tool has gone."""

_MAY_FAIL = {CONSTANT: frozenset[str](), LASTING: frozenset({"not_found"})}

_NAME = re.compile(r"svc(\d+)_g(\d+)_t(\d+)")


class ServiceTool(NamedTuple):
    """A tool of a service."""

    service: int
    generation: int
    number: int

    @property
    def name(self) -> str:
        """The tool's name."""
        return f"svc{self.service}_g{self.generation}_t{self.number}"

    @property
    def answer(self) -> str:
        """What calling it gives, which nothing else gives."""
        return f"answer svc {self.service}/{self.generation}/{self.number}"


def service_tool(name: str) -> ServiceTool | None:
    """Return the tool of that name; None for one that is no service's."""
    found = _NAME.fullmatch(name)
    return ServiceTool(*map(int, found.groups())) if found else None


@dataclass(eq=False, slots=True)
class Offer:
    """A generation that one instance offers, from ``since`` until ``until``, if that is known."""

    service: int
    generation: int
    since: float
    alive: float
    """Since when the instance offers anything."""
    until: float | None = None


class Offers:
    """The truth about all services, and the checks of what the model is offered of them."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._offers: dict[int, list[Offer]] = {}
        self._seen: set[tuple[int, int]] = set()
        """Service and generation that some model call has offered."""
        self.seen_ms: list[float] = []
        """From a service's announcement to the first model call of any device that offers it."""
        self.stale_ms: list[float] = []
        """For how long a tool that is offered had been gone."""
        self.final: dict[int, int] | None = None
        """Service → generation, once nothing changes any more."""
        self._last: dict[int, dict[int, int]] = {}
        """Device → what its last model call offered."""
        self._executed: Counter[str] = Counter()

    # ── of the services ──────────────────────────────────────────────────────────────────────

    def opened(self, service: int, generation: int, alive: float | None = None) -> Offer:
        """An instance announces a generation. ``alive``: since when it has announced any."""
        now = clock()
        offer = Offer(service, generation, now, now if alive is None else alive)
        kept = [each for each in self._offers.get(service, ()) if not self._over(each, now)]
        self._offers[service] = [*kept, offer]
        return offer

    def executed(self, nonce: str) -> None:
        """A service executes the call with this number."""
        self._executed[nonce] += 1
        if self._executed[nonce] > 1:
            self._notes.wrong(f"call {nonce} is executed again")

    def settled(self) -> None:
        """From now on nothing changes."""
        self.final = {
            each.service: each.generation
            for offers in self._offers.values()
            for each in offers
            if each.until is None  # all instances of a service offer the same
        }

    # ── of the model calls ───────────────────────────────────────────────────────────────────

    def offered(self, device: int, names: Iterable[str]) -> list[ServiceTool]:
        """Check the tools that a model call offers for a device; return those of services."""
        tools = [tool for tool in map(service_tool, names) if tool is not None]
        now = clock()
        by_service: dict[int, list[ServiceTool]] = {}
        for tool in tools:
            by_service.setdefault(tool.service, []).append(tool)
        for service, its in by_service.items():
            generations = {tool.generation for tool in its}
            if len(generations) > 1 or len(its) != TOOLS:
                self._notes.wrong(
                    f"device {device}: service {service} has {len(its)} tools of generations "
                    f"{sorted(generations)}"
                )
            self._check_time(device, service, max(generations), now)
        for service, offers in self._offers.items():
            # One instance has been there all the time, whatever the others do.
            steady = any(each.until is None and now - each.alive > LATE_S for each in offers)
            if steady and service not in by_service:
                self._notes.wrong(f"device {device}: service {service} is missing")
        self._last[device] = {service: its[0].generation for service, its in by_service.items()}
        return tools

    @staticmethod
    def may_fail(tool: ServiceTool, kind: str) -> bool:
        """Whether a call of a tool may end with an error of the type ``kind``."""
        return kind in _MAY_FAIL.get(tool.service, VANISHED)

    def exact(self, device: int) -> bool:
        """Whether nothing changes any more and the device is offered exactly what there is."""
        return self.final is not None and self._last.get(device) == self.final

    def difference(self, device: int) -> str:
        """Return what the device was offered last and what there is."""
        return f"is offered {self._last.get(device)} of the services, there are {self.final}"

    def _check_time(self, device: int, service: int, generation: int, now: float) -> None:
        same = [each for each in self._offers.get(service, ()) if each.generation == generation]
        if not same or all(self._over(each, now) for each in same):
            self._notes.wrong(
                f"device {device}: generation {generation} of service {service} is long gone"
            )
            return
        if (service, generation) not in self._seen:
            self._seen.add((service, generation))
            self.seen_ms.append((now - max(self._first(each, now) for each in same)) * 1000)
        if all(each.until is not None for each in same):
            gone = max(each.until for each in same if each.until is not None)
            if gone < now:
                self.stale_ms.append((now - gone) * 1000)

    def _first(self, offer: Offer, now: float) -> float:
        """Return since when an offer is to be listed: that of the instance that came last is."""
        newer = (
            min(each.until, now)
            for each in self._offers[offer.service]
            if each.alive > offer.alive and each.until is not None
        )
        return max(offer.since, *newer, 0.0)

    @staticmethod
    def _over(offer: Offer, now: float) -> bool:
        return offer.until is not None and now - offer.until > LATE_S
