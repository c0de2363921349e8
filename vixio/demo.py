"""``vixio demo``: a spoken conversation between the simulated device and a real server, checked.

Server and device run on free loopback ports of this machine; the device speaks with eSpeak NG, the
server hears it through Opus, Silero and PocketSphinx. Everything is the default set: no key, no
network. Exits with 0 only if every turn was answered as it must be.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vixio.app import App
from vixio.core.metrics import TurnTimeline
from vixio.logs import configure_logging
from vixio.settings import MemorySection, ServerSettings, Settings

if TYPE_CHECKING:
    from firmware_test_client import Reply, SimulatedDevice

LOUDER = 30
"""The volume that the conversation asks for; the device starts at another one."""


@dataclass(frozen=True, slots=True)
class Line:
    """One turn: what is said, and what must be true afterwards."""

    say: str
    check: Callable[[Reply, SimulatedDevice], bool]
    expected: str


def script() -> list[Line]:
    """Return the conversation."""
    return [
        Line("hello", lambda reply, device: reply.stt != "", "a greeting"),
        Line(
            "what time is it",
            lambda reply, device: bool(re.search(r"\d", reply.text)),
            "the time of day",
        ),
        Line(
            "set the volume to thirty percent",
            lambda reply, device: device.volume == LOUDER,
            f"the device's volume becomes {LOUDER}",
        ),
        Line(
            "what is the volume",
            lambda reply, device: bool(re.search(r"30|thirty", reply.text)),
            "the volume that was set",
        ),
        Line(
            "turn on the lamp",
            lambda reply, device: _called(device, "self.lamp.turn_on"),
            "the lamp, which only this device has, is switched on",
        ),
        Line(
            "my grandmother bakes wonderful apple pies on sunday",
            lambda reply, device: not reply.tool_calls and "understand" in reply.text,
            "declined, since nothing like it is known; no tool is called",
        ),
        Line("thank you goodbye", lambda reply, device: not reply.tool_calls, "a farewell"),
    ]


def _called(device: SimulatedDevice, tool: str) -> bool:
    return any(call.name == tool for call in device.mcp.calls)


async def converse(wav: Path | None) -> int:
    """Hold the conversation and print it; return the exit status."""
    from firmware_test_client import DeviceConfig, SimulatedDevice, Tool

    lamp: list[bool] = []

    def turn_on() -> bool:
        lamp.append(True)
        return True

    app = App(
        Settings(
            server=ServerSettings(host="127.0.0.1", port=0, http_port=0),
            memory=MemorySection(store="none"),
        )
    )
    await app.start()
    failed = 0
    try:
        await app.loaded()
        names = " · ".join(f"{kind} {name}" for kind, name in app.providers.names().items())
        print(f"server ready: {names}\n")
        assert app.http is not None  # noqa: S101 - start() sets it
        ota = f"http://127.0.0.1:{app.http.port}/xiaozhi/ota/"
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            device.add_tool(Tool("self.lamp.turn_on", "Turn on the lamp", (), turn_on))
            await device.wait_for(
                lambda: "self.lamp.turn_on" in _tools(app),
                what="the server to know the lamp",
            )
            for line in script():
                reply = await device.ask(line.say)
                timeline = _last_timeline(app)
                good = bool(reply.text) and reply.ended and line.check(reply, device)
                failed += not good
                _show(line, reply, timeline, good)
            if wav is not None:
                device.write_wav(wav)
                print(f"both sides as stereo (left: user, right: device): {wav}")
    finally:
        await app.stop()
    turns = len(script())
    print(f"{turns - failed} of {turns} turns as expected")
    return 1 if failed else 0


def _tools(app: App) -> list[str]:
    sessions = app.host.sessions.values()
    return [tool.name for session in sessions for tool in session.context.tools.definitions()]


def _last_timeline(app: App) -> TurnTimeline | None:
    for session in app.host.sessions.values():
        if session.timelines:
            return session.timelines[-1]
    return None


def _show(line: Line, reply: Reply, timeline: TurnTimeline | None, good: bool) -> None:
    print(f"  user    {line.say}")
    print(f"  heard   {reply.stt or '(nothing that it would act on)'}")
    for tool in reply.tool_calls:
        print(f"  tool    {tool}")
    print(f"  vixio   {reply.text}")
    if timeline is not None:
        marks = "  ".join(f"{name} {ms}" for name, ms in timeline.since_turn_end().items())
        print(f"  ms      {marks}")
    print(f"  {'ok      ' if good else 'FAILED  '}expected: {line.expected}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit status."""
    parser = argparse.ArgumentParser(prog="vixio demo", description=__doc__)
    parser.add_argument(
        "--wav", type=Path, default=Path("demo.wav"), help="where to write the audio"
    )
    parser.add_argument("--verbose", action="store_true", help="show the server's log")
    options = parser.parse_args(arguments)
    configure_logging("INFO" if options.verbose else "WARNING")
    return asyncio.run(converse(options.wav))


if __name__ == "__main__":
    sys.exit(main())
