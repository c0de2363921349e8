"""What models call a tool, or leave on its name."""

from __future__ import annotations

from tests.quirks.quirk import CHINESE, LAMP, Quirk, volume
from tests.support.llm_server import Call

V = "self_audio_speaker_set_volume"

_SPELLINGS = {
    "the real name": "self.audio_speaker.set_volume",
    "functions and the alias": f"functions.{V}",
    "functions and the real name": "functions.self.audio_speaker.set_volume",
    "hyphens": "self-audio-speaker-set-volume",
    "spaces around": f" {V}\n",
    "capitals": "Self_Audio_Speaker_Set_Volume",
    "camel case": "selfAudioSpeakerSetVolume",
    "spaces within": "self audio speaker set volume",
    "a channel behind (vllm#32633)": f"{V}<|channel|>commentary",
    "a format behind": f"{V}<|constrain|>json",
    "a channel behind, without its token": f"{V} commentary",
    "the next token behind": f"{V}<｜tool▁sep｜>",
    "an argument behind (vllm-ascend#8154)": f"{V}<arg_key>volume",
    "a number behind (Kimi)": f"functions.{V}:0",
    "Gemini's namespace": f"default_api.{V}",
    "quotes": f'"{V}"',
    "brackets": f"{V}()",
    "a tag": f"<function={V}>",
    "a client of MCP": f"mcp__device__{V}",
    "its source": "device.self.audio_speaker.set_volume",
    "wide letters": "ｓｅｌｆ_audio_speaker_set_volume",
}

QUIRKS = [
    *(
        Quirk(name, calls=[Call("a", spelling, '{"volume":40}')], made=volume(40))
        for name, spelling in _SPELLINGS.items()
    ),
    Quirk("Chinese", calls=[Call("a", CHINESE, "{}")], made=[(CHINESE, {})]),
    Quirk(
        "unknown, near",
        calls=[Call("a", "set_volume", '{"volume":40}')],
        results=[f'no tool set_volume; did you mean {V}?", "retryable": true'],
    ),
    Quirk(
        "unknown, far",
        calls=[Call("a", "zzz", "{}")],
        results=["there is no tool zzz; call one of those that are offered"],
    ),
    Quirk(
        "unknown beside a known one",
        calls=[Call("a", "lamp on!", "{}"), Call("b", "self_lamp_turn_on", "{}")],
        made=[(LAMP, {})],
        results=["did you mean self_lamp_turn_on", "true"],
    ),
    Quirk(
        "two ids alike",
        calls=[Call("a", V, '{"volume":40}'), Call("a", V, '{"volume":50}')],
        made=volume(40, 50),
    ),
    Quirk("an empty id", calls=[Call("", V, '{"volume":40}')], made=volume(40)),
]
