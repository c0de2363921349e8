"""Kills the worker at random moments, and compares the registry with what was acknowledged."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.crash.talker import ERASED_EVERY, TURNS, turn
from tests.support import warm
from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository, Turns
from vixio.data.database.database import Database
from vixio.data.database.migrate import migrations, version_of
from vixio.data.devices.repository import DeviceRepository
from vixio.data.reminders import ledger
from vixio.data.reminders.records import State
from vixio.data.reminders.repository import ReminderRepository

LONGEST_S = 0.25
"""After the first sign of life: time for some dozens of changes, or for half of a migration."""

WORKERS = 2


@dataclass
class Told:
    """What the workers of one round have acknowledged."""

    state: dict[str, str] = field(default_factory=dict)
    """The last state of each device."""
    issued: dict[str, str] = field(default_factory=dict)
    """The device of each token."""
    revoked: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    """Deliveries."""
    heard: list[str] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)
    """The last state of deliveries that are over."""
    recorded: dict[str, str] = field(default_factory=dict)
    """The device of each conversation."""
    erased: set[str] = field(default_factory=set)
    lines: int = 0

    def note(self, line: bytes) -> None:
        """Take a line of a worker."""
        what, *about = json.loads(line)
        self.lines += 1
        match what:
            case "waits" | "claimed" | "blocked" | "forgotten":
                self.state[about[0]] = what
            case "issued":
                self.issued[about[1]] = about[0]
            case "revoked":
                self.revoked.add(about[1])
            case "recorded":
                self.recorded[about[1]] = about[0]
            case "erased":
                self.erased.add(about[1])
            case "added":
                self.added.add(about[0])
            case "heard":
                self.heard.append(about[0])
            case "delivered" | "cancelled":
                self.ended[about[0]] = what
            case _:
                pass


@asynccontextmanager
async def started_workers(
    folder: Path, url: str, name: str, module: str = "worker"
) -> AsyncIterator[Sequence[asyncio.subprocess.Process]]:
    """Run workers; they are killed at the end of the block."""
    command = (sys.executable, "-m", f"tests.crash.{module}", str(folder), url)
    workers = [
        await warm.create_subprocess_exec(
            *(*command, f"{name}-{number}"),
            cwd=Path.cwd(),
            env=warm.around(),
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(WORKERS)
    ]
    try:
        yield workers
    finally:
        for worker in workers:
            assert worker.returncode is None, "it was to run without an end"
            worker.send_signal(signal.SIGKILL)


async def kill_round(
    folder: Path,
    url: str,
    name: str,
    chance: random.Random,
    module: str = "worker",
    told: Told | None = None,
) -> Told:
    """Start two workers, kill both at a random moment, and return what they acknowledged.

    ``told``: to be added to.
    """
    told = told if told is not None else Told()
    async with started_workers(folder, url, name, module) as workers:
        async with asyncio.timeout(60):
            for worker in workers:
                assert worker.stdout is not None
                told.note(await worker.stdout.readline())
        await asyncio.sleep(chance.uniform(0, LONGEST_S))  # the moment is the test
    for worker in workers:
        assert worker.stdout is not None
        for line in (await worker.stdout.read()).splitlines(keepends=True):
            if line.endswith(b"\n"):
                told.note(line)
        await worker.wait()
    return told


async def check(database: Database, told: Told, *, later: bool = False) -> None:
    """Compare an opened registry with what was acknowledged. Raises AssertionError.

    ``later``: more may have happened since the last acknowledgement that was read.
    """
    assert await version_of(database) == migrations()[-1].version
    repository = DeviceRepository(database)
    devices = {device.id: device for device in await repository.devices()}
    codes = [device.code for device in devices.values() if device.code is not None]
    assert len(codes) == len(set(codes)), "one code, two devices"
    for device in devices.values():
        assert device.code is None or device.claimed_at is None, f"{device.id}: claimed by half"
    following = {
        "waits": ("unclaimed", "claimed"),
        "claimed": ("claimed", "blocked", "gone"),
        "blocked": ("blocked", "gone"),
        "forgotten": ("gone",),
    }
    for device_id, state in told.state.items():
        found = devices.get(device_id)
        # The change after the last acknowledged one may be there, or may not.
        is_now = found.state if found else "gone"
        assert is_now in following[state] or (later and state != "forgotten"), device_id
        order = ("unclaimed", "claimed", "blocked", "gone")
        assert order.index(is_now) >= order.index(following[state][0]), device_id
    tokens = {token.id: token for token in await repository.tokens()}
    for token_id, device_id in told.issued.items():
        if device_id in devices:
            assert token_id in tokens, f"{device_id}: a token is lost"
            if token_id in told.revoked:
                assert tokens[token_id].revoked_at is not None, f"{device_id}: revoked for nothing"
    changes = [change.id for change in await repository.audit(1_000_000)]
    assert changes == list(range(1, len(changes) + 1)), "the audit trail has a gap"


async def check_deliveries(database: Database, told: Told) -> tuple[int, int]:
    """Say what the killed processes have left, as the next process does, and look at all of it.

    Return how many were said then, and how many may have been heard before. Raises AssertionError.
    """
    repository = ReminderRepository(database)
    later = now_ms() + ledger.CLAIM_MS  # what was claimed is free then
    left: list[str] = []
    for device_id in (await ledger.look(database, later)).due:
        while claimed := await ledger.claim(database, device_id, "next", later):
            ids = [each.id for each in claimed]
            assert await ledger.begin(database, device_id, "next", ids, later)
            await ledger.end(database, device_id, "next", dict.fromkeys(ids, "tea"), later)
            left += ids
    await ledger.look(database, later + ledger.SPEAKING_MS)
    found = {each.id: each for each in await repository.deliveries(over=True, limit=1_000_000)}
    unknown = {each.id for each in found.values() if each.state is State.UNKNOWN}

    heard = [*told.heard, *left]
    assert len(heard) == len(set(heard)), "said twice"
    assert told.added <= found.keys(), "an acknowledged one is lost"
    for delivery_id, state in told.ended.items():
        assert found[delivery_id].state.value == state, delivery_id
        assert state == "delivered" or delivery_id not in heard, "said though it was cancelled"
    # Each was heard, was cancelled, or is on record as one that may have been heard.
    over = {each.id for each in found.values() if each.state is State.CANCELLED}
    assert told.added <= set(heard) | over | unknown, "neither heard nor unknown"
    assert {each.state for each in found.values()} <= {
        State.DELIVERED,
        State.CANCELLED,
        State.UNKNOWN,
    }
    return len(left), len(unknown)


async def check_turns(database: Database, told: Told) -> int:
    """Compare the conversations on record with what was acknowledged; return their turns.

    Raises AssertionError.
    """
    repository = ConversationRepository(database)
    found: dict[str, list[TurnRecord]] = {}
    for device_id in set(told.recorded.values()):
        for each in await repository.turns(Turns.of_device(device_id)):
            found.setdefault(each.session_id, []).append(each)
    for session_id, turns in found.items():
        assert [each.turn for each in turns] == list(range(1, TURNS + 1)), "written by half"
        for each in turns:
            assert each == replace(turn(each.device_id, session_id, each.turn), at=each.at)
    for session_id in told.recorded:
        # The erasure after the last acknowledged change may have happened, or not.
        erasing = int(session_id.rpartition("-")[2]) % ERASED_EVERY == 0
        assert session_id in found or erasing, f"{session_id} is lost"
        assert session_id not in found or session_id not in told.erased, "it has come back"
    return sum(map(len, found.values()))
