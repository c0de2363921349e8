"""Services on a broker that come, change and go every second, and are called meanwhile."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.processes import STOP_TIMEOUT, Running, running
from tests.load.tool_churn.notes import Notes, clock
from tests.load.tool_churn.offers import CONSTANT, LASTING, TOOLS, Offer, Offers, ServiceTool
from vixio.bus import ToolBus, connect
from vixio.bus.announce import TTL_S, Announcement, Announcer
from vixio.bus.serving import Serving
from vixio.bus.wire import Request

PREFIX = "churn.tools"

MAX_INSTANCES = 3

MAIN = "from vixio.cli.commands import main; main()"
NUMBER = "CHURN_SERVICE"
GENERATION = "CHURN_GENERATION"
"""Environment variables of a service that is a process."""


def descriptor(service: int) -> dict[str, object]:
    """Return the description of a service."""
    return {
        "id": f"svc{service}",
        "request-queue": f"request:churn:svc{service}",
        "config-params": [{"name": "answer", "required": True}],
    }


def tools(service: int, generation: int) -> list[dict[str, object]]:
    """Return the descriptions of a service's tools."""
    made = (ServiceTool(service, generation, number) for number in range(TOOLS))
    return [
        {
            "name": tool.name,
            "description": f"Do thing {tool.number}.",
            "service": f"svc{service}",
            "answer": tool.answer,
            "arguments": [{"name": "nonce", "type": "string"}],
        }
        for tool in made
    ]


@dataclass(eq=False, slots=True)
class _Instance:
    bus: ToolBus
    serving: Serving
    announcer: Announcer
    offer: Offer


class ChangingService:
    """Service ``number``: up to three instances, and each second something happens to them.

    Of the constant one nothing changes; of the lasting one no instance goes.
    ``ttl``: seconds after which an instance that was killed counts as gone.
    """

    def __init__(
        self, number: int, url: str, offers: Offers, notes: Notes, every: float, ttl: float
    ) -> None:
        self._number = number
        self._url = url
        self._offers = offers
        self._notes = notes
        self._every = every
        self._ttl = ttl
        self._generation = 0
        self._random = random.Random(1_000 + number)
        self._instances: list[_Instance] = []

    async def live(self, settle: asyncio.Event) -> None:
        """Change until ``settle`` is set; then kill one more instance."""
        await asyncio.sleep(self._random.uniform(0.0, self._every))  # not all in step
        while not settle.is_set():
            await self._something()
            await self._announce()
            await asyncio.sleep(self._every)
        if self._number not in {CONSTANT, LASTING} and self._instances:
            await self._kill(0)

    async def stay(self) -> None:
        """Announce what there is, until cancelled."""
        while True:
            await self._announce()
            await asyncio.sleep(self._every)

    async def close(self) -> None:
        """End all instances."""
        while self._instances:
            await self._go(0)

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    async def _something(self) -> None:
        if not self._instances:
            self._generation += 1
            await self._come()
            return
        if self._number == CONSTANT:
            return
        what = self._random.choice(("change", "change", "come", "go", "kill", "vanish"))
        if self._number == LASTING and what != "come":
            what = "change"
        which = self._random.randrange(len(self._instances))
        if what == "change":
            self._change()
        elif what == "come" and len(self._instances) < MAX_INSTANCES:
            await self._come()
        elif what == "go":
            await self._go(which)
        elif what == "kill":
            await self._kill(which)
        elif what == "vanish" and self._random.random() < 0.5:
            while self._instances:
                await self._kill(0)

    async def _come(self) -> None:
        bus = connect(self._url)
        await bus.start()
        await bus.ready()
        described = descriptor(self._number)
        serving = await bus.serve(str(described["request-queue"]), self._invoke)
        offered = Announcement(
            serving.instance, described, tools(self._number, self._generation), self._ttl
        )
        offer = self._offers.opened(self._number, self._generation)
        announcer = await bus.announce(offered, PREFIX)
        self._instances.append(_Instance(bus, serving, announcer, offer))
        self._notes.counts["service instances started"] += 1

    def _change(self) -> None:
        """Offer other tools from the next announcement on, which follows at once."""
        self._generation += 1
        for instance in self._instances:
            before = instance.offer
            instance.offer = self._offers.opened(self._number, self._generation, before.alive)
            before.until = clock()
        self._notes.counts["services changed"] += 1

    async def _announce(self) -> None:
        """Let every instance announce its tools; nobody may take it for a silent one."""
        for instance in self._instances:
            await instance.announcer.update(tools(self._number, instance.offer.generation))

    async def _go(self, which: int) -> None:
        """Stop an instance properly: it says so, and its calls get a moment."""
        instance = self._instances.pop(which)
        await instance.announcer.stop()
        instance.offer.until = clock()
        await instance.serving.stop(self._random.choice((0.0, 0.5)))
        await instance.bus.close()
        self._notes.counts["service instances gone"] += 1

    async def _kill(self, which: int) -> None:
        """End an instance's connection in mid-work; it says nothing more."""
        instance = self._instances.pop(which)
        await instance.bus.close()
        instance.offer.until = clock() + self._ttl
        await instance.announcer.stop()
        await instance.serving.stop(0)
        self._notes.counts["service instances killed"] += 1

    async def _invoke(self, request: Request) -> object:
        nonce = str(request.arguments["nonce"])
        self._offers.executed(nonce)
        await asyncio.sleep(self._random.choice((0.0, 0.0, 0.3, 1.5)))
        answer = str(request.config["answer"])
        return _pieces(answer) if self._random.random() < 0.5 else answer


