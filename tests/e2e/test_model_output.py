"""What models write beside their answers reaches no voice, screen or history of a real server."""

from __future__ import annotations

from firmware_test_client import SimulatedDevice
from firmware_test_client.mcp.tool import Tool
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import serving, settings
from tests.support.llm_server import LLMServer, text
from tests.unit.language.model_output.rows import CALLS, LAMP, REASONING, TOKENS, VOLUME, Row
from vixio.testing import ScriptedTTS

REAL = {LAMP: "self.lamp.turn_on", VOLUME: "self.audio_speaker.set_volume"}
DONE = "It is done."


def plain(row: Row) -> bool:
    """Whether it is about the device's own tools, and its words need no reading of Markdown."""
    named = all(name in REAL for name, _ in row.calls)
    return named and not any(mark in row.said for mark in "<`{[")


async def test_a_conversation_of_all_forms() -> None:
    # One of each family: the whole table runs in the unit tests.
    rows = [row for row in CALLS[::5] if row.calls and plain(row)]
    rows += [row for row in (*REASONING[::4], *TOKENS[::5]) if row.said and plain(row)]
    async with LLMServer() as model:
        agent = {"name": "openai", "model": "m", "base_url": model.base_url}
        voice = ScriptedTTS(seconds_per_char=0.001)
        async with serving(settings(agent=agent), asr=WaveformASR({}), tts=voice) as server:
            device = SimulatedDevice(server.device())
            lamp = Tool("self.lamp.turn_on", "Turn on the lamp.", (), lambda: True)
            device.add_tool(lamp, notify=False)
            async with device:
                for row in rows:
                    model.script(text(row.written), *([text(DONE)] if row.calls else []))
                    reply = await device.type_text("go on")
                    assert reply.tool_calls == [REAL[name] for name, _ in row.calls], row
                    shown = " ".join(sentence.text for sentence in reply.sentences)
                    assert shown.split() == f"{row.said} {DONE * bool(row.calls)}".split(), row
    for message in model.requests[-1]["messages"][1:]:
        for mark in ("<|", "tool_call>", "think", "[TOOL", "◁", "arguments"):
            assert mark not in (message.get("content") or ""), message
