"""Devices whose providers fail: what the broken turn says, and that the next one is whole."""

from __future__ import annotations

import asyncio
import json

from firmware_test_client import DeviceConfig, Pcm, SimulatedDevice
from tests.chaos.attack_tools import ready, server, tool
from tests.chaos.attack_workers import until_health
from tests.chaos.outcome import GONE, Outcome, explained
from tests.chaos.patience import admitted
from tests.chaos.plan import MET
from tests.chaos.raw import TEXT, Json, McpAnswer, RawDevice, frame
from tests.chaos.voice import Speaker

SPEAKERS_FROM = 8
"""The first speaker who is no healthy device; victims speak the numbers of five of them in turn."""

BROKEN_S = 60.0
"""Seconds in which a broken turn has to end; one may take the 8 s that the server gives it."""

PEACE_S = 2.5
"""After the last kill, until there is a recogniser again."""

MAX_SHOWN = 65_536
"""Characters of a transcript that a device's screen may be sent: it has some hundred KB in all."""


async def victim(
    port: int, *, http_port: int, device_id: str, number: int, abort: bool, mute: bool, wait: float
) -> Outcome:
    """Speak into the fault, then speak again: the second turn must be whole.

    ``abort``: call the broken turn off in its middle. ``mute``: the broken turn may end without a
    word. ``wait``: seconds before the second turn.
    """
    outcome = Outcome()
    url = f"ws://127.0.0.1:{port}/xiaozhi/v1/"
    device = SimulatedDevice(DeviceConfig(ws_url=url, device_id=device_id))
    speaker = await Speaker.create(SPEAKERS_FROM + number % 5)
    try:
        await device.boot()
        await admitted(device.connect)
        _, sound = await speaker.next()
        outcome.done = 1
        try:
            if abort:
                await _abort_in_the_middle(device, sound, http_port)
                outcome.saw("called off")
            else:
                reply = await device.ask(sound, timeout=BROKEN_S)
                outcome.saw((reply.text or "no words")[:40])
                outcome.expect(reply.text or mute, "the broken turn ended without a word")
                outcome.expect(len(reply.stt or "") <= MAX_SHOWN, "megabytes were shown")
        except TimeoutError:
            outcome.saw("silence")
            outcome.expect(mute, "the broken turn ended without a word")
        await asyncio.sleep(wait)
        second, sound = await speaker.next()
        outcome.expect(device.connected, "the connection was lost")
        if not device.connected:
            return outcome
        reply = await device.ask(sound, timeout=BROKEN_S)
        right = reply.stt == f"number {second}" and reply.text == f"Answer {second}."
        outcome.expect(right, f"the next turn: {reply.stt!r} -> {reply.text!r}"[:200])
    except GONE as error:
        outcome.problems.append(explained(error))
    finally:
        await device.close()
    return outcome


async def _abort_in_the_middle(device: SimulatedDevice, sound: Pcm, http_port: int) -> None:
    await device.wait_for(device.connected_and_listening, what="listening")
    await device.say(sound)
    await device.wait_for(lambda: device.stt_texts, what="the transcript", timeout=BROKEN_S)
    met = f"{MET}{device.config.device_id}"
    await until_health(http_port, lambda page: bool(page["counters"].get(met)), "the fault")
    await asyncio.sleep(0.5)  # into it
    since = len(device.frames)
    await device.abort()
    await device.wait_for(lambda: _stopped(device, since), what="tts stop", timeout=BROKEN_S)
    # A `tts start` takes effect later than it arrives: the cut reply may not even have begun on the
    # device. The reply that ends next has to be the next turn's.
    await device.wait_for(
        lambda: device.caught_up and all(reply.ended for reply in device.replies),
        what="the end of the cut reply",
    )
    await device.send_json({"type": "listen", "state": "start", "mode": "auto"})


def _stopped(device: SimulatedDevice, since: int) -> bool:
    """Return whether ``tts stop`` has come: what is said next belongs to the next turn."""
    return any(
        frame.type == "tts" and (frame.body or {}).get("state") == "stop"
        for frame in device.frames[since:]
    )


