"""A scripted conversation, spoken by the simulated device and printed turn by turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vixio.cli.setup.pace import LIMIT_S
from vixio.cli.status import StatusLine
from vixio.cli.turn_times import chart, response
from vixio.core.metrics import TurnTimeline
from vixio.core.session.events import Subscription, TurnEnded
from vixio.server import Server
from vixio.settings import Settings

if TYPE_CHECKING:
    from firmware_test_client import DeviceConfig, Reply, SimulatedDevice

PATIENCE: Final = dict.fromkeys(
    ("vad", "asr", "agent_first", "agent_next", "tts", "tool_list"), 60.0
) | {"turn": 120.0}
"""``timeouts``, seconds: what is said does not depend on the machine, and a model is slow at first.
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One turn: what is said, and what must be true afterwards.

    ``source``: the one that has to have served a tool call in it; empty: none has to. ``fails``:
    that call has to fail, instead of having to succeed.
    """

    say: str
    check: Callable[[Reply, SimulatedDevice], bool]
    expected: str
    source: str = ""
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What else was found out about a turn: a line of what is printed."""

    good: bool
    text: str


@dataclass(frozen=True, slots=True)
class Served:
    """The calls that one source served in one turn."""

    calls: int
    failed: int
    ms: float
    """Of all of them together."""


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Server]:
    """Run a server until the block ends, and say when it is ready and with what."""
    app = Server(settings)
    await app.start()
    try:
        with StatusLine() as status:
            status.show("starting a server …")
            await app.loaded()
        names = " · ".join(f"{kind} {name}" for kind, name in app.providers.names().items())
        print(f"server ready: {names}\n")
        yield app
    finally:
        await app.stop()


def device_config(app: Server) -> DeviceConfig:
    """Return the configuration of a device for this server."""
    from firmware_test_client import DeviceConfig

    assert app.http is not None  # noqa: S101 - start() sets it
    return DeviceConfig(ota_url=f"http://127.0.0.1:{app.http.port}/xiaozhi/ota/")


def tool_names(app: Server) -> list[str]:
    """Return the tools of all sessions."""
    return [
        tool.name for session in app.host.sessions for tool in session.context.tools.definitions()
    ]


Speak = Callable[["SimulatedDevice", Line], Awaitable["tuple[Reply, Sequence[Finding]]"]]
"""Has a device say a line; returns the reply to it, and what was found out about it."""


async def say(device: SimulatedDevice, line: Line) -> tuple[Reply, Sequence[Finding]]:
    """Say a line in the device's own voice."""
    return await device.ask(line.say), ()


async def hold(
    app: Server,
    device: SimulatedDevice,
    lines: Sequence[Line],
    wav: Path | None,
    speak: Speak = say,
    skipped: Sequence[str] = (),
) -> int:
    """Hold the conversation and print it; return how many turns were not as expected.

    ``skipped``: what belongs to it and could not be shown here.
    """
    from firmware_test_client.errors import DeviceError

    failed = 0
    waits: list[int] = []
    events = app.host.events.subscribe()
    for line in lines:
        before = app.counters.snapshot()
        try:
            reply, findings = await speak(device, line)
        except DeviceError as error:
            # Its further lines list everything that the device has received.
            print(f"  user    {line.say}\n  {str(error).splitlines()[0]}")
            print(f"  FAILED  expected: {line.expected}\n")
            failed += len(lines) - lines.index(line)
            break
        served = serving(before, app.counters.snapshot())
        good = bool(reply.text) and reply.ended and line.check(reply, device)
        good = good and was_served(line, served)
        good = good and all(finding.good for finding in findings)
        failed += not good
        timeline = _last_timeline(events)
        wait = None if timeline is None else response(timeline.since_turn_end())
        waits += [] if wait is None else [wait]
        _show(line, reply, timeline, served, good, findings)
    events.close()
    if wav is not None:
        device.write_wav(wav)
        print(f"both sides as stereo (left: user, right: device): {wav}")
    for told in waited(waits):
        print(told)
    without = f"; without {', '.join(skipped)}, see above" if skipped else ""
    print(f"{len(lines) - failed} of {len(lines)} turns as expected{without}")
    return failed


def waited(waits: Sequence[int]) -> list[str]:
    """Return lines about milliseconds from the last word to the sound of the answer."""
    if not waits:
        return []
    ordered = sorted(waits)
    half, slowest = (each / 1000 for each in (ordered[(len(ordered) - 1) // 2], ordered[-1]))
    told = f"half of the answers began within {half:.1f} s of the last word, all in {slowest:.1f} s"
    if half <= LIMIT_S:
        return [told]
    return [told, "slow: this machine needs faster parts, which `vixio setup` proposes"]


def was_served(line: Line, served: Mapping[str, Served]) -> bool:
    """Whether the source of a line, if it has one, has served, and succeeded or failed as meant.

    No other source may have failed.
    """
    if any(its.failed for source, its in served.items() if source != line.source):
        return False
    its = served.get(line.source)
    return not line.source or (its is not None and bool(its.failed) == line.fails)


def serving(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, Served]:
    """Return by source what the tool runtime's counters have grown by."""

    def grown(source: str, what: str) -> int:
        name = f"tool.{source}.{what}"
        return after.get(name, 0) - before.get(name, 0)

    names = (name.split(".") for name in after)
    sources = {parts[1] for parts in names if parts[0] == "tool" and parts[-1] == "calls"}
    return {
        source: Served(calls, grown(source, "failed"), grown(source, "us") / 1000)
        for source in sorted(sources)
        if (calls := grown(source, "calls"))
    }


def _last_timeline(events: Subscription) -> TurnTimeline | None:
    ended = [event.timeline for event in events.take() if isinstance(event, TurnEnded)]
    return ended[-1] if ended else None


def _show(
    line: Line,
    reply: Reply,
    timeline: TurnTimeline | None,
    served: Mapping[str, Served],
    good: bool,
    findings: Sequence[Finding] = (),
) -> None:
    print(f"  user    {line.say}")
    print(f"  heard   {reply.stt or '(nothing that it would act on)'}")
    for tool in reply.tool_calls:
        print(f"  tool    {tool}")
    for source, its in served.items():
        outcome = f"{its.failed} failed" if its.failed else "done"
        calls = "call" if its.calls == 1 else "calls"
        print(f"  served  by {source}: {its.calls} {calls}, {its.ms:.1f} ms, {outcome}")
    print(f"  vixio   {reply.text}")
    if timeline is not None:
        for step in chart(timeline.since_turn_end()):
            print(f"          {step}")
    for finding in findings:
        print(f"  {'check ' if finding.good else 'FAILED'}  {finding.text}")
    print(f"  {'ok      ' if good else 'FAILED  '}expected: {line.expected}\n")
