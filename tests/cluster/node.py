"""A node whose agent bears witness to the conversation: ``node.py SETTINGS``.

The real application, as ``vixio serve`` runs it, with an agent that says which turns it knows and a
voice that takes no time. Beside the settings is a socket, ``commands.py`` has the other end:
``NUMBER DEVICE`` in a line has a command sent to a device, and the line comes back with its status.
The node that carries the command out notes that in the file ``noted``.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from vixio.composition.run import run, stop_on_signals
from vixio.core.chunk import TextDelta
from vixio.core.commands import Custom
from vixio.core.history import UserMessage
from vixio.core.session.session import Session
from vixio.core.tools.types import JsonObject, ToolDefinition
from vixio.providers.agent import (
    AgentBackend,
    AgentEvent,
    AgentProvider,
    AgentRequest,
    SystemPrompt,
)
from vixio.server import Providers, Server
from vixio.settings import load_settings
from vixio.telemetry.logging.setup import configure_logging, flush_logs
from vixio_bench.load.providers import CannedTTS, Delays, MarkerASR

SPEECH_MS = 240
NOTE = "note"
"""The command's name."""


def short(turns: Counter[tuple[str, int]]) -> str:
    """Return turns as one word without a pause in it: ``d1x1x1-20_d1x2x21-21``, 1 to 20 once."""
    runs: list[tuple[str, int, int, int]] = []
    for (device, turn), times in sorted(turns.items()):
        if runs and runs[-1][:2] == (device, times) and runs[-1][3] == turn - 1:
            runs[-1] = (*runs[-1][:3], turn)
        else:
            runs.append((device, times, turn, turn))
    words = [f"{device}x{times}x{first}-{last}" for device, times, first, last in runs]
    return "_".join(words) or "none"


class Witness(AgentProvider):
    """Answers ``turn N of D`` with the turns that the conversation has, and whose they are."""

    name = "witness"

    async def initialize(
        self, tools: Sequence[Any | ToolDefinition] = (), system_prompt: SystemPrompt = ""
    ) -> None:
        """Nothing is needed of either."""

    async def update_tools(self, tools: Sequence[Any | ToolDefinition]) -> None:
        """No tools are used."""

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Say it."""
        said = [each.text for each in request.history if isinstance(each, UserMessage)]
        known = [re.fullmatch(r"turn (\d+) of (\w+)", text) for text in said]
        turns = Counter((match[2], int(match[1])) for match in known if match)
        yield TextDelta(request.turn_id, f"{request.text} after {short(turns)} for {SPEECH_MS} ms.")

    async def close(self) -> None:
        """Nothing to release."""


class Witnesses(AgentBackend):
    """A witness for each session."""

    name = "witness"

    async def start(self) -> None:
        """Nothing is heavy."""

    def create(self) -> AgentProvider:
        """Return the agent of one session."""
        return Witness()

    async def close(self) -> None:
        """Nothing to release."""


def announce() -> None:
    """Say that devices can connect."""
    sys.stdout.write("listening\n")
    sys.stdout.flush()


def carry_out_commands(app: Server, path: Path) -> None:
    """Note which commands reach a session of this node."""

    async def note(session: Session, arguments: JsonObject) -> int:
        number = int(arguments["number"])
        with path.with_name("noted").open("a", encoding="utf-8") as file:
            file.write(f"{number} {session.device_id} {path.stem}\n")
        return number

    app.on_command(NOTE, note)


async def send_commands(app: Server, path: Path) -> None:
    """Send the commands that come by the socket."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):  # the test has gone, with an answer on its way
            while line := (await reader.readline()).decode():
                number, device_id = line.split()
                result = await app.command(device_id, Custom(NOTE, {"number": int(number)}))
                writer.write(f"{number} {result.status.value}\n".encode())
        writer.close()

    async with await asyncio.start_unix_server(take, path) as server:
        await server.serve_forever()


async def main(path: Path) -> None:
    """Serve until SIGTERM, after a drain."""
    settings = load_settings(path)
    configure_logging(settings.logging.level, json=False)
    delays = Delays()
    providers = Providers(None, MarkerASR(delays), Witnesses(), CannedTTS(delays))
    app = Server(settings, providers)
    assert app.memory is not None
    # What a turn waits for what was said before is no matter here: the machine may be busy.
    app.memory.settings = replace(app.memory.settings, wait=60, written=60)
    carry_out_commands(app, path)
    path.with_suffix(".sock").unlink(missing_ok=True)  # of the node's last life
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(send_commands(app, path.with_suffix(".sock")))
        await run(app, stop_on_signals(), announce)
        sending.cancel()


if __name__ == "__main__":
    try:
        asyncio.run(main(Path(sys.argv[1])))
    finally:
        flush_logs()