async def typed(port: int, *, device_id: str, text: str, within: float) -> Outcome:
    """Type something that meets a fault of a tool, then something whole."""
    outcome = Outcome(done=1)
    async with (
        outcome.whole(),
        await RawDevice.admitted(port, "127.66.40.1", device_id=device_id) as device,
    ):
        said = await device.ask(text, seconds=within)
        outcome.saw(said[:40] or "no words")
        outcome.expect(said, "the broken turn ended without a word")
        whole = await device.ask("number 4")
        outcome.expect(whole == "Answer 4.", f"the next turn said {whole!r}"[:200])
    return outcome


def _answers(kind: str, device: list[RawDevice]) -> McpAnswer:
    """Return a tool that answers wrongly the first time, and well afterwards."""
    calls = 0
    good: Json = {"result": {"content": [{"type": "text", "text": "whole"}], "isError": False}}

    def call(request: Json) -> Json | None:
        nonlocal calls
        calls += 1
        if calls > 1:
            return good
        if kind == "never":
            return None
        if kind in {"late", "twice"}:
            stale = {"result": {"content": [{"type": "text", "text": "stale"}]}}
            payload = {"jsonrpc": "2.0", "id": request["id"], **stale}
            text = json.dumps({"type": "mcp", "payload": payload}).encode()
            delay = 6.0 if kind == "late" else 0.3
            loop = asyncio.get_running_loop()
            loop.call_later(delay, lambda: device[0].write(frame(TEXT, text)))
            return None if kind == "late" else good
        return _WRONG[kind]

    return call


_WRONG: dict[str, Json] = {
    "error": {"error": {"message": "the motor is stuck"}},
    "error without words": {"error": None},
    "result of 7": {"result": 7},
    "result null": {"result": None},
    "content of 7": {"result": {"content": 7}},
    "content of nulls": {"result": {"content": [None, 7, {}, {"type": "text", "text": 7}]}},
    "both": {"result": {"content": []}, "error": {"code": 1, "message": "and yet"}},
    "a bad picture": {"result": {"content": [{"type": "image", "image": "[" * 9_000}]}},
}


async def device_tool(port: int, *, kind: str, number: int) -> Outcome:
    """Call a tool of the device that answers wrongly; then call it once more."""
    outcome = Outcome(done=1)
    devices: list[RawDevice] = []
    async with (
        outcome.whole(),
        await RawDevice.admitted(
            port, f"127.66.41.{number + 1}", mcp=server([tool("self.it")], _answers(kind, devices))
        ) as device,
    ):
        devices.append(device)
        await ready(device, "self_it")
        said = await device.ask("call self_it {}")
        outcome.saw(said[:40] or "no words")
        outcome.expect(said, "the broken turn ended without a word")
        said = await device.ask("call self_it {}")
        # On a busy machine an apology for what came too late may follow.
        outcome.expect(said.startswith("It was good: whole"), f"the next call said {said!r}"[:200])
        if kind == "late":
            await asyncio.sleep(3)
            whole = await device.ask("number 4")
            outcome.expect(whole == "Answer 4.", f"after the stale answer: {whole!r}"[:200])
    return outcome


DEVICE_TOOL_KINDS = ("never", "late", "twice", *_WRONG)


async def speaker(port: int, *, device_id: str, broken: int) -> Outcome:
    """Ask for the time while recognisers are being killed, ``broken`` times, then once in peace."""
    outcome = Outcome()
    url = f"ws://127.0.0.1:{port}/xiaozhi/v1/"
    device = SimulatedDevice(DeviceConfig(ws_url=url, device_id=device_id))
    try:
        await device.boot()
        await admitted(device.connect)
        for turn in range(broken + 1):
            reply = await device.ask("what time is it", timeout=BROKEN_S)
            outcome.done += 1
            outcome.saw("understood" if "time" in (reply.stt or "") else "apologised")
            outcome.expect(reply.text, f"turn {turn} ended without a word")
            if turn + 1 == broken:
                await asyncio.sleep(PEACE_S)
        heard = device.stt_texts[-1:]
        outcome.expect("time" in " ".join(heard), f"in peace {heard} was heard")
    except GONE as error:
        outcome.problems.append(explained(error))
    finally:
        await device.close()
    return outcome
