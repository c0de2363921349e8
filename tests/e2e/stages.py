"""A conversation that can be held at any stage of a turn, for as long as a test likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from firmware_test_client import SimulatedDevice, Tool
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.waiting import until
from vixio.providers.silero_vad.provider import SileroVADProvider
from vixio.testing import ScriptedAgentBackend, ScriptedTTS, ToolUse
from vixio.testing.providers import Step

SLOW = 8.0
"""Seconds that a held stage takes by itself; a test that ends each in time may take more."""

STAGES = ("asr", "model", "tool", "tts", "speaking")

HEARD_FRAMES = 10
"""Frames of 60 ms that the user has heard when a turn counts as spoken."""

ALIAS = "self_bench_drill"

WORDS = {
    "asr": "good morning",
    "model": "close the window",
    "tool": "what is the time",
    "tts": "tell me more",
    "speaking": "how are you",
}
"""What the user says to get to a stage."""

NEXT = "and now something else"
ANSWER = "Fine."
LATE = "Late."
"""What the model says when it is not held any more."""
SENTENCE = "One two three four five six seven eight nine ten. "
STORY = SENTENCE * 4
LONG_STORY = SENTENCE * 12
HELD_TTS = "Slowly spoken."


def replies(slow: float, story: str) -> Callable[[str], Sequence[Step]]:
    """Return what the agent replies to each text."""
    scripts: dict[str, Sequence[Step]] = {
        WORDS["model"]: (slow, LATE),
        WORDS["tool"]: (ToolUse(ALIAS, {}), "Drilled."),
        WORDS["tts"]: (HELD_TTS,),
        WORDS["speaking"]: (story,),
    }
    return lambda text: scripts.get(text, (ANSWER,))


class HeldTTS(ScriptedTTS):
    """Takes long for one sentence."""

    def __init__(self, slow: float) -> None:
        super().__init__()
        self._slow = slow

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield silence, at once or late."""
        if text == HELD_TTS:
            self.running += 1
            try:
                await asyncio.sleep(self._slow)
            finally:
                self.running -= 1
        async for pcm in super().synthesize(text, language=language):
            yield pcm


@dataclass
class Bench:
    """A server whose providers stop where they are told, and count what they have in hand."""

    server: RunningServer
    vad: SileroVADProvider
    recogniser: WaveformASR
    agent: ScriptedAgentBackend
    tts: HeldTTS

    def at(self, device: SimulatedDevice, stage: str) -> bool:
        """Whether the device's turn has reached ``stage``."""
        if stage == "tool":
            return bool(device.mcp.calls)
        if stage == "model":
            return bool(device.stt_texts)
        if stage == "speaking":
            return len(device.heard) >= HEARD_FRAMES
        session = self.server.session(device.config.device_id)
        if session is None or not session.timelines:
            return False
        marks = session.timelines[-1].marks
        if stage == "tts":  # the voice may be at work before the turn has ended
            return bool(device.stt_texts) and "first_sentence" in marks
        return "turn_end" in marks

    async def bring_to(self, device: SimulatedDevice, stage: str) -> None:
        """Speak, and return when the turn has come to ``stage``."""
        manual = device.config.mode == "manual"
        if manual:
            await device.press()
        else:
            await device.wait_for(lambda: device.listening, what="listening")
        await device.say(WORDS[stage])
        if manual:
            await device.release()
        await until(lambda: self.at(device, stage), what=f"the stage {stage}")

    def in_hand(self) -> dict[str, int]:
        """Return all that the providers still hold; all zero without a session."""
        return {
            "vad slots": self.vad._slots - len(self.vad._free),
            "vad windows": len(self.vad._pending),
            "asr streams": self.recogniser.open_streams,
            "asr finishing": self.recogniser.finishing,
            "agents running": sum(agent.running for agent in self.agent.agents),
            "agents open": sum(not agent.closed for agent in self.agent.agents),
            "tts running": self.tts.running,
        }

    def working(self) -> dict[str, int]:
        """Return what is being done for a turn that the user has finished saying."""
        held = self.in_hand()
        return {name: held[name] for name in ("asr finishing", "agents running", "tts running")}


def drill(seconds: float = SLOW) -> Tool:
    """Return a tool of the device that takes its time."""

    async def run() -> bool:
        await asyncio.sleep(seconds)
        return True

    return Tool("self.bench.drill", "Drill a hole.", (), run)


@asynccontextmanager
async def bench(
    slow: float = SLOW, story: str = STORY, *, think_ms: int = 200
) -> AsyncIterator[Bench]:
    """Run a server that can be held at every stage, for ``slow`` seconds if nothing ends it."""
    recogniser = WaveformASR(
        await recordings([*WORDS.values(), NEXT]), {WORDS["asr"]: (slow, WORDS["asr"])}
    )
    vad, tts = SileroVADProvider(), HeldTTS(slow)
    agent = ScriptedAgentBackend(replies(slow, story))
    config = settings(listening={"think_ms": think_ms})
    async with serving(config, vad=vad, asr=recogniser, agent=agent, tts=tts) as server:
        yield Bench(server, vad, recogniser, agent, tts)


async def knows_tool(server: RunningServer, device: SimulatedDevice, name: str) -> None:
    """Wait until the session of ``device`` has the tool ``name``."""

    def known() -> bool:
        session = server.session(device.config.device_id)
        return session is not None and any(
            tool.name == name for tool in session.context.tools.definitions()
        )

    await until(known, what=f"the tool {name}")
