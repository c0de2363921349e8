"""Starting and ending the server and the generators."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from vixio.core.tasks import cancel_and_wait
from vixio_bench.load.control import BenchError, Hub, Peer
from vixio_bench.load.generator import GeneratorPlan
from vixio_bench.load.server import ServerPlan
from vixio_bench.load.services.main import ServicesPlan

_END_S = 10.0
"""A process that has not ended so long after its line was closed is killed."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Which cores the server and the generators may use; empty: all."""

    server: tuple[int, ...] = ()
    generators: tuple[int, ...] = ()

    @classmethod
    def split(cls, pinned: bool, server: int) -> Cores:
        """Give the server the first ``server`` cores and the generators the rest."""
        cores = usable_cores()
        if not pinned:
            return cls()
        if len(cores) <= server:
            raise ValueError(f"{len(cores)} cores are too few to pin a server to {server} of them")
        return cls(cores[:server], cores[server:])


def usable_cores() -> tuple[int, ...]:
    """Return the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


@dataclass(slots=True)
class Child:
    """A process of ours and its line."""

    process: asyncio.subprocess.Process
    peer: Peer
    started: float
    """When it was started (time.monotonic)."""

    async def end(self) -> None:
        """Hang up and wait until it has ended."""
        self.peer.hang_up()
        try:
            async with asyncio.timeout(_END_S):
                await self.process.wait()
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        """End it at once."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


async def start_server(hub: Hub, plan: ServerPlan) -> Child:
    """Start a server; returns when devices can connect. ``plan.line`` is of this hub."""
    return await start_process(
        hub,
        "vixio_bench.load.server",
        plan.to_json(),
        "server",
        plan.line.index,
        (plan.link,) if plan.link >= 0 else (),
    )


async def start_generators(hub: Hub, count: int, cores: Sequence[int]) -> list[Child]:
    """Start ``count`` generators, each on one of ``cores`` in turn if there are any."""
    plans = [
        GeneratorPlan(hub.line("generator", index), (cores[index % len(cores)],) if cores else ())
        for index in range(count)
    ]
    return list(
        await asyncio.gather(
            *(
                start_process(hub, "vixio_bench.load.generator", plan.to_json(), "generator", index)
                for index, plan in enumerate(plans)
            )
        )
    )


async def start_services(hub: Hub, providers: str, tool: str, cores: Sequence[int]) -> Child:
    """Start the stand-ins, on the last of ``cores`` if there are any."""
    plan = ServicesPlan(hub.line("services"), providers, tuple(cores[-1:]), tool)
    return await start_process(hub, "vixio_bench.load.services.main", plan.to_json(), "services", 0)


async def start_process(
    hub: Hub, module: str, argument: str, role: str, index: int, kept: Sequence[int] = ()
) -> Child:
    """Start a module of ours, which calls in as ``role``; ``kept``: descriptors that it gets."""
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, argument, pass_fds=kept
    )
    ended = asyncio.create_task(process.wait())
    calls = asyncio.create_task(hub.wait(role, index))
    try:
        await asyncio.wait([ended, calls], return_when=asyncio.FIRST_COMPLETED)
        if not calls.done():
            raise BenchError(f"the {role} process ended at its start; its last words are above")
        return Child(process, calls.result(), started)
    except BaseException:
        if process.returncode is None:
            process.kill()
        raise
    finally:
        await cancel_and_wait(calls)
