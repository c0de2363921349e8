"""What came of one attack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from firmware_test_client.errors import DeviceError
from tests.chaos.patience import Refused

GONE = (OSError, TimeoutError, Refused, DeviceError)
"""What an attacker sees when the server has had enough of it."""


MAX_EXPLAINED = 2_000
"""Characters of an error among the problems: sixteen frames, shortened."""


@dataclass(slots=True)
class Outcome:
    """How often it was done, what the attacker saw, and what the server must not have done."""

    done: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    """What happened to the attackers, by a word: ``closed 1009``, ``refused``, …"""
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """How long it took."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    def saw(self, what: str, times: int = 1) -> None:
        """Count ``what`` among the things seen."""
        self.seen[what] = self.seen.get(what, 0) + times

    def expect(self, condition: object, problem: str) -> None:
        """Note ``problem`` unless ``condition`` holds."""
        if not condition:
            self.problems.append(problem)

    @asynccontextmanager
    async def enduring(self) -> AsyncIterator[None]:
        """Count an end of the connection instead of raising it."""
        try:
            yield
        except GONE as error:
            self.saw(_word(error))

    @asynccontextmanager
    async def whole(self) -> AsyncIterator[None]:
        """Count an end of the connection as a problem: this device did nothing that deserves it."""
        try:
            yield
        except GONE as error:
            self.problems.append(f"the connection was lost: {error!r}"[:200])

    async def together(self, works: Iterable[Awaitable[None]], *, lost: bool = False) -> None:
        """Run ``works`` side by side; what one raises is a problem, not the end of the others.

        ``lost``: an end of the connection is a problem as well: no attacker here deserves it.
        """

        async def one(work: Awaitable[None]) -> None:
            try:
                async with self.whole() if lost else self.enduring():
                    await work
            except Exception as error:  # noqa: BLE001  an attacker's own mistake must be seen too
                self.problems.append(f"{type(error).__name__}: {error}"[:200])

        await asyncio.gather(*(one(work) for work in works))


def explained(error: BaseException) -> str:
    """Return an error in one line; that of a device's wait has its last frames."""
    lines = f"{type(error).__name__}: {error}".splitlines()
    return " | ".join(line.strip() for line in lines)[:MAX_EXPLAINED]


def _word(error: BaseException) -> str:
    if isinstance(error, Refused):
        return f"refused: {error}"
    return "timeout" if isinstance(error, TimeoutError) else "closed"