async def _pieces(answer: str) -> AsyncIterator[str]:
    for start in range(0, len(answer), 4):
        yield answer[start : start + 4]
        await asyncio.sleep(0.02)


class ProcessService:
    """Service ``number`` as a process of its own, ended by SIGKILL and SIGTERM in turns."""

    def __init__(self, number: int, url: str, offers: Offers, notes: Notes, place: Path) -> None:
        self._number = number
        self._url = url
        self._offers = offers
        self._notes = notes
        self._place = place
        self._random = random.Random(number)

    async def live(self, settle: asyncio.Event) -> None:
        """Start and end processes until ``settle`` is set."""
        generation = 0
        while not settle.is_set():
            generation += 1
            target = "tests.load.tool_churn.process:Service"
            words = ["tool-service", target, "--url", self._url, "--prefix", PREFIX]
            here = {NUMBER: str(self._number), GENERATION: str(generation)}
            here["PYTHONPATH"] = os.pathsep.join(sys.path)
            offer = self._offers.opened(self._number, generation)
            async with running([sys.executable, "-c", MAIN, *words], self._place, here) as process:
                self._notes.counts["service processes started"] += 1
                try:
                    async with asyncio.timeout(self._random.uniform(3.0, 9.0)):
                        await settle.wait()
                except TimeoutError:
                    pass
                await self._end(process, offer, kill=generation % 2 == 1 or settle.is_set())

    async def _end(self, process: Running, offer: Offer, *, kill: bool) -> None:
        process.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        async with asyncio.timeout(STOP_TIMEOUT):
            await process.process.wait()
        offer.until = clock() + (TTL_S if kill else 0.0)
        self._notes.counts[f"service processes {'killed' if kill else 'stopped'}"] += 1


class Fleet:
    """All services of a run."""

    def __init__(
        self,
        url: str,
        notes: Notes,
        offers: Offers,
        *,
        services: int,
        every: float,
        ttl: float,
        processes: int,
        place: Path,
    ) -> None:
        self._offers = offers
        self._changing = [
            ChangingService(number, url, offers, notes, every, ttl)
            for number in range(1, services + 1)
        ]
        self._processes = [
            ProcessService(services + number, url, offers, notes, place)
            for number in range(1, processes + 1)
        ]

    @asynccontextmanager
    async def living(self, seconds: float) -> AsyncIterator[None]:
        """Let the services change for ``seconds``, and those that are left stay to the end."""
        task = asyncio.create_task(self._run(seconds))
        try:
            yield
        finally:
            ended = not task.cancel()
            await asyncio.wait((task,))
            for service in self._changing:
                await service.close()
            if ended:
                task.result()  # an error: else it ends by this alone

    async def _run(self, seconds: float) -> None:
        settle = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, settle.set)
        everything: list[ChangingService | ProcessService] = [*self._changing, *self._processes]
        await asyncio.gather(*(each.live(settle) for each in everything))
        self._offers.settled()
        await asyncio.gather(*(each.stay() for each in self._changing))
